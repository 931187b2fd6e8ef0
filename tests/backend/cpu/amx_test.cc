#include "tandem/backend/cpu/amx.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "tandem/backend/cpu/halves.h"
#include "tests/backend/cpu/kernel_call.h"

namespace tandem::cpu {
namespace {

/// A product of numbers in [-1, 1], and how far each element is from the sum in double.
template <class Result>
struct Trial {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, accumulate = false;

  double worst() const {
    std::mt19937 random(static_cast<unsigned>(m * n + k));
    const auto fill = [&](auto& values) {
      for (auto& value : values)
        value = std::decay_t<decltype(value)>(static_cast<float>(static_cast<int>(random() % 257) - 128) / 128);
    };
    std::vector<BFloat16> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
    std::vector<Result> c(static_cast<std::size_t>(m * (n + kBehind)));
    fill(a);
    fill(b);
    fill(c);
    const std::vector<Result> before = c;
    const std::int64_t lda = transpose_a ? m : k, ldb = transpose_b ? k : n, ldc = n + kBehind;
    amx_gemm(Gemm<BFloat16, Result>{.m = m,
                                    .n = n,
                                    .k = k,
                                    .transpose_a = transpose_a,
                                    .transpose_b = transpose_b,
                                    .a = a.data(),
                                    .lda = lda,
                                    .b = b.data(),
                                    .ldb = ldb,
                                    .c = c.data(),
                                    .ldc = ldc,
                                    .accumulate = accumulate});
    double worst = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = accumulate ? double(float(before[i * ldc + j])) : 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += double(float(a[transpose_a ? p * lda + i : i * lda + p])) *
                 float(b[transpose_b ? j * ldb + p : p * ldb + j]);
        worst = std::max(worst, std::abs(sum - float(c[i * ldc + j])) / (1 + std::abs(sum)));
      }
      for (std::int64_t j = n; j < ldc; ++j)
        EXPECT_EQ(float(c[i * ldc + j]), float(before[i * ldc + j])) << "written behind row " << i;
    }
    return worst;
  }
  static constexpr std::int64_t kBehind = 3;
};

template <class Result>
void check_products(double tolerance) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                         {16, 16, 32},
                         {17, 33, 31},
                         {47, 15, 65},
                         {64, 64, 64},
                         {5, 70, 1030},
                         {530, 9, 40},
                         {9, 540, 33},
                         {40, 33, 2500}})
    for (int flags = 0; flags < 8; ++flags) {
      const Trial<Result> trial{m, n, k, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
      EXPECT_LT(trial.worst(), tolerance) << m << " x " << n << " x " << k << ", flags " << flags;
    }
}

TEST(Amx, ProductsAreTheSumsRoundedOnceForOddSizesTransposesAndLongSums) {
  if (const Support support = amx_support(); !support) GTEST_SKIP() << support.reason;
  check_products<BFloat16>(1.0 / 256);
  check_products<float>(1e-5);
}

TEST(Amx, SwitchedOffSaysSoAndFloat32Serves) {
  const char* before = std::getenv("TANDEM_AMX");
  const std::string kept = before ? before : "";
  setenv("TANDEM_AMX", "0", 1);
  const Support support = amx_support();
  const std::vector<Value> operands{sample(DType::bf16, {70, 90}, 1), sample(DType::bf16, {90, 50}, 2)};
  check_kernels(matmul_kernels(), reference_matmul(), matmul_op, make_attrs(matmul_op, false, false), operands, 1e-2);
  before ? setenv("TANDEM_AMX", kept.c_str(), 1) : unsetenv("TANDEM_AMX");
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason.find("TANDEM_AMX=0"), std::string::npos) << support.reason;
}

TEST(Halves, RowsConvertAsSingleNumbersDo) {
  constexpr std::int64_t kAll = 1 << 16;
  const auto check = []<class T>(T) {
    std::vector<T> halves(kAll), back(kAll);
    std::vector<float> wide(kAll);
    for (std::int64_t i = 0; i < kAll; ++i) halves[static_cast<std::size_t>(i)].bits = static_cast<std::uint16_t>(i);
    widen(halves.data(), wide.data(), kAll);
    for (std::int64_t i = 0; i < kAll; ++i) {
      const auto one = static_cast<float>(halves[static_cast<std::size_t>(i)]);
      ASSERT_TRUE(wide[static_cast<std::size_t>(i)] == one ||
                  (std::isnan(wide[static_cast<std::size_t>(i)]) && std::isnan(one)))
          << i;
    }
    std::mt19937 random(7);
    for (float& value : wide) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    narrow(wide.data(), back.data(), kAll - 3);  // a rest that fills no vector
    for (std::int64_t i = 0; i < kAll - 3; ++i)
      ASSERT_EQ(back[static_cast<std::size_t>(i)].bits, T(wide[static_cast<std::size_t>(i)]).bits)
          << wide[static_cast<std::size_t>(i)];
    EXPECT_EQ(back[kAll - 1].bits, 0) << "written behind the end";
  };
  check(BFloat16{});
  check(Half{});
}

}  // namespace
}  // namespace tandem::cpu
