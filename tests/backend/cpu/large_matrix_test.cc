// Matrices that are cut for all cores (large_matrix.h), and long rows that are sorted in chunks.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/base/cores.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor identity_matrix(std::int64_t n, DType dtype) {
  return one_hot(range(0, static_cast<double>(n), 1, DType::i32), n, 1, 0, -1, dtype);
}

Tensor well_conditioned(std::int64_t n, DType dtype) {
  const Tensor x = random_normal({n, n}, 0, 1, dtype);
  return add(matmul(x, x, false, true), multiply(identity_matrix(n, dtype), fill({}, static_cast<double>(n), dtype)));
}

double largest(const Tensor& x) { return cast(reduce_max(abs(x)), DType::f64).item<double>(); }

/// body() with one thread, and with three: the same bits.
template <class F>
void expect_same_with_more_threads(F body) {
  const int before = Cores::process().threads();
  Cores::process().set_threads(1);
  const Tensor alone = body();
  Cores::process().set_threads(3);
  const Tensor together = body();
  Cores::process().set_threads(before);
  ASSERT_EQ(alone.shape(), together.shape());
  EXPECT_EQ(reduce_all(equal(alone, together), {}).data<bool>()[0], true);
}

class LargeMatrix : public testing::TestWithParam<std::tuple<int, DType>> {
 protected:
  int n = std::get<0>(GetParam());
  DType dtype = std::get<1>(GetParam());
  double tolerance = dtype == DType::f32 ? 2e-5 : 1e-12;
  DeviceScope scope{"/CPU:0"};
};

TEST_P(LargeMatrix, IsTheProductOfItsCholeskyFactors) {
  const Tensor a = well_conditioned(n, dtype), l = cholesky(a);
  EXPECT_LT(largest(subtract(matmul(l, l, false, true), a)), tolerance * largest(a));
  const Tensor wide = cast(l, DType::f64);
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) ASSERT_EQ(wide.data<double>()[i * n + j], 0);
}

TEST_P(LargeMatrix, TimesItsSolutionIsTheRightHandSide) {
  const Tensor a = random_normal({n, n}, 0, 1, dtype), b = random_normal({n, 150}, 0, 1, dtype);
  for (bool adjoint : {false, true}) {
    const Tensor x = solve(a, b, adjoint);
    EXPECT_LT(largest(subtract(matmul(a, x, adjoint), b)), tolerance * n * largest(x)) << adjoint;
  }
}

TEST_P(LargeMatrix, OfTriangularShapeIsSolvedBothWays) {
  const Tensor l = cholesky(well_conditioned(n, dtype)), b = random_normal({n, 150}, 0, 1, dtype);
  for (bool lower : {false, true})
    for (bool adjoint : {false, true}) {
      const Tensor a = lower ? l : transpose(l), x = triangular_solve(a, b, lower, adjoint);
      EXPECT_LT(largest(subtract(matmul(a, x, adjoint), b)), tolerance * n * largest(x)) << lower << adjoint;
    }
}

TEST_P(LargeMatrix, HasTheDeterminantOfItsFactors) {
  const Tensor a = well_conditioned(n, dtype),
               diagonal = reduce_sum(multiply(cholesky(a), identity_matrix(n, dtype)), {1});
  const auto both = slogdet(a);
  EXPECT_EQ(cast(both.sign, DType::f64).item<double>(), 1);
  EXPECT_NEAR(cast(both.log_abs_determinant, DType::f64).item<double>(),
              2 * cast(reduce_sum(log(diagonal)), DType::f64).item<double>(), tolerance * n * 10);
}

TEST_P(LargeMatrix, HasTheSameFactorsForAnyNumberOfThreads) {
  const Tensor a = well_conditioned(n, dtype), b = random_normal({n, 150}, 0, 1, dtype);
  expect_same_with_more_threads([&] { return cholesky(a); });
  expect_same_with_more_threads([&] { return solve(a, b); });
}

TEST_P(LargeMatrix, WithoutFactorsIsRefused) {
  const Tensor ones = fill({n, n}, 1, dtype), below_zero = -identity_matrix(n, dtype);
  EXPECT_THROW(solve(ones, ones), Error);
  EXPECT_THROW(cholesky(below_zero), Error);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LargeMatrix,
                         testing::Combine(testing::Values(255, 256, 257, 320, 500),
                                          testing::Values(DType::f32, DType::f64)));

TEST(LongRow, IsSortedWithEqualElementsInTheirOrder) {
  const DeviceScope scope("/CPU:0");
  const Tensor x = cast(random_uniform({200'000}, -500, 500, DType::i32), DType::f32);
  for (bool descending : {false, true}) {
    const Tensor places = argsort(x, descending), sorted = sort(x, descending);
    const auto values = x.data<float>(), in_order = sorted.data<float>();
    const auto at = places.data<std::int32_t>();
    for (int i = 0; i < 200'000; ++i) ASSERT_EQ(values[at[i]], in_order[i]);
    for (int i = 1; i < 200'000; ++i) {
      ASSERT_TRUE(descending ? in_order[i - 1] >= in_order[i] : in_order[i - 1] <= in_order[i]);
      if (in_order[i - 1] == in_order[i]) ASSERT_LT(at[i - 1], at[i]);
    }
    expect_same_with_more_threads([&] { return argsort(x, descending); });
  }
}

}  // namespace
}  // namespace tandem
