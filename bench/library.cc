#include "bench/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

// The runtime oneDNN was built with; its header comes with -fopenmp only.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace tandem::bench {
namespace {

constexpr double kSecondsPerCase = 0.4;
constexpr int kLeastRepetitions = 5;

template <class Body>
double best_seconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  body();  // first touch, first wake-up
  double best = 1e30;
  double spent = 0;
  for (int i = 0; i < kLeastRepetitions || spent < kSecondsPerCase; ++i) {
    const auto start = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~OpenMpThreads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

using Sgemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);
using SetThreads = void (*)(int);

/// The library with threads, beside the serial one we link: its symbols must not mix with ours.
struct ThreadedOpenBlas {
  Sgemm sgemm = nullptr;
  SetThreads set_threads = nullptr;
  ThreadedOpenBlas() {
    void* library =
        dlopen("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) return;
    sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    set_threads = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"));
  }
};

std::vector<float> filled(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 97) * 0.01f - 0.5f;
  return values;
}

using dnnl::memory;

struct Conv {
  dnnl::primitive primitive;
  memory src, weights, dst;
  std::string name;
};

memory allocated(const memory::desc& desc, const dnnl::engine& engine) {
  memory made(desc, engine);
  auto* values = static_cast<float*>(made.get_data_handle());
  const auto sample = filled(desc.get_size() / sizeof(float));
  std::copy(sample.begin(), sample.end(), values);
  return made;
}

template <class Pd>
Conv conv_of(const Pd& pd, const memory::desc& weights, const dnnl::engine& engine, memory src, memory dst) {
  return {{}, std::move(src), allocated(weights, engine), std::move(dst), pd.impl_info_str()};
}

Conv make_conv(ConvKind kind, int batch, int height, int width, int ic, int oc, int kernel,
               const dnnl::engine& engine) {
  using dnnl::prop_kind;
  const memory::dims stride{1, 1}, pad{0, 0};
  const auto f32 = memory::data_type::f32;
  const auto nhwc = memory::format_tag::nhwc;
  const memory::desc src({batch, ic, height, width}, f32, nhwc);
  const memory::desc any({oc, ic, kernel, kernel}, f32, memory::format_tag::any);
  const memory::desc dst({batch, oc, height - kernel + 1, width - kernel + 1}, f32, nhwc);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {prop_kind::forward_training, algorithm, src, any, dst, stride, pad, pad}, engine);
  memory src_memory = allocated(src, engine), dst_memory = allocated(dst, engine);
  if (kind == ConvKind::forward) {
    Conv conv = conv_of(forward, forward.weights_desc(), engine, src_memory, dst_memory);
    conv.primitive = dnnl::convolution_forward(forward);
    return conv;
  }
  if (kind == ConvKind::backward_data) {
    const dnnl::convolution_backward_data::primitive_desc pd({algorithm, src, any, dst, stride, pad, pad}, engine,
                                                             forward);
    Conv conv = conv_of(pd, pd.weights_desc(), engine, src_memory, dst_memory);
    conv.primitive = dnnl::convolution_backward_data(pd);
    return conv;
  }
  const dnnl::convolution_backward_weights::primitive_desc pd({algorithm, src, any, dst, stride, pad, pad}, engine,
                                                              forward);
  Conv conv = conv_of(pd, pd.diff_weights_desc(), engine, src_memory, dst_memory);
  conv.primitive = dnnl::convolution_backward_weights(pd);
  return conv;
}

}  // namespace

double openblas_direct_seconds(int m, int n, int k, bool transpose_a, bool transpose_b, int threads) {
  static const ThreadedOpenBlas library;
  if (!library.sgemm || !library.set_threads) return -1;
  library.set_threads(threads);
  constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;
  const auto a = filled(std::size_t(m) * k), b = filled(std::size_t(k) * n);
  std::vector<float> c(std::size_t(m) * n);
  return best_seconds([&] {
    library.sgemm(kRowMajor, transpose_a ? kTrans : kNoTrans, transpose_b ? kTrans : kNoTrans, m, n, k, 1, a.data(),
                  transpose_a ? m : k, b.data(), transpose_b ? k : n, 0, c.data(), n);
  });
}

double onednn_direct_matmul_seconds(int m, int n, int k, bool transpose_a, bool transpose_b, int threads) {
  const OpenMpThreads guard(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto f32 = memory::data_type::f32;
  const memory::desc a({m, k}, f32, transpose_a ? memory::dims{1, m} : memory::dims{k, 1});
  const memory::desc b({k, n}, f32, transpose_b ? memory::dims{1, k} : memory::dims{n, 1});
  const memory::desc c({m, n}, f32, memory::dims{n, 1});
  const dnnl::matmul::primitive_desc pd({a, b, c}, engine);
  const dnnl::matmul matmul(pd);
  const std::unordered_map<int, memory> args{{DNNL_ARG_SRC, allocated(a, engine)},
                                             {DNNL_ARG_WEIGHTS, allocated(b, engine)},
                                             {DNNL_ARG_DST, allocated(c, engine)}};
  return best_seconds([&] {
    matmul.execute(stream, args);
    stream.wait();
  });
}

double onednn_direct_conv_seconds(ConvKind kind, int batch, int height, int width, int in_channels, int out_channels,
                                  int kernel, int threads) {
  const OpenMpThreads guard(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const Conv conv = make_conv(kind, batch, height, width, in_channels, out_channels, kernel, engine);
  const bool data = kind == ConvKind::backward_data, weights = kind == ConvKind::backward_weights;
  const std::unordered_map<int, memory> args{{data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, conv.src},
                                             {weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, conv.weights},
                                             {data || weights ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, conv.dst}};
  return best_seconds([&] {
    conv.primitive.execute(stream, args);
    stream.wait();
  });
}

const char* onednn_direct_conv_name(ConvKind kind, int batch, int height, int width, int in_channels, int out_channels,
                                    int kernel) {
  static thread_local std::string name;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  name = make_conv(kind, batch, height, width, in_channels, out_channels, kernel, engine).name;
  return name.c_str();
}

}  // namespace tandem::bench
