// Elementwise ops on a million floats: beside the copy bandwidth of the same sizes. PyTorch's times come from
// bench/torch_rows.py.
#include "bench/harness.h"
#include "bench/limits.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kCount = 1 << 20;

std::vector<Row> add_1m() {
  const Tensor a = random_normal({kCount}), b = random_normal({kCount});
  const Pair pair =
      compare([&] { return seconds_of([&] { add(a, b); }); }, [] { return 1 / copy_gb_per_s(kCount * 4); });
  const double ours = 3.0 * 4 * kCount / pair.ours * 1e-9, copy = 1 / pair.reference;
  return {{"add_1m", ours, "GB/s", "copy bandwidth, 4 MB", copy, ours / copy, ">= 0.85"}};
}

template <class F>
Benchmark unary(const char* name, F op) {
  return {name, [=]() -> std::vector<Row> {
            const Tensor x = random_normal({kCount});
            const double us = seconds_of([&] { op(x); }, 0.4) * 1e6;
            return {{name, us, "us", "PyTorch", 0, 0, "<= 1.0"}};
          }};
}

std::vector<Row> sum_1m() {
  const Tensor x = random_normal({kCount});
  const double us = seconds_of([&] { reduce_sum(x); }) * 1e6;
  return {{"reduce_sum_1m", us, "us", "PyTorch", 0, 0, ""}};
}

std::vector<Row> normal_1m() {
  const double us = seconds_of([&] { random_normal({kCount}); }) * 1e6;
  return {{"random_normal_1m", us, "us", "PyTorch", 0, 0, ""}};
}

}  // namespace

std::vector<Benchmark> elementwise_benchmarks() {
  return {{"add_1m", add_1m},
          unary("exp_1m", [](const Tensor& x) { exp(x); }),
          unary("tanh_1m", [](const Tensor& x) { tanh(x); }),
          unary("gelu_1m", [](const Tensor& x) { gelu(x); }),
          {"reduce_sum_1m", sum_1m},
          {"random_normal_1m", normal_1m}};
}

}  // namespace tandem::bench
