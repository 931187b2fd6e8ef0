// The error of a function tree in units of the last place, and its special values beside the C library's.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tandem/expr/program.h"

namespace tandem::expr {

using Tree1 = Expr (*)(Expr);
using Tree2 = Expr (*)(Expr, Expr);

template <class T>
constexpr DType kDType = dtype_of<T>();

template <class T>
class Function {
 public:
  explicit Function(Tree1 tree) {
    Graph graph;
    Expr x = graph.input(0, lane_of(kDType<T>));
    program_ = make_program(graph, {kDType<T>}, {tree(x)}, {kDType<T>});
  }
  explicit Function(Tree2 tree) {
    Graph graph;
    Expr x = graph.input(0, lane_of(kDType<T>)), y = graph.input(1, lane_of(kDType<T>));
    program_ = make_program(graph, {kDType<T>, kDType<T>}, {tree(x, y)}, {kDType<T>});
  }
  static Function power() { return Function(static_cast<Tree2>(pow)); }
  T operator()(T x, T y = 0) const {
    ScalarValue in[2], out;
    in[0].set(x);
    in[1].set(y);
    evaluate(program_, in, &out);
    return out.get<T>();
  }
  std::size_t instructions() const {
    return std::count_if(program_.nodes.begin(), program_.nodes.end(),
                         [](const Node& n) { return n.prim != Prim::constant && n.prim != Prim::input; });
  }

 private:
  Program program_;
};

/// Distance in units of the last place of the exact result; infinite when a special value is missed.
template <class T>
double ulps(T got, long double exact) {
  constexpr double miss = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : miss;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : miss;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : miss;
  int exponent;
  std::frexp(exact, &exponent);
  using Limits = std::numeric_limits<T>;
  const int last = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::fabs(got - exact) / std::ldexp(1.0L, last));
}

/// The largest error over all exponents, `per_binade` mantissas each, and over `dense` points spread evenly on [low,
/// high].
template <class T>
double worst(Tree1 tree, long double (*exact)(long double), T low, T high, int per_binade = 40, int dense = 60000) {
  const Function<T> f(tree);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> mantissa(1, 2), even(low, high);
  double result = 0;
  auto try_at = [&](T x) {
    if (x < low || x > high) return;
    const double error = ulps<T>(f(x), exact(x));
    if (!(error <= result)) result = error;
  };
  using Limits = std::numeric_limits<T>;
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e)
    for (int k = 0; k < per_binade; ++k) {
      const T x = std::ldexp(mantissa(random), e);
      try_at(x);
      try_at(-x);
    }
  for (int k = 0; k < dense; ++k) try_at(even(random));
  return result;
}

template <class T>
void expect_specials(Tree1 tree, T (*exact)(T), const char* name) {
  const Function<T> f(tree);
  using Limits = std::numeric_limits<T>;
  for (T x : {T{0}, -T{0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
              -Limits::denorm_min(), Limits::min() / 8, Limits::max(), -Limits::max(), T{1}, T{-1}}) {
    const T got = f(x), wanted = exact(x);
    if (std::isnan(wanted)) EXPECT_TRUE(std::isnan(got)) << name << "(" << x << ") = " << got;
    else EXPECT_LE(ulps<T>(got, wanted), 4) << name << "(" << x << ") = " << got << ", not " << wanted;
    EXPECT_TRUE(wanted != 0 || std::signbit(got) == std::signbit(wanted)) << name << "(" << x << ")";
  }
}

}  // namespace tandem::expr
