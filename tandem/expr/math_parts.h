// What the trees of the elementary functions share: the two floating types, polynomials, parts of numbers, and cheaper
// forms for arguments known to lie in a narrow range.
#pragma once
#include <cmath>
#include <limits>
#include <span>

#include "tandem/expr/expr.h"

namespace tandem::expr {

using Coefficients = std::span<const double>;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What differs between the two floating types.
struct Float {
  Lane integer;
  int mantissa;           // bits stored
  int bias;               // of the exponent
  double smallest;        // normal number
  double largest;
  std::uint64_t magic;    // bits of 2^mantissa: adding it to a small number leaves the integer in the low bits
  std::uint64_t sqrt_half;  // bits
  std::uint64_t two_thirds;
};
inline constexpr Float kF32{Lane::i32, 23, 127, 0x1p-126, 0x1.fffffep127, 0x4B000000u, 0x3F3504F3u, 0x3F2AAAABu};
inline constexpr Float kF64{
    Lane::i64,          52, 1023, 0x1p-1022, 0x1.fffffffffffffp1023, 0x4330000000000000u, 0x3FE6A09E667F3BCDu,
    0x3FE5555555555555u};

inline const Float& float_of(Expr x) { return x.lane() == Lane::f32 ? kF32 : kF64; }
inline Coefficients choose(Expr x, Coefficients f32, Coefficients f64) { return x.lane() == Lane::f32 ? f32 : f64; }

inline Expr polynomial(Expr x, Coefficients c) {
  Expr sum = x.like(c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
  return sum;
}

/// Keeps NaN: min and max return their second operand then.
inline Expr clamp(Expr x, double low, double high) { return greater_of(low, lesser(high, x)); }

inline Expr integer_bits(Expr like, std::uint64_t bits) {
  return like.graph().constant_bits(float_of(like).integer, bits);
}
inline Expr as_integer(Expr x) { return bitcast(x, float_of(x).integer); }

inline Expr copy_sign(Expr magnitude, Expr sign) {
  const std::uint64_t top = sign.lane() == Lane::f32 ? 0x80000000u : 0x8000000000000000u;
  return bitcast(as_integer(magnitude) | (as_integer(sign) & integer_bits(sign, top)), sign.lane());
}

/// Where angle_rest says something.
inline Expr is_large_angle(Expr x) { return abs(x) > (x.lane() == Lane::f32 ? kLargeAngle32 : kLargeAngle64); }

/// The integer n nearest to a * b, and 2^n, for |n| within the exponent's range.
struct Rounded {
  Expr number, power;
};
/// With `less`, the power is 2^(n - less).
inline Rounded round_product(Expr a, double b, int less = 0) {
  // Added to 1.5 * 2^mantissa, the sum is rounded to an integer, which its low bits then hold, biased for the exponent.
  const Float& type = float_of(a);
  const double magic = std::ldexp(1.5, type.mantissa) + type.bias - less;
  const Expr sum = fma(a, b, magic);
  return {sum - magic, bitcast(shift_left(as_integer(sum), type.mantissa), a.lane())};
}

/// scale * exp(x) where neither x nor half the result's exponent leaves the range.
Expr exp_in_range(Expr x, double scale = 1);

/// log(x) for a positive, finite, normal x.
Expr log_of_normal(Expr x);

/// cos(2 pi u) for 0 <= u <= 1, reduced exactly.
Expr cos_two_pi(Expr u);

}  // namespace tandem::expr
