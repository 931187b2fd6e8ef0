// The less common elementary functions, as trees and on plain numbers: for records that name them in their formulas.
// (Those of expr.h and scalar_math.h come with every formula.)
#pragma once
#include "tandem/expr/expr.h"
#include "tandem/expr/scalar_math.h"

namespace tandem::expr {

// --- Trees; f32 and f64 lanes. Special values are those of the C library. ---
Expr expm1(Expr x);
Expr log1p(Expr x);
Expr erfc(Expr x);
Expr tan(Expr x);
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);
/// The remainder with the sign of y; exact while |x / y| is below 2^mantissa.
Expr floor_mod(Expr x, Expr y);
/// x shifted by y bits, y taken as the nearest number that the dtype's width allows; right shifts keep the sign.
Expr shift_left_by(Expr x, Expr y);
Expr shift_right_by(Expr x, Expr y);

// --- The same on plain numbers. ---
// clang-format off: a function is a line
template <Plain T>
T expm1(T x) { if constexpr (std::is_floating_point_v<T>) return std::expm1(x); else return x; }
template <Plain T>
T log1p(T x) { if constexpr (std::is_floating_point_v<T>) return std::log1p(x); else return x; }
template <Plain T>
T erfc(T x) { if constexpr (std::is_floating_point_v<T>) return std::erfc(x); else return x; }
template <Plain T>
T tan(T x) { if constexpr (std::is_floating_point_v<T>) return std::tan(x); else return x; }
template <Plain T>
T asin(T x) { if constexpr (std::is_floating_point_v<T>) return std::asin(x); else return x; }
template <Plain T>
T acos(T x) { if constexpr (std::is_floating_point_v<T>) return std::acos(x); else return x; }
template <Plain T>
T atan(T x) { if constexpr (std::is_floating_point_v<T>) return std::atan(x); else return x; }
template <Plain T>
T atan2(T y, T x) { if constexpr (std::is_floating_point_v<T>) return std::atan2(y, x); else return x; }
template <Plain T>
T sinh(T x) { if constexpr (std::is_floating_point_v<T>) return std::sinh(x); else return x; }
template <Plain T>
T cosh(T x) { if constexpr (std::is_floating_point_v<T>) return std::cosh(x); else return x; }
template <Plain T>
T asinh(T x) { if constexpr (std::is_floating_point_v<T>) return std::asinh(x); else return x; }
template <Plain T>
T acosh(T x) { if constexpr (std::is_floating_point_v<T>) return std::acosh(x); else return x; }
template <Plain T>
T atanh(T x) { if constexpr (std::is_floating_point_v<T>) return std::atanh(x); else return x; }
template <Plain T>
T round_even(T x) { if constexpr (std::is_floating_point_v<T>) return std::nearbyint(x); else return x; }
template <Plain T>
T trunc(T x) { if constexpr (std::is_floating_point_v<T>) return std::trunc(x); else return x; }
// clang-format on

/// Integer division as lanes do it: towards zero, x / 0 = 0, the smallest number divided by -1 wraps.
template <Plain T>
T plain_div(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    if (y == -1) return static_cast<T>(0 - x);
  }
  return x / y;
}
template <Plain T>
T floor_mod(T x, T y) {
  T rest;
  if constexpr (std::is_floating_point_v<T>) rest = std::fmod(x, y);
  else rest = static_cast<T>(x - plain_div(x, y) * y);
  return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
}
inline Expr plain_div(Expr x, Expr y) { return x / y; }

template <Plain T>
T shift_left_by(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x)
                          << (y < 0                                   ? 0
                              : y > static_cast<T>(8 * sizeof(T)) - 1 ? 8 * sizeof(T) - 1
                                                                      : y));
}
template <Plain T>
T shift_right_by(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return static_cast<T>(x >> (y < 0 ? 0 : y > static_cast<T>(8 * sizeof(T)) - 1 ? 8 * sizeof(T) - 1 : y));
}

}  // namespace tandem::expr
