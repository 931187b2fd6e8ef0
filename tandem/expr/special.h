// Functions of probability, as trees and on plain numbers: logarithm of gamma and its derivatives, inverses of erf and
// of the normal distribution.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "tandem/expr/expr.h"
#include "tandem/expr/scalar_math.h"

namespace tandem::expr {

// --- Trees; f32 and f64 lanes. ---
Expr lgamma(Expr x);    // log |gamma(x)|; infinite at 0, -1, -2, …
Expr digamma(Expr x);   // its derivative; NaN at 0, -1, -2, …
Expr trigamma(Expr x);  // the derivative of that
Expr erfinv(Expr y);    // x of erf(x) = y; NaN outside [-1, 1]
Expr ndtri(Expr p);     // below it lies the share p of normal numbers; NaN outside [0, 1]

// --- The same on plain numbers: by recurrence and by halving, to be compared with. ---
namespace plain {

inline double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0.5) return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::nearbyint(x)));
  double sum = 0;
  for (; x < 20; ++x) sum -= 1 / x;
  const double z = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z / 240)));
}

inline double trigamma(double x) {
  if (x < 0.5) {
    const double s = std::sin(std::numbers::pi * (x - std::nearbyint(x)));
    return std::numbers::pi * std::numbers::pi / (s * s) - trigamma(1 - x);
  }
  double sum = 0;
  for (; x < 20; ++x) sum += 1 / (x * x);
  const double z = 1 / (x * x);
  return sum + 1 / x + z / 2 + z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z / 30)));
}

/// x of erfc(x) = q, 0 <= q <= 1.
inline double erfc_inverse(double q) {
  if (!(q > 0)) return q == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  double low = 0, high = 28;
  for (int i = 0; i < 80; ++i) (std::erfc((low + high) / 2) > q ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

inline double erfinv(double y) {
  double x = std::copysign(erfc_inverse(1 - std::abs(y)), y);
  if (std::abs(y) >= 0.5) return x;
  if (std::abs(y) < 1e-3) x = y * 0.886226925452758;
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) * std::exp(x * x) * 0.886226925452758;  // what 1 - |y| has lost
  return x;
}

inline double ndtri(double p) {
  if (p > 0.25 && p < 0.75) return std::numbers::sqrt2 * erfinv(2 * p - 1);
  return std::numbers::sqrt2 * (p < 0.5 ? -erfc_inverse(2 * p) : erfc_inverse(2 * (1 - p)));
}

template <Plain T, class F>
T in_double(T x, F f) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(f(static_cast<double>(x)));
  else return x;
}

}  // namespace plain

template <Plain T>
T lgamma(T x) {
  return plain::in_double(x, [](double v) { return std::lgamma(v); });
}
template <Plain T>
T digamma(T x) {
  return plain::in_double(x, plain::digamma);
}
template <Plain T>
T trigamma(T x) {
  return plain::in_double(x, plain::trigamma);
}
template <Plain T>
T erfinv(T x) {
  return plain::in_double(x, plain::erfinv);
}
template <Plain T>
T ndtri(T x) {
  return plain::in_double(x, plain::ndtri);
}

}  // namespace tandem::expr
