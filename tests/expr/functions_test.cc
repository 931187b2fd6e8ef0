// Accuracy of the less common function trees against the C library in more precision.
#include "tandem/expr/functions.h"

#include "tests/expr/accuracy.h"

namespace tandem::expr {
namespace {

#define LONG(name) [](long double x) -> long double { return std::name(x); }
#define TREE(name) static_cast<Tree1>(name)

TEST(Functions, OfFloatAreWithinFourUlps) {
  EXPECT_LE(worst<float>(TREE(expm1), LONG(expm1), -110, 95), 2);
  EXPECT_LE(worst<float>(TREE(log1p), LONG(log1p), -1, 1e38f), 2);
  EXPECT_LE(worst<float>(TREE(log1p), LONG(log1p), -1, 3), 2);
  EXPECT_LE(worst<float>(TREE(erfc), LONG(erfc), -5, 11), 4);
  EXPECT_LE(worst<float>(TREE(tan), LONG(tan), -1e4f, 1e4f), 3);
  EXPECT_LE(worst<float>(TREE(asin), LONG(asin), -1, 1), 3);
  EXPECT_LE(worst<float>(TREE(acos), LONG(acos), -1, 1), 3);
  EXPECT_LE(worst<float>(TREE(atan), LONG(atan), -30, 30), 3);
  EXPECT_LE(worst<float>(TREE(sinh), LONG(sinh), -95, 95), 3);
  EXPECT_LE(worst<float>(TREE(sinh), LONG(sinh), -2, 2), 3);
  EXPECT_LE(worst<float>(TREE(cosh), LONG(cosh), -95, 95), 3);
  EXPECT_LE(worst<float>(TREE(asinh), LONG(asinh), -3e38f, 3e38f), 3);
  EXPECT_LE(worst<float>(TREE(asinh), LONG(asinh), -4, 4), 3);
  EXPECT_LE(worst<float>(TREE(acosh), LONG(acosh), 1, 3e38f), 3);
  EXPECT_LE(worst<float>(TREE(acosh), LONG(acosh), 1, 4), 3);
  EXPECT_LE(worst<float>(TREE(atanh), LONG(atanh), -1, 1), 3);
}

TEST(Functions, OfDoubleAreWithinFiveUlps) {
  EXPECT_LE(worst<double>(TREE(expm1), LONG(expm1), -750, 715, 10), 2);
  EXPECT_LE(worst<double>(TREE(log1p), LONG(log1p), -1, 1e307, 10), 3);
  EXPECT_LE(worst<double>(TREE(log1p), LONG(log1p), -1, 3, 10), 3);
  EXPECT_LE(worst<double>(TREE(erfc), LONG(erfc), -5, 28, 10), 5);
  EXPECT_LE(worst<double>(TREE(tan), LONG(tan), -1e4, 1e4, 10), 3);
  EXPECT_LE(worst<double>(TREE(asin), LONG(asin), -1, 1, 10), 3);
  EXPECT_LE(worst<double>(TREE(acos), LONG(acos), -1, 1, 10), 3);
  EXPECT_LE(worst<double>(TREE(atan), LONG(atan), -30, 30, 10), 3);
  EXPECT_LE(worst<double>(TREE(sinh), LONG(sinh), -715, 715, 10), 3);
  EXPECT_LE(worst<double>(TREE(sinh), LONG(sinh), -2, 2, 10), 3);
  EXPECT_LE(worst<double>(TREE(cosh), LONG(cosh), -715, 715, 10), 3);
  EXPECT_LE(worst<double>(TREE(asinh), LONG(asinh), -1e308, 1e308, 10), 4);
  EXPECT_LE(worst<double>(TREE(asinh), LONG(asinh), -4, 4, 10), 4);
  EXPECT_LE(worst<double>(TREE(acosh), LONG(acosh), 1, 4, 10), 4);
  EXPECT_LE(worst<double>(TREE(atanh), LONG(atanh), -1, 1, 10), 4);
}

TEST(Functions, TanOfEveryFiniteNumberIsWithinFiveUlps) {
  EXPECT_LE(worst<float>(TREE(tan), LONG(tan), -3e38f, 3e38f, 100, 0), 5);
  EXPECT_LE(worst<double>(TREE(tan), LONG(tan), -1e308, 1e308, 20, 0), 5);
}

TEST(Functions, SpecialValuesAreThoseOfTheCLibrary) {
  expect_specials<float>(TREE(expm1), std::expm1, "expm1");
  expect_specials<double>(TREE(expm1), std::expm1, "expm1");
  expect_specials<float>(TREE(log1p), std::log1p, "log1p");
  expect_specials<double>(TREE(log1p), std::log1p, "log1p");
  expect_specials<float>(TREE(erfc), std::erfc, "erfc");
  expect_specials<double>(TREE(erfc), std::erfc, "erfc");
  expect_specials<float>(TREE(asin), std::asin, "asin");
  expect_specials<double>(TREE(asin), std::asin, "asin");
  expect_specials<float>(TREE(acos), std::acos, "acos");
  expect_specials<double>(TREE(acos), std::acos, "acos");
  expect_specials<float>(TREE(atan), std::atan, "atan");
  expect_specials<double>(TREE(atan), std::atan, "atan");
  expect_specials<float>(TREE(sinh), std::sinh, "sinh");
  expect_specials<double>(TREE(sinh), std::sinh, "sinh");
  expect_specials<float>(TREE(cosh), std::cosh, "cosh");
  expect_specials<double>(TREE(cosh), std::cosh, "cosh");
  expect_specials<float>(TREE(asinh), std::asinh, "asinh");
  expect_specials<double>(TREE(asinh), std::asinh, "asinh");
  expect_specials<float>(TREE(acosh), std::acosh, "acosh");
  expect_specials<double>(TREE(acosh), std::acosh, "acosh");
  expect_specials<float>(TREE(atanh), std::atanh, "atanh");
  expect_specials<double>(TREE(atanh), std::atanh, "atanh");
  const Function<float> tangent(TREE(tan));
  EXPECT_TRUE(std::signbit(tangent(-0.0f)));
  EXPECT_TRUE(std::isnan(tangent(std::numeric_limits<float>::infinity())));
}

template <class T>
void expect_like_the_library(Tree2 tree, T (*exact)(T, T), double allowed) {
  const Function<T> f(tree);
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0,
                        -T{0},
                        1,
                        -1,
                        2,
                        -3,
                        T{0.7},
                        T{-0.2},
                        T{1e-3},
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::max(),
                        -Limits::max()};
  std::mt19937 random(5);
  std::normal_distribution<T> normal;
  for (int i = 0; i < 60; ++i) values.push_back(normal(random));
  for (T x : values)
    for (T y : values) {
      const T got = f(x, y), wanted = exact(x, y);
      EXPECT_LE(ulps<T>(got, wanted), allowed) << x << ", " << y << ": " << got << ", not " << wanted;
      EXPECT_TRUE(std::isnan(wanted) || std::signbit(got) == std::signbit(wanted)) << x << ", " << y;
    }
}

TEST(Functions, Atan2KnowsEveryQuadrantZeroAndInfinity) {
  expect_like_the_library<float>(static_cast<Tree2>(atan2), std::atan2, 4);
  expect_like_the_library<double>(static_cast<Tree2>(atan2), std::atan2, 4);
}

template <class T>
void expect_integer_functions() {
  const Function<T> mod(static_cast<Tree2>(floor_mod)), left(static_cast<Tree2>(shift_left_by)),
      right(static_cast<Tree2>(shift_right_by));
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const T x = i % 3 ? static_cast<T>(random()) : static_cast<T>(random() % 19) - 9;
    const T y = i % 2 ? static_cast<T>(random()) : static_cast<T>(random() % 80) - 9;
    EXPECT_EQ(mod(x, y), floor_mod(x, y)) << x << " mod " << y;
    EXPECT_EQ(left(x, y), shift_left_by(x, y)) << x << " << " << y;
    EXPECT_EQ(right(x, y), shift_right_by(x, y)) << x << " >> " << y;
  }
  EXPECT_EQ(left(T{5}, T{1}), T{10});
  EXPECT_EQ(right(T{-5}, T{1}), T{-3});
  EXPECT_EQ(right(T{-5}, T{100}), T{-1});
}

TEST(Functions, OfIntegersAgreeWithPlainOnes) {
  expect_integer_functions<std::int32_t>();
  expect_integer_functions<std::int64_t>();
}

TEST(Functions, TheRemainderHasTheSignOfTheDivisor) {
  const Function<float> mod(static_cast<Tree2>(floor_mod));
  std::mt19937 random(9);
  std::uniform_real_distribution<float> wide(-1000, 1000), narrow(-4, 4);
  for (int i = 0; i < 3000; ++i) {
    const float x = wide(random), y = narrow(random);
    EXPECT_NEAR(mod(x, y), floor_mod(x, y), 1e-6 * std::fabs(y)) << x << " mod " << y;
  }
  EXPECT_EQ(mod(-7, 3), 2);
  EXPECT_EQ(mod(7, -3), -2);
  EXPECT_EQ(mod(5, std::numeric_limits<float>::infinity()), 5);
  EXPECT_TRUE(std::isnan(mod(5, 0)));
}

}  // namespace
}  // namespace tandem::expr
