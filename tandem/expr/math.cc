// The elementary functions as trees. Every rounding is written down (fma or not), so all backends give the same bits.
// The coefficients come from tools/fit_math.py. Few instructions matter more here than anywhere else: these trees run
// over every element.
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "tandem/base/error.h"
#include "tandem/expr/expr.h"
#include "tandem/expr/math_coefficients.h"
#include "tandem/expr/math_parts.h"

namespace tandem::expr {

namespace {

/// x = m * 2^exponent for a positive normal x, with low <= m < 2 low.
struct Split {
  Expr m, exponent;
};
Split split(Expr x, std::uint64_t low, Expr extra_bias) {
  const Float& type = float_of(x);
  // Shifting is logical, so the exponent is kept positive until it is a float; extra_bias is taken off there.
  const std::uint64_t offset = (static_cast<std::uint64_t>(type.bias + 1) << type.mantissa) - low;
  const Expr shifted = as_integer(x) + integer_bits(x, offset);
  const Expr rest = shifted & integer_bits(x, (std::uint64_t{1} << type.mantissa) - 1);
  const Expr exponent = shift_right(shifted, type.mantissa) | integer_bits(x, type.magic);
  return {bitcast(rest + integer_bits(x, low), x.lane()), bitcast(exponent, x.lane()) - extra_bias};
}
double split_bias(Expr x) { return std::ldexp(1, float_of(x).mantissa) + float_of(x).bias + 1; }

/// As split, for denormals too.
Split split_any(Expr x, std::uint64_t low) {
  const Float& type = float_of(x);
  const int up = type.mantissa + 1;
  const Expr tiny = x < type.smallest;
  return split(select(tiny, x * std::ldexp(1, up), x), low,
               select(tiny, x.like(split_bias(x) + up), x.like(split_bias(x))));
}

}  // namespace

Expr exp_in_range(Expr x, double scale) {
  // x = n * 2 ln2 + r, exp(x) = 2^n * exp(r) * 2^n: with half the exponent a denormal result is rounded once, at the
  // end.
  const Coefficients ln2 = choose(x, kTwoLn2Parts32, kTwoLn2Parts64);
  const Rounded n = round_product(x, 0.5 * std::numbers::log2e);
  const Expr r = fma(n.number, -ln2[1], fma(n.number, -ln2[0], x));
  const Expr tail = fma(polynomial(r, choose(x, kExp32, kExp64)), r, 1);
  return fma(tail, r, 1) * scale * n.power * n.power;
}

namespace {

/// log of m * 2^exponent.
Expr log_of(const Split& x) {
  const Expr f = x.m - 1;
  if (f.lane() == Lane::f32) {
    const Expr y = fma(f * f, polynomial(f, kLog32), f);
    return fma(x.exponent, std::numbers::ln2, y);
  }
  // With s = f / (2 + f): log m = 2 atanh(s) = 2s + s z T(z), and 2s = f - s f, where f is exact.
  const Expr s = f / (f + 2);
  const Expr z = s * s;
  const Expr y = f - s * (f - z * polynomial(z, kLog64));
  return fma(x.exponent, std::numbers::ln2, y);
}
std::uint64_t log_low(Expr x) { return x.lane() == Lane::f32 ? kF32.two_thirds : kF64.sqrt_half; }

/// sin(r) for |r| <= pi/2.
Expr sin_reduced(Expr r) {
  const Expr z = r * r;
  return r * fma(z, polynomial(z, choose(r, kSin32, kSin64)), 1);  // a product keeps the sign of 0
}

/// x - multiple * pi, to about 3 ulp where x is no larger than kLargeAngle.
Expr rest_of_pi(Expr x, Expr multiple) {
  const Coefficients pi = choose(x, kPiParts32, kPiParts64);
  Expr r = fma(multiple, -pi[0], x);  // exact, by the fma: both terms are multiples of the last place of pi[0]
  r = fma(multiple, -pi[1], r);
  return fma(multiple, -pi[2], r);
}

/// sin(r), its sign turned when `integer` is odd. Roundings add up to a last place beyond 1 where r is a quarter of a
/// turn.
Expr turned_sin(Expr r, Expr integer) {
  const Expr turn = shift_left(integer, r.lane() == Lane::f32 ? 31 : 63);
  return clamp(bitcast(as_integer(sin_reduced(r)) ^ turn, r.lane()), -1, 1);
}

/// An odd function that saturates at 1: 2u / (1 + u^2) with u = n / 2d, n = x (1 + P(z)), d = 1 + z Q(z), z = x^2.
/// Errors of u fade as the result nears 1. The result is nd / (d^2 + n^2/4), its denominator taken as |nd| + (d -
/// |n|/2)^2, where the rounding of nd cancels. Near 0, where the roundings would add up, a short polynomial with only
/// one takes over.
struct Saturating {
  double limit;  // rounds to 1 from here
  Coefficients p, q, small;
};
constexpr double kSmall = 0.625;

Expr saturating(Expr x, const Saturating& f) {
  const Expr c = clamp(x, -f.limit, f.limit);
  const Expr z = c * c;
  const Expr n = fma(c, polynomial(z, f.p), c);
  const Expr e = z * polynomial(z, f.q);  // d - 1
  const Expr above = fma(n, e, n);
  const Expr g = fma(abs(n), -0.5, e) + 1;  // d - |n|/2
  const Expr large = above / fma(g, g, abs(above));
  return select(z < kSmall * kSmall, fma(c, polynomial(z, f.small), c), large);
}

Expr tanh_f64(Expr x) {
  // With e = exp(2|x|) - 1: tanh |x| = e / (e + 2). exp(r) - 1 = q keeps its relative accuracy near 0.
  const Expr magnitude = lesser(20, abs(x));
  const Rounded n = round_product(magnitude, 2 * std::numbers::log2e);
  Expr r = fma(n.number, -kLn2Parts64[0], magnitude + magnitude);
  r = fma(n.number, -kLn2Parts64[1], r);
  const Expr q = fma(r * r, polynomial(r, kExpm164), r);
  const Expr e = fma(n.power, q, n.power - 1);
  return copy_sign(e / (e + 2), x);
}

Expr erf_f64(Expr x) {
  const Expr magnitude = lesser(6, abs(x));
  const Expr z = magnitude * magnitude;
  const Expr tail = exp_in_range(-z) * polynomial(magnitude, kErfcP64) / polynomial(magnitude, kErfcQ64);
  return select(abs(x) < 1, x * polynomial(z, kErf64), copy_sign(1 - tail, x));
}

bool is_number(Expr x) {
  TANDEM_CHECK(x.lane() != Lane::mask, "a function of a mask");
  return is_float_lane(x.lane());
}

}  // namespace

Expr exp(Expr x) {
  if (!is_number(x)) return x;
  // Just beyond overflow to infinity and underflow to 0.
  return exp_in_range(x.lane() == Lane::f32 ? clamp(x, -105, 90) : clamp(x, -747, 711));
}

Expr log(Expr x) {
  if (!is_number(x)) return x;
  const Expr y = log_of(split_any(x, log_low(x)));
  const Expr finite = select(x < kInfinity, y, x);
  return select(x > 0, finite, select(x == 0, x.like(-kInfinity), x.like(kNaN)));
}

Expr log_of_normal(Expr x) { return log_of(split(x, log_low(x), x.like(split_bias(x)))); }

Expr tanh(Expr x) {
  if (!is_number(x)) return x;
  return x.lane() == Lane::f32 ? saturating(x, {9.02, kTanhP32, kTanhQ32, kTanhSmall32}) : tanh_f64(x);
}

Expr erf(Expr x) {
  if (!is_number(x)) return x;
  return x.lane() == Lane::f32 ? saturating(x, {3.93, kErfP32, kErfQ32, kErfSmall32}) : erf_f64(x);
}

Expr sin(Expr x) {
  if (!is_number(x)) return x;
  x = angle_rest(x, AngleGrid::sine);
  const double magic = std::ldexp(1.5, float_of(x).mantissa);
  const Expr sum = fma(x, std::numbers::inv_pi, magic);
  return turned_sin(rest_of_pi(x, sum - magic), as_integer(sum));
}

Expr cos(Expr x) {
  if (!is_number(x)) return x;
  // x = (n + 1/2) pi + r: cos(x) = -sin(r) for even n. The odd magic number turns the parity.
  const double magic = std::ldexp(1.5, float_of(x).mantissa) + 1;
  const Expr sum = fma(x, std::numbers::inv_pi, -0.5) + magic;
  const Expr far = angle_rest(x, AngleGrid::cosine), large = is_large_angle(x);
  return turned_sin(select(large, far, rest_of_pi(x, (sum - magic) + 0.5)),
                    select(large, as_integer(far), as_integer(sum)));
}

Expr cos_two_pi(Expr u) {
  // u = 1/2 +- t: cos(2 pi u) = -cos(2 pi t) = sin(2 pi (t - 1/4)); every step before the product is exact.
  return sin_reduced((abs(u - 0.5) - 0.25) * (2 * std::numbers::pi));
}

namespace {

/// log2 of a positive finite x as high + low, to about 1.3 times the type's bits.
struct HighLow {
  Expr high, low;
};
HighLow log2_extended(Expr x) {
  const Split parts = split_any(x, float_of(x).sqrt_half);
  // m is compared to the nearest of three centres c: s = (m - c) / (m + c) is then small, and so is the part of the
  // logarithm that is rounded to the type's own bits.
  const Expr m = parts.m, below = m < 0.890625, above = m > 1.125;
  auto near = [&](double low, double middle, double high) {
    return select(below, m.like(low), select(above, m.like(high), m.like(middle)));
  };
  const Expr centre = near(51.0 / 64, 1, 81.0 / 64);
  const Coefficients low = choose(x, kLog2Below32, kLog2Below64), high = choose(x, kLog2Above32, kLog2Above64);
  // s + s_low: the remainder of the division is exact with fma.
  const Expr f = m - centre, d = m + centre, d_low = m - (d - centre);
  const Expr inverse = 1 / d;
  const Expr s = f * inverse;
  const Expr s_low = fma(-s, d_low, fma(-s, d, f)) * inverse;
  const Expr z = s * s;
  const Expr tail = fma(s * z, polynomial(z, choose(x, kLog232, kLog264)), near(low[1], 0, high[1]));
  const Coefficients c = choose(x, kTwoOverLn2Parts32, kTwoOverLn2Parts64);
  const Expr p = s * c[0];
  const Expr p_low = fma(s, c[1], fma(s_low, c[0], fma(s, s.like(c[0]), -p)));
  // whole + p + (p_low + tail), largest first: `whole` is exact, and 0 or larger than p.
  const Expr whole = parts.exponent + near(low[0], 0, high[0]);
  const Expr sum = whole + p;
  const Expr rest = (p - (sum - whole)) + (p_low + tail);
  const Expr result = sum + rest;
  return {result, rest - (result - sum)};
}

/// 2^(high + low).
Expr exp2_extended(Expr high, Expr low) {
  const double limit = high.lane() == Lane::f32 ? 160 : 1100;
  const Expr c = clamp(high, -limit, limit);
  const Rounded n = round_product(c, 0.5);
  const Expr r = fma(n.number, -2, c) + select(abs(high) < limit, low, 0);  // low is NaN beside an infinity
  return fma(polynomial(r, choose(r, kExp232, kExp264)), r, 1) * n.power * n.power;
}

Expr pow_float(Expr x, Expr y) {
  const Float& type = float_of(x);
  const Expr magnitude = abs(x);
  HighLow log2 = log2_extended(magnitude);
  log2.high = select(magnitude < kInfinity, log2.high, magnitude);  // NaN too
  log2.high = select(magnitude == 0, -kInfinity, log2.high);
  const Expr exponent = clamp(y, -type.largest, type.largest);  // infinity times log2(1) would be NaN
  const Expr high = exponent * log2.high;
  const Expr low = fma(exponent, log2.low, fma(exponent, log2.high, -high));
  const Expr size = exp2_extended(high, low);

  const Expr half = y * 0.5;
  const Expr whole = floor(y) == y;
  const Expr odd = whole & (floor(half) != half);
  Expr result = select(odd, copy_sign(size, x), size);
  result = select((x < 0) & (x > -kInfinity) & !whole, kNaN, result);
  return select((y == 0) | (x == 1), 1, result);
}

Expr pow_integer(Expr x, Expr y) {
  const int steps = x.lane() == Lane::i32 ? 31 : 63;
  Expr result = x.like(1), power = x;
  for (int k = 0; k < steps; ++k) {
    const Expr bit = y.graph().constant_bits(y.lane(), std::uint64_t{1} << k);
    result = select((y & bit) == 0, result, result * power);
    power = power * power;
  }
  // A negative exponent keeps its parity in two's complement, which is all that matters when |x| = 1.
  return select((y >= 0) | (abs(x) == 1), result, 0);
}

}  // namespace

Expr pow(Expr x, Expr y) {
  const Node& exponent = y.graph()[y.node()];
  if (exponent.prim == Prim::constant) {
    if (exponent == y.graph()[y.like(1).node()]) return x;
    if (exponent == y.graph()[y.like(2).node()]) return x * x;
    if (exponent == y.graph()[y.like(3).node()]) return x * x * x;
  }
  return is_number(x) ? pow_float(x, y) : pow_integer(x, y);
}

}  // namespace tandem::expr
