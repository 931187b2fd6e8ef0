// Matrix products and convolutions beside the libraries called directly with their own threads.
#include <cstdio>

#include "bench/harness.h"
#include "bench/library.h"
#include "bench/limits.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

struct Product {
  int m, n, k;
  bool ta = false, tb = false;
};

Pair time_product(const Product& p, int rounds) {
  const Tensor a = random_normal(p.ta ? Shape{p.k, p.m} : Shape{p.m, p.k});
  const Tensor b = random_normal(p.tb ? Shape{p.n, p.k} : Shape{p.k, p.n});
  const int threads = Cores::process().threads();
  return compare([&] { return seconds_of([&] { matmul(a, b, p.ta, p.tb); }); },
                 [&] {
                   const double blas = openblas_direct_seconds(p.m, p.n, p.k, p.ta, p.tb, threads);
                   const double dnn = onednn_direct_matmul_seconds(p.m, p.n, p.k, p.ta, p.tb, threads);
                   return blas > 0 ? std::min(blas, dnn) : dnn;
                 },
                 rounds);
}

std::vector<Row> matmul_1024() {
  const Pair pair = time_product({1024, 1024, 1024}, 5);
  const double flops = 2.0 * 1024 * 1024 * 1024 * 1e-9;
  const double ours = flops / pair.ours, direct = flops / pair.reference, peak = fma_peak_gflops();
  return {{"matmul_1024", ours, "GFLOPS", "better of OpenBLAS, oneDNN", direct, ours / direct, ">= 0.95"},
          {"matmul_1024_of_peak", ours, "GFLOPS", "measured FMA peak", peak, ours / peak, ""}};
}

/// Where the processor multiplies bfloat16; elsewhere there is no such row.
std::vector<Row> bfloat16_1024() {
  if (!__builtin_cpu_supports("avx512bf16")) {
    std::fprintf(stderr,
                 "bench: no row matmul_1024_bfloat16: the processor has no instructions for bfloat16 (avx512_bf16)\n");
    return {};
  }
  const Tensor a = random_normal({1024, 1024}), b = random_normal({1024, 1024});
  const Tensor short_a = cast(a, DType::bf16), short_b = cast(b, DType::bf16);
  const Pair pair = compare([&] { return seconds_of([&] { matmul(short_a, short_b); }); },
                            [&] { return seconds_of([&] { matmul(a, b); }); }, 5);
  const double flops = 2.0 * 1024 * 1024 * 1024 * 1e-9;
  return {{"matmul_1024_bfloat16", flops / pair.ours, "GFLOPS", "the same in float32", flops / pair.reference,
           pair.reference / pair.ours, ">= 1.3"}};
}

std::vector<Row> small_products() {
  const std::vector<std::pair<std::string, Product>> shapes = {{"matmul_32x100x64", {32, 64, 100}},
                                                               {"matmul_32x784x128", {32, 128, 784}},
                                                               {"matmul_100x32x64_ta", {100, 64, 32, true}},
                                                               {"matmul_784x32x128_ta", {784, 128, 32, true}},
                                                               {"matmul_32x64x100_tb", {32, 100, 64, false, true}},
                                                               {"matmul_32x128x784_tb", {32, 784, 128, false, true}}};
  std::vector<Row> rows;
  for (const auto& [name, product] : shapes) {
    const Pair pair = time_product(product, 4);
    rows.push_back({name, pair.ours * 1e6, "us", "better of OpenBLAS, oneDNN", pair.reference * 1e6,
                    pair.ours / pair.reference, "<= 1.15"});
  }
  return rows;
}

std::vector<Row> convolutions() {
  const Tensor x = random_normal({64, 28, 28, 3}), w = random_normal({3, 3, 3, 32});
  const Tensor dy = conv2d(x, w);
  const int threads = Cores::process().threads();
  auto row = [&](const char* name, ConvKind kind, auto ours) {
    const Pair pair = compare([&] { return seconds_of(ours); },
                              [&] { return onednn_direct_conv_seconds(kind, 64, 28, 28, 3, 32, 3, threads); });
    return Row{name,    pair.ours * 1e3, "ms", "oneDNN direct, NHWC", pair.reference * 1e3, pair.ours / pair.reference,
               "<= 1.2"};
  };
  return {
      row("conv2d_forward", ConvKind::forward, [&] { conv2d(x, w); }),
      row("conv2d_backprop_input", ConvKind::backward_data, [&] { conv2d_backprop_input(w, dy, x.shape(), {}); }),
      row("conv2d_backprop_filter", ConvKind::backward_weights, [&] { conv2d_backprop_filter(x, dy, w.shape(), {}); })};
}

}  // namespace

std::vector<Benchmark> library_benchmarks() {
  return {{"matmul_1024", matmul_1024},
          {"matmul_bfloat16", bfloat16_1024},
          {"matmul_small", small_products},
          {"conv2d", convolutions}};
}

}  // namespace tandem::bench
