#include "bench/limits.h"

#include <cstring>
#include <vector>

#include "bench/harness.h"
#include "tandem/base/cores.h"

namespace tandem::bench {
namespace {

/// Independent chains, enough to fill the pipelines of any width the compiler picks.
template <int kChains>
[[gnu::always_inline]] inline float chains(std::int64_t rounds) {
  typedef float Vector __attribute__((vector_size(64)));
  Vector sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vector{} + static_cast<float>(i);
  const Vector a = Vector{} + 0.999f, b = Vector{} + 1e-6f;
  for (std::int64_t r = 0; r < rounds; ++r)
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * a + b;
  float total = 0;
  for (int i = 0; i < kChains; ++i) total += sums[i][0];
  return total;
}
constexpr int kWideChains = 12, kNarrowChains = 6;  // 64-byte vectors are two registers without AVX-512

[[gnu::target("avx512f,fma"), gnu::optimize("O3", "fp-contract=fast")]] float run_512(std::int64_t rounds) { return chains<kWideChains>(rounds); }
[[gnu::target("avx2,fma"), gnu::optimize("O3", "fp-contract=fast")]] float run_256(std::int64_t rounds) { return chains<kNarrowChains>(rounds); }

}  // namespace

double fma_peak_gflops() {
  const bool wide = __builtin_cpu_supports("avx512f");
  const int threads = Cores::process().threads();
  constexpr std::int64_t kRounds = 200'000;
  volatile float sink = 0;
  const double seconds = seconds_of([&] {
    parallel(threads, [&](std::int64_t) { sink = sink + (wide ? run_512(kRounds) : run_256(kRounds)); });
  });
  return 2.0 * 16 * (wide ? kWideChains : kNarrowChains) * kRounds * threads / seconds * 1e-9;
}

double copy_gb_per_s(std::int64_t bytes) {
  std::vector<char> from(static_cast<std::size_t>(bytes), 1), to(static_cast<std::size_t>(bytes));
  const std::int64_t slices = std::max<std::int64_t>(1, bytes / (256 * 1024));
  const std::int64_t each = (bytes + slices - 1) / slices;
  const double seconds = seconds_of([&] {
    parallel(slices, [&](std::int64_t s) {
      std::memcpy(to.data() + s * each, from.data() + s * each, static_cast<std::size_t>(std::min(each, bytes - s * each)));
    });
  });
  return 2.0 * static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace tandem::bench
