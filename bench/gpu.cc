// GPU rows: ops on /GPU:0 beside the CPU backend of the same run, and what starting a device costs.
#include "bench/gpu.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "bench/child.h"
#include "bench/library.h"
#include "tandem/op/records.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kCount = 1 << 20;
constexpr const char* kPoclAsGpu = "TANDEM_OPENCL_CPU_AS_GPU=1";

/// A row of times: ours on the GPU beside the CPU backend.
Row beside_cpu(const std::string& name, const Pair& pair, const char* goal) {
  return {name, pair.ours * 1e6, "us", "CPU backend", pair.reference * 1e6, pair.ours / pair.reference, goal};
}

std::vector<Row> matmul_rows() {
  if (!gpu()) return {};
  const Tensor a = random_normal({1024, 1024}), b = random_normal({1024, 1024});
  const Pair large = gpu_and_cpu([&] { matmul(a, b); });
  const double flops = 2.0 * 1024 * 1024 * 1024 * 1e-9, ours = flops / large.ours, cpu = flops / large.reference;
  const Tensor x = random_normal({32, 784}), w = random_normal({784, 128});
  const Tensor pictures = random_normal({256, 21632}),
               few = random_normal({21632, 10});  // the dense layer of the seeds' CNN
  return {{"gpu_matmul_1024", ours, "GFLOPS", "CPU backend", cpu, ours / cpu, ">= 0.85"},
          beside_cpu("gpu_matmul_32x784x128", gpu_and_cpu([&] { matmul(x, w); }), "<= 2.5"),
          beside_cpu("gpu_matmul_256x21632x10", gpu_and_cpu([&] { matmul(pictures, few); }), "<= 2.5")};
}

struct Convolution {
  const char* name;
  int batch, size, channels, outputs;
};

std::vector<Row> convolution_rows() {
  if (!gpu()) return {};
  std::vector<Row> rows;
  const int threads = Cores::process().threads();
  for (const Convolution& c : {Convolution{"3to32", 64, 28, 3, 32}, Convolution{"32to64", 32, 26, 32, 64}}) {
    const Tensor x = random_normal({c.batch, c.size, c.size, c.channels}),
                 w = random_normal({3, 3, c.channels, c.outputs});
    const Tensor dy = conv2d(x, w);
    auto row = [&](const char* what, ConvKind kind, auto body) {
      const Pair pair = compare(
          [&] { return gpu_seconds_of(body); },
          [&] { return onednn_direct_conv_seconds(kind, c.batch, c.size, c.size, c.channels, c.outputs, 3, threads); });
      rows.push_back({text("gpu_conv2d_", what, "_", c.name), pair.ours * 1e3, "ms", "oneDNN direct, NHWC",
                      pair.reference * 1e3, pair.ours / pair.reference, "<= 1.43"});
    };
    row("forward", ConvKind::forward, [&] { conv2d(x, w); });
    row("backprop_input", ConvKind::backward_data, [&] { conv2d_backprop_input(w, dy, x.shape(), {}); });
    row("backprop_filter", ConvKind::backward_weights, [&] { conv2d_backprop_filter(x, dy, w.shape(), {}); });
  }
  return rows;
}

std::vector<Row> elementwise_rows() {
  if (!gpu()) return {};
  const Tensor x = random_normal({kCount}), y = random_normal({kCount});
  return {beside_cpu("gpu_add_1m", gpu_and_cpu([&] { add(x, y); }), "<= 1.3"),
          beside_cpu("gpu_exp_1m", gpu_and_cpu([&] { exp(x); }), "<= 1.3"),
          beside_cpu("gpu_tanh_1m", gpu_and_cpu([&] { tanh(x); }), "<= 1.3"),
          beside_cpu("gpu_gelu_1m", gpu_and_cpu([&] { gelu(x); }), "<= 1.3"),
          beside_cpu("gpu_gelu_tanh_1m", gpu_and_cpu([&] { gelu(x, true); }), "<= 1.3")};
}

std::vector<Row> row_rows() {
  if (!gpu()) return {};
  const Tensor logits = random_normal({1024, 1000}), ten = random_normal({100'000, 10}), bias = random_normal({10});
  const Tensor image = random_normal({32, 32, 32, 32}), pooled = max_pool2d(image),
               grad = random_normal(pooled.shape());
  const Attrs window = make_attrs(max_pool2d_grad_op, Ints{2, 2}, Ints{2, 2}, "valid");
  return {beside_cpu("gpu_softmax_1024x1000", gpu_and_cpu([&] { softmax(logits); }), "<= 2.5"),
          beside_cpu("gpu_softmax_100000x10", gpu_and_cpu([&] { softmax(ten); }), "<= 2.5"),
          beside_cpu("gpu_broadcast_rows_of_10", gpu_and_cpu([&] { add(ten, bias); }), "<= 2.5"),
          beside_cpu("gpu_max_pool2d", gpu_and_cpu([&] { max_pool2d(image); }), "<= 2.5"),
          beside_cpu("gpu_max_pool2d_grad",
                     gpu_and_cpu([&] { apply(max_pool2d_grad_op, {image, pooled, grad}, window); }), "<= 2.5")};
}

std::vector<Row> launch_row() {
  if (!gpu()) return {};
  const Tensor a = random_normal({2, 2}), b = random_normal({2, 2});
  const double us = gpu_seconds_of([&] { add(a, b); }, 0.5) * 1e6;
  return {{"gpu_launch_add_2x2", us, "us", "goal 6 us", 6, us / 6, "<= 1"}};
}

/// From the start of a process to its end, programs compiled before.
std::vector<Row> warm_start(const char* name, const char* program, const std::vector<std::string>& arguments) {
  if (!gpu()) return {};
  double ms = 1e9;
  for (int i = 0; i < 6; ++i) {
    const auto child = run_child(program, arguments, {kPoclAsGpu});
    if (!child) return {};
    if (i > 0) ms = std::min(ms, child->seconds * 1e3);  // the first one may compile
  }
  return {{name, ms, "ms", "goal 150 ms", 150, ms / 150, "<= 1"}};
}

/// Best seconds that children report for a thing, with and without a GPU in use beside it.
std::vector<Row> cpu_beside_gpu() {
  if (!gpu()) return {};
  std::vector<Row> rows;
  for (const char* what : {"add_2x2", "add_1m", "matmul_512"}) {
    auto seconds = [&](const char* mode) {
      const auto child = run_child("tandem_bench", {text("--child=", mode, what)}, {kPoclAsGpu});
      return child ? std::stod(child->output) : 1e9;
    };
    const Pair pair = compare([&] { return seconds("with_gpu:"); }, [&] { return seconds("alone:"); }, 6);
    rows.push_back({text("cpu_", what, "_beside_gpu"), pair.ours * 1e6, "us", "without a GPU", pair.reference * 1e6,
                    pair.ours / pair.reference, "<= 1.1"});
  }
  return rows;
}

std::vector<Row> host_normal_4gib() {
  constexpr double kNeeded = 6e9;
  if (static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) < kNeeded) {
    std::fprintf(stderr, "host_normal_4gib is left out: it needs 6 GB of free memory\n");
    return {};
  }
  const auto child = run_child("tandem_bench", {"--child=normal_4gib"});
  const double seconds = child ? std::stod(child->output) : 1e9;
  return {{"host_normal_4gib", seconds, "s", "goal 10 s on 2 cores", 10, seconds / 10, "<= 1"}};
}

/// A chain of matmuls on each device, apart and together, each device on a core of its own.
std::vector<Row> concurrency() {
  if (!gpu() || Cores::process().threads() < 2) return {};
  double ratio = 1e9, together = 0, slower = 0;
  for (int i = 0; i < 3; ++i) {
    const auto child =
        run_child("tandem_bench", {"--child=two_devices"}, {kPoclAsGpu, "TANDEM_CPU_CORES=0", "TANDEM_OPENCL_CORES=1"});
    double both = 1e9, cpu = 0, gpu = 0;
    if (!child || !(std::istringstream(child->output) >> both >> cpu >> gpu)) return {};
    if (both / std::max(cpu, gpu) >= ratio) continue;
    ratio = both / std::max(cpu, gpu);
    together = both;
    slower = std::max(cpu, gpu);
  }
  return {{"two_devices_at_once", together * 1e3, "ms", "the slower one alone", slower * 1e3, ratio, "<= 1.15"}};
}

// --- What the children do. ---

double time_on_cpu(const std::string& what) {
  const DeviceScope scope("/CPU:0");
  const Shape shape = what == "add_2x2" ? Shape{2, 2} : what == "add_1m" ? Shape{kCount} : Shape{512, 512};
  const Tensor a = random_normal(shape), b = random_normal(shape);
  return seconds_of([&] { what == "matmul_512" ? matmul(a, b) : add(a, b); }, 0.3);
}

void use_gpu_once() {
  const DeviceScope scope("/GPU:0");
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  if (add(a, a).data<float>()[3] != 8) std::exit(1);
}

double normal_4gib() {
  const DeviceScope scope("/CPU:0");
  const double begin = now();
  const Tensor x = random_normal({1024, 1024, 1024});
  if (x.data<float>()[x.size() - 1] == x.data<float>()[0]) std::exit(1);
  return now() - begin;
}

void chain(const char* device, const Tensor& w) {
  const DeviceScope scope(device);
  Tensor x = w;
  for (int i = 0; i < 20; ++i) x = matmul(x, w);
  if (x.data<float>()[0] != x.data<float>()[0]) std::exit(1);
}

void two_devices() {
  const Tensor w = random_normal({512, 512}, 0, 0.04);
  auto seconds = [](auto body) {
    body();
    double best = 1e9;
    for (int i = 0; i < 7; ++i) {
      const double begin = now();
      body();
      best = std::min(best, now() - begin);
    }
    return best;
  };
  const double cpu = seconds([&] { chain("/CPU:0", w); }), gpu = seconds([&] { chain("/GPU:0", w); });
  const double both = seconds([&] {
    std::thread other([&] { chain("/GPU:0", w); });
    chain("/CPU:0", w);
    other.join();
  });
  std::printf("%.6f %.6f %.6f\n", both, cpu, gpu);
}

}  // namespace

Device* gpu() {
  static Device* const found = [] {
    setenv("TANDEM_OPENCL_CPU_AS_GPU", "1", 0);  // of a child; read when devices are first asked for
    const auto devices = default_runtime().devices();
    if (devices.size() < 2) std::fprintf(stderr, "no GPU rows: no OpenCL driver; `tandem devices` says more\n");
    return devices.size() > 1 ? devices[1] : nullptr;
  }();
  return found;
}

bool run_gpu_child(const std::string& mode) {
  const std::size_t colon = mode.find(':');
  if (colon != std::string::npos) {
    if (mode.substr(0, colon) == "with_gpu") use_gpu_once();
    std::printf("%.9f\n", time_on_cpu(mode.substr(colon + 1)));
  } else if (mode == "first_gpu_result") {
    use_gpu_once();
  } else if (mode == "normal_4gib") {
    std::printf("%.6f\n", normal_4gib());
  } else if (mode == "two_devices") {
    two_devices();
  } else {
    return false;
  }
  return true;
}

std::vector<Benchmark> gpu_benchmarks() {
  return {{"gpu_matmul", matmul_rows},
          {"gpu_conv2d", convolution_rows},
          {"gpu_elementwise", elementwise_rows},
          {"gpu_rows", row_rows},
          {"gpu_launch", launch_row},
          {"gpu_first_result",
           [] { return warm_start("gpu_first_result_warm", "tandem_bench", {"--child=first_gpu_result"}); }},
          {"gpu_devices", [] { return warm_start("gpu_devices_warm", "tandem", {"devices"}); }},
          {"gpu_beside_cpu", cpu_beside_gpu},
          {"gpu_concurrency", concurrency},
          {"host_normal_4gib", host_normal_4gib}};
}

}  // namespace tandem::bench
