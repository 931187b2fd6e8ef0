// Many short rows times one vector, as the three colours of pixels times their weights: libraries spend their time on
// each row's begin.
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

/// A length that the compiler knows lets it load several rows at once and sort them by shuffles.
template <int kLength>
void times_vector(const Gemm<float>& g) {
  float weights[kLength];
  for (int k = 0; k < kLength; ++k) weights[k] = g.b[g.transpose_b ? k : k * g.ldb];
  const float* __restrict rows = g.a;
  float* __restrict out = g.c;
  const std::int64_t count = g.m;
  wide([=]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = rows[i * kLength] * weights[0];
      for (int k = 1; k < kLength; ++k) sum += rows[i * kLength + k] * weights[k];
      out[i] = sum;
    }
  });
}

}  // namespace

bool has_short_rows(const Gemm<float>& g) {
  return g.n == 1 && g.k >= 2 && g.k <= 4 && g.m >= 256 && !g.transpose_a && g.lda == g.k && g.ldc == 1;
}

void short_rows_gemm(const Gemm<float>& g) {
  switch (g.k) {
    case 2: return times_vector<2>(g);
    case 3: return times_vector<3>(g);
    default: return times_vector<4>(g);
  }
}

}  // namespace tandem::cpu
