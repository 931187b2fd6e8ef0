// Trees of the less common functions; see math.cc for the rules they follow.
#include "tandem/expr/functions.h"

#include <numbers>

#include "tandem/base/error.h"
#include "tandem/expr/math_coefficients.h"
#include "tandem/expr/math_parts.h"

namespace tandem::expr {

namespace {

bool is_number(Expr x) {
  TANDEM_CHECK(x.lane() != Lane::mask, "a function of a mask");
  return is_float_lane(x.lane());
}

double by_type(Expr x, double f32, double f64) { return x.lane() == Lane::f32 ? f32 : f64; }

/// x + x z P(z), z = x^2: an odd function near 0, its first term exact, so that -0 stays -0.
Expr odd(Expr x, Expr z, Coefficients p) { return fma(x * z, polynomial(z, p), x); }

/// pi/2 - x, with pi/2 to more digits than the type has.
Expr half_pi_minus(Expr x) {
  const Coefficients half_pi = choose(x, kHalfPiParts32, kHalfPiParts64);
  return x.like(half_pi[0]) - (x - half_pi[1]);
}

/// asin of s with s^2 = z <= 1/4.
Expr asin_reduced(Expr s, Expr z) { return odd(s, z, choose(s, kAsin32, kAsin64)); }

/// What asin and acos share: for |x| > 1/2 asin |x| = pi/2 - 2 asin(s), s = sqrt((1 - |x|) / 2).
struct ArcSine {
  Expr large, value;  // of s, or of |x| itself
};
ArcSine arc_sine(Expr x) {
  const Expr a = abs(x), large = a > 0.5;
  const Expr z = select(large, fma(a, -0.5, 0.5), a * a);
  return {large, asin_reduced(select(large, sqrt(z), a), z)};
}

/// atan(t) for 0 <= t <= 1.
Expr atan_of_fraction(Expr t) {
  if (t.lane() == Lane::f32) return odd(t, t * t, kAtan32);
  // Above tan(pi/8): atan t = pi/4 + atan((t - 1) / (t + 1)).
  const Expr far = t > std::numbers::sqrt2 - 1;
  const Expr s = select(far, t - 1, t) / select(far, t + 1, 1);
  return select(far, std::numbers::pi / 4, t.like(0)) + odd(s, s * s, kAtan64);
}

/// exp(|x|) / 2, infinite only where its double is.
Expr half_exp(Expr x) { return exp_in_range(lesser(by_type(x, 90, 712), abs(x)), 0.5); }

/// log(1 + x + ...) where x is so large that its square overflows or 1 does not count: log x + ln 2.
Expr log_of_sum(Expr large, Expr x, Expr otherwise) {
  return log1p(select(large, x, otherwise)) + select(large, std::numbers::ln2, x.like(0));
}
double large_square(Expr x) { return by_type(x, 0x1p30, 0x1p60); }

}  // namespace

Expr expm1(Expr x) {
  if (!is_number(x)) return x;
  // x = n ln2 + r: 2^n (exp(r) - 1) + (2^n - 1), halved on the way because 2^n may be infinite where the result is not.
  const Expr c = x.lane() == Lane::f32 ? clamp(x, -20, 89) : clamp(x, -40, 710);
  const Coefficients ln2 = choose(x, kLn2Parts32, kLn2Parts64);
  const Rounded n = round_product(c, std::numbers::log2e, 1);
  const Expr r = fma(n.number, -ln2[1], fma(n.number, -ln2[0], c));
  const Expr q = fma(r * r, polynomial(r, choose(x, kExpm132, kExpm164)), r);
  return copy_sign(fma(n.power, q, n.power - 0.5) * 2, x);
}

Expr log1p(Expr x) {
  if (!is_number(x)) return x;
  const Expr u = x + 1;
  const Expr lost = x - (u - 1);  // what the rounding of 1 + x took
  const Expr y = select(u == 1, x, log_of_normal(u) + lost / u);
  const Expr finite = select(x < kInfinity, y, x);
  return select(x > -1, finite, select(x == -1, x.like(-kInfinity), x.like(kNaN)));
}

Expr erfc(Expr x) {
  if (!is_number(x)) return x;
  const Expr a = lesser(by_type(x, 10.2, 28), abs(x));
  const Expr t = (a - 4) / (a + 4);
  const Expr scaled = polynomial(t, choose(x, kErfcScaled32, kErfcScaled64)) / fma(a, 2, 1);
  const Expr square = a * a, rest = fma(a, a, -square);  // exp(-a^2) = exp(-square) (1 - rest)
  const Expr power = exp_in_range(-square);
  const Expr y = fma(-rest, power, power) * scaled;
  return select(x < 0, 2 - y, y);
}

Expr tan(Expr x) {
  if (!is_number(x)) return x;
  // x = n pi/2 + r, |r| <= pi/4: tan r for even n, -1 / tan r for odd n.
  const double magic = std::ldexp(1.5, float_of(x).mantissa);
  const Expr sum = fma(x, 2 * std::numbers::inv_pi, magic), n = sum - magic;
  const Coefficients half_pi = choose(x, kHalfPiParts32, kHalfPiParts64);
  Expr r = fma(n, -half_pi[0], x);
  r = fma(n, -half_pi[1], r);
  r = fma(n, -half_pi[2], r);
  const Expr far = angle_rest(x, AngleGrid::tangent), large = is_large_angle(x);
  r = select(large, far, r);
  const Expr t = odd(r, r * r, choose(x, kTan32, kTan64));
  const Expr even = (select(large, as_integer(far), as_integer(sum)) & integer_bits(x, 1)) == 0;
  return select(even, t, -1 / t);
}

Expr asin(Expr x) {
  if (!is_number(x)) return x;
  const ArcSine s = arc_sine(x);
  return copy_sign(select(s.large, half_pi_minus(s.value * 2), s.value), x);
}

Expr acos(Expr x) {
  if (!is_number(x)) return x;
  const ArcSine s = arc_sine(x);
  const Expr twice = s.value * 2;
  const Expr beyond = select(x < 0, half_pi_minus(s.value) * 2, twice);
  return select(s.large, beyond, half_pi_minus(copy_sign(s.value, x)));
}

Expr atan(Expr x) {
  if (!is_number(x)) return x;
  const Expr a = abs(x), steep = a > 1;
  const Expr t = select(steep, x.like(1), a) / select(steep, a, 1);
  const Expr y = atan_of_fraction(t);
  return copy_sign(select(steep, half_pi_minus(y), y), x);
}

Expr atan2(Expr y, Expr x) {
  if (!is_number(x)) return x;
  const Expr ax = abs(x), ay = abs(y), steep = ay > ax;
  const Expr over = select(steep, ax, ay), under = select(steep, ay, ax);
  // Two zeros lie on the axis of x, two infinities on the diagonal.
  const Expr t = select(under == 0, 0, select(over == under, 1, over / under));
  const Expr flat = atan_of_fraction(t);
  const Expr quarter = select(steep, half_pi_minus(flat), flat);
  const Coefficients half_pi = choose(x, kHalfPiParts32, kHalfPiParts64);
  const Expr left = x.like(2 * half_pi[0]) - (quarter - 2 * half_pi[1]);
  const Expr angle = select(as_integer(x) < 0, left, quarter);
  return select((x != x) | (y != y), kNaN, copy_sign(angle, y));
}

Expr sinh(Expr x) {
  if (!is_number(x)) return x;
  const Expr half = half_exp(x);
  return select(abs(x) < 1, odd(x, x * x, choose(x, kSinh32, kSinh64)), copy_sign(half - 0.25 / half, x));
}

Expr cosh(Expr x) {
  if (!is_number(x)) return x;
  const Expr half = half_exp(x);
  return half + 0.25 / half;
}

Expr asinh(Expr x) {
  if (!is_number(x)) return x;
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))), which keeps its accuracy near 0.
  const Expr a = abs(x), square = a * a;
  return copy_sign(log_of_sum(a > large_square(x), a, a + square / (sqrt(square + 1) + 1)), x);
}

Expr acosh(Expr x) {
  if (!is_number(x)) return x;
  const Expr t = x - 1;
  const Expr y = log_of_sum(x > large_square(x), x, t + sqrt(t * (x + 1)));
  return select(x < 1, kNaN, y);
}

Expr atanh(Expr x) {
  if (!is_number(x)) return x;
  const Expr a = abs(x);
  return copy_sign(log1p((a + a) / (1 - a)) * 0.5, x);
}

Expr floor_mod(Expr x, Expr y) {
  Expr rest = fma(-trunc(x / y), y, x);
  if (is_number(x)) {
    rest = fma(-trunc(rest / y), y, rest);  // a quotient of more digits than a number has was rounded the first time
    rest = select((abs(y) == kInfinity) & (abs(x) < kInfinity), x, rest);
  }
  return select((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest);
}

namespace {

Expr shift_by(Expr x, Expr y, Prim prim) {
  return shift_lanes(prim, x, greater_of(0, lesser(x.graph().bits_of(x.lane()) - 1, y)));
}

}  // namespace

Expr shift_left_by(Expr x, Expr y) { return is_number(x) ? x : shift_by(x, y, Prim::shift_left_by); }

Expr shift_right_by(Expr x, Expr y) {
  if (is_number(x)) return x;
  // Shifts are logical: a negative number is shifted with its bits turned.
  const Expr negative = x < 0;
  const Expr shifted = shift_by(select(negative, !x, x), y, Prim::shift_right_by);
  return select(negative, !shifted, shifted);
}

}  // namespace tandem::expr
