// Accuracy of the function trees against the C library in more precision, in units of the last place.
#include <gtest/gtest.h>

#include "tests/expr/accuracy.h"

namespace tandem::expr {
namespace {

#define LONG(name) [](long double x) -> long double { return std::name(x); }
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Math, FloatExpIsWithinTwoUlps) { EXPECT_LE(worst<float>(exp, LONG(exp), -110, 95), 2); }
TEST(Math, FloatLogIsWithinTwoUlps) {
  EXPECT_LE(worst<float>(log, LONG(log), -1, 1e38f), 2);
  EXPECT_LE(worst<float>(log, LONG(log), 0.3f, 3), 2);
}
TEST(Math, FloatTanhIsWithinTwoUlps) { EXPECT_LE(worst<float>(tanh, LONG(tanh), -10, 10), 2); }
TEST(Math, FloatErfIsWithinThreeUlps) { EXPECT_LE(worst<float>(erf, LONG(erf), -5, 5), 3); }
TEST(Math, FloatSinAndCosAreWithinThreeUlpsUpToTenThousand) {
  EXPECT_LE(worst<float>(sin, LONG(sin), -1e4f, 1e4f), 3);
  EXPECT_LE(worst<float>(cos, LONG(cos), -1e4f, 1e4f), 3);
}
TEST(Math, DoubleExpIsWithinThreeUlps) { EXPECT_LE(worst<double>(exp, LONG(exp), -750, 715, 10), 3); }
TEST(Math, DoubleLogIsWithinThreeUlps) {
  EXPECT_LE(worst<double>(log, LONG(log), -1, 1e307, 10), 3);
  EXPECT_LE(worst<double>(log, LONG(log), 0.3, 3, 1), 3);
}
TEST(Math, DoubleTanhIsWithinThreeUlps) {
  EXPECT_LE(worst<double>(tanh, LONG(tanh), -25, 25, 10), 3);
  EXPECT_LE(worst<double>(tanh, LONG(tanh), -1, 1, 1), 3);
}
TEST(Math, DoubleErfIsWithinFourUlps) { EXPECT_LE(worst<double>(erf, LONG(erf), -7, 7, 10), 4); }
TEST(Math, DoubleSinAndCosAreWithinThreeUlpsUpToTenThousand) {
  EXPECT_LE(worst<double>(sin, LONG(sin), -1e4, 1e4, 10), 3);
  EXPECT_LE(worst<double>(cos, LONG(cos), -1e4, 1e4, 10), 3);
}

TEST(Math, SinAndCosOfEveryFiniteNumberAreWithinFourUlps) {
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_LE(worst<float>(sin, LONG(sin), -kMost, kMost, 100, 0), 4);
  EXPECT_LE(worst<float>(cos, LONG(cos), -kMost, kMost, 100, 0), 4);
  constexpr double kMostDouble = std::numeric_limits<double>::max();
  EXPECT_LE(worst<double>(sin, LONG(sin), -kMostDouble, kMostDouble, 20, 0), 4);
  EXPECT_LE(worst<double>(cos, LONG(cos), -kMostDouble, kMostDouble, 20, 0), 4);
}

TEST(Math, SinOfAnyFiniteNumberLiesBetweenMinusOneAndOne) {
  const Function<float> f(sin), g(cos);
  for (float x : {1e7f, -1e9f, 1e20f, 3.4e38f}) {
    EXPECT_LE(std::fabs(f(x)), 1) << x;
    EXPECT_LE(std::fabs(g(x)), 1) << x;
  }
  EXPECT_TRUE(std::isnan(f(kInf)));
  EXPECT_TRUE(std::isnan(g(-kInf)));
}

TEST(Math, SpecialValuesAreThoseOfTheCLibrary) {
  expect_specials<float>(exp, std::exp, "exp");
  expect_specials<double>(exp, std::exp, "exp");
  expect_specials<float>(log, std::log, "log");
  expect_specials<double>(log, std::log, "log");
  expect_specials<float>(tanh, std::tanh, "tanh");
  expect_specials<double>(tanh, std::tanh, "tanh");
  expect_specials<float>(erf, std::erf, "erf");
  expect_specials<double>(erf, std::erf, "erf");
  const Function<float> sine(sin);
  EXPECT_TRUE(std::signbit(sine(-0.0f)));
  EXPECT_FALSE(std::signbit(sine(0.0f)));
}

TEST(Math, SaturatingFunctionsNeverExceedOne) {
  const Function<float> t(tanh), e(erf);
  for (float x = 1; x < 12; x += 1e-4f) {
    EXPECT_LE(t(x), 1);
    EXPECT_LE(e(x), 1);
  }
}

template <class T>
double worst_power(int count, T exponent_range) {
  const auto f = Function<T>::power();
  std::mt19937_64 random(11);
  std::uniform_real_distribution<T> mantissa(T{0.5}, 2), unit(-1, 1);
  double result = 0;
  for (int i = 0; i < count; ++i) {
    const T x = i % 2 ? mantissa(random)
                      : std::ldexp(mantissa(random), static_cast<int>(unit(random) * exponent_range * T{0.97}));
    const T y = unit(random) * exponent_range / std::max<T>(std::fabs(std::log2(x)), T{1e-3});
    const double error = ulps<T>(f(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
    if (!(error <= result)) result = error;
  }
  return result;
}

TEST(Math, FloatPowIsWithinTwoUlps) { EXPECT_LE(worst_power<float>(100000, 126), 2); }
TEST(Math, DoublePowIsWithinEightUlps) { EXPECT_LE(worst_power<double>(60000, 1022), 8); }

template <class T>
void expect_power_specials() {
  const auto f = Function<T>::power();
  using Limits = std::numeric_limits<T>;
  const T values[] = {0,
                      -T{0},
                      1,
                      -1,
                      2,
                      -2,
                      3,
                      -3,
                      T{0.5},
                      T{-0.5},
                      T{1.5},
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::max(),
                      -Limits::max(),
                      T{16777215},
                      T{-16777215},
                      T{16777216},
                      1 - Limits::epsilon(),
                      1 + Limits::epsilon()};
  for (T x : values)
    for (T y : values) {
      const T got = f(x, y), wanted = std::pow(x, y);
      EXPECT_LE(ulps<T>(got, wanted), 6) << x << " ^ " << y << " = " << got << ", not " << wanted;
      EXPECT_TRUE(std::isnan(wanted) || std::signbit(got) == std::signbit(wanted)) << x << " ^ " << y;
    }
}
TEST(Math, PowTreatsSpecialValuesAsTheCLibraryDoes) {
  expect_power_specials<float>();
  expect_power_specials<double>();
}

template <class T>
void expect_integer_powers() {
  const auto f = Function<T>::power();
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    const T x = i % 3 ? static_cast<T>(random()) : static_cast<T>(random() % 7) - 3;
    const T y = i % 2 ? static_cast<T>(random()) : static_cast<T>(random() % 40) - 5;
    EXPECT_EQ(f(x, y), pow(x, y)) << x << " ^ " << y;  // the reference of scalar_math.h
  }
}
TEST(Math, IntegerPowWrapsAndIsZeroForNegativeExponents) {
  expect_integer_powers<std::int32_t>();
  expect_integer_powers<std::int64_t>();
}

TEST(Math, SmallConstantPowersAreProducts) {
  Graph graph;
  Expr x = graph.input(0, Lane::f32);
  EXPECT_EQ(pow(x, x.like(2)).node(), (x * x).node());
  EXPECT_EQ(pow(x, x.like(1)).node(), x.node());
}

TEST(Math, TheHotFunctionsStayShort) {
  EXPECT_LE(Function<float>(exp).instructions(), 18u);
  EXPECT_LE(Function<float>(tanh).instructions(), 24u);
  EXPECT_LE(Function<float>(erf).instructions(), 26u);
  EXPECT_LE(Function<float>(log).instructions(), 30u);
}

}  // namespace
}  // namespace tandem::expr
