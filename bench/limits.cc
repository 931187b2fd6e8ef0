#include "bench/limits.h"

#include <immintrin.h>

#include <cstring>
#include <vector>

#include "bench/harness.h"
#include "tandem/base/cores.h"

namespace tandem::bench {
namespace {

// Twelve independent chains fill the pipelines of two units with a latency of four or five cycles.
constexpr int kChains = 12;

[[gnu::target("avx512f")]] float run_512(std::int64_t rounds) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-6f);
  for (std::int64_t r = 0; r < rounds; ++r)
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_reduce_add_ps(sums[0]);
}

[[gnu::target("avx2,fma")]] float run_256(std::int64_t rounds) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-6f);
  for (std::int64_t r = 0; r < rounds; ++r)
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return sums[0][0];
}

}  // namespace

double fma_peak_gflops() {
  const bool wide = __builtin_cpu_supports("avx512f");
  const int threads = Cores::process().threads();
  constexpr std::int64_t kRounds = 200'000;
  volatile float sink = 0;
  const double seconds = seconds_of(
      [&] { parallel(threads, [&](std::int64_t) { sink = sink + (wide ? run_512(kRounds) : run_256(kRounds)); }); });
  return 2.0 * (wide ? 16 : 8) * kChains * kRounds * threads / seconds * 1e-9;
}

double copy_gb_per_s(std::int64_t bytes) {
  std::vector<char> from(static_cast<std::size_t>(bytes), 1), to(static_cast<std::size_t>(bytes));
  const std::int64_t slices = std::max<std::int64_t>(1, bytes / (256 * 1024));
  const std::int64_t each = (bytes + slices - 1) / slices;
  const double seconds = seconds_of([&] {
    parallel(slices, [&](std::int64_t s) {
      std::memcpy(to.data() + s * each, from.data() + s * each,
                  static_cast<std::size_t>(std::min(each, bytes - s * each)));
    });
  });
  return 2.0 * static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace tandem::bench
