#include "tandem/expr/special.h"

#include <array>

#include "tandem/expr/functions.h"
#include "tandem/expr/math_parts.h"

namespace tandem::expr {
namespace {

constexpr double kPi = std::numbers::pi;

// lgamma z = (z - 1) (z - 2) P(t), t = (z - 1.25)/(z + 1.25), 0.5 <= z <= 3; error 2.2e-9 and 1.7e-17
constexpr double kNear32[] = {0.52411645995704844,    -0.461395953404963627,  0.129640285463466032,
                              -0.158597504947691098,  0.0863240130707190005,  -0.0969214072166516762,
                              0.0649550911435069724,  -0.0709478132018142272, 0.0453204281551414062,
                              -0.0455254332811994183, 0.0693792997092874209,  -0.0794496759682905908};
constexpr double kNear64[] = {
    0.524116460916336854,   -0.461395961092040092,  0.129639901614288897,  -0.158596224332428606,
    0.0863487069793790503,  -0.0969790008887906218, 0.0643803018920722533, -0.0698850044825360538,
    0.0512496366040924434,  -0.0546267199115151989, 0.0425506085726698392, -0.0448386349762857519,
    0.0363598270639538862,  -0.0379924071428754275, 0.0318843733380879374, -0.0333385333994914373,
    0.0270624097961846779,  -0.026672060159742835,  0.0315752355726993182, -0.038142081545440747,
    0.00151937839779215725, 0.0117705003042380409,  0.0598898271379280954, -0.0752493078354392385};
// lgamma z = P(t), t = (z - 5)/(z + 5), 3 <= z <= 8; error 7.8e-9 and 4.9e-17
constexpr double kMiddle32[] = {3.17805383325841922, 15.0611769703406596, 26.1273217358042436, 29.0617487848782217,
                                32.7934030024236833, 34.5398424987046974, 36.7745082387712483, 37.6085174018075344,
                                39.8428976282326394, 47.7437292503367848, 44.4175450048592774};
constexpr double kMiddle64[] = {3.17805383034794559, 15.0611766843180073, 26.1273244711738771, 29.0618502171742987,
                                32.7930156692466648, 34.529756457039912,  36.7915565965704881, 38.017101581352888,
                                39.6469421408592672, 40.590376727395708,  41.8674036162039337, 42.6321956123727642,
                                43.6788522819472833, 44.3386079752512509, 45.3416480731967139, 45.6132234110918911,
                                44.6912472551595648, 47.8115639751512516, 63.162112603798684,  53.3241912664338213};
// Stirling's series in 1/z^2, from Bernoulli's numbers: of lgamma (times 1/z), digamma and trigamma (times 1/z).
constexpr double kStirling[] = {1.0 / 12,        -1.0 / 360, 1.0 / 1260,       -1.0 / 1680,     1.0 / 1188,
                                -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400, 43867.0 / 244188};
constexpr double kDigamma[] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760, -1.0 / 12};
constexpr double kTrigamma[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};

bool is_number(Expr x) { return is_float_lane(x.lane()); }

/// Terms that count where the series begins.
Coefficients terms(Expr x, Coefficients all) { return x.lane() == Lane::f32 ? all.first(3) : all; }

/// The distance to the nearest integer, exactly.
Expr rest_of(Expr x) { return x - round_even(x); }

/// For 0.5 <= z.
Expr lgamma_of_large(Expr z) {
  const Expr near = polynomial((z - 1.25) / (z + 1.25), choose(z, kNear32, kNear64)) * (z - 1) * (z - 2);
  const Expr middle = polynomial((z - 5) / (z + 5), choose(z, kMiddle32, kMiddle64));
  const Expr inverse = 1 / z, logarithm = log(z);
  const Expr tail = polynomial(inverse * inverse, terms(z, kStirling)) * inverse;
  const Expr far = (z - 0.5) * (logarithm - 1) + 0.418938533204672742 + tail;  // log(2 pi)/2 - 1/2
  return select(z < 3, near, select(z < 8, middle, far));
}

/// The sum of f(z + k) for k below the number of steps that bring z to where the series holds.
template <class F>
Expr stepped(Expr z, int steps, F f) {
  Expr sum = f(z);
  for (int k = 1; k < steps; ++k) sum = sum + f(z + k);
  return sum;
}

int steps_for(Expr x) { return x.lane() == Lane::f32 ? 6 : 11; }

/// x of erfc(x) = q for 0 <= q <= 1; y = 1 - q, exact where it is small. A guess, then twice Halley's step.
Expr erfc_inverse(Expr q, Expr y) {
  const Expr t = sqrt(log(q * 0.5) * -2);
  const Expr guess_far = (t - polynomial(t, Coefficients(std::array{2.515517, 0.802853, 0.010328})) /
                                  polynomial(t, Coefficients(std::array{1.0, 1.432788, 0.189269, 0.001308}))) *
                         (1 / std::numbers::sqrt2);
  const Expr guess_near = y * polynomial(y * y, Coefficients(std::array{0.886226925452758, 0.232013666534654,
                                                                        0.127556175305598, 0.0865521292415475}));
  const Expr small = abs(y) < 0.5;
  Expr x = select(small, guess_near, guess_far);
  for (int i = 0; i < 2; ++i) {
    const Expr off = select(small, y - erf(x), erfc(x) - q) * exp(x * x) * -0.886226925452758;
    x = x - off / (x * off + 1);
  }
  return select(q == 0, kInfinity, select(q < 0, kNaN, x));
}

}  // namespace

Expr lgamma(Expr x) {
  if (!is_number(x)) return x;
  const Expr mirrored = x < 0.5;
  const Expr of_large = lgamma_of_large(select(mirrored, 1 - x, x));
  const Expr rest = rest_of(x), reflected = log(kPi / abs(sin(rest * kPi))) - of_large;
  const Expr pole =
      (x == -kInfinity) | (mirrored & (rest == 0));  // all numbers beyond the integers' exact range are integers
  return select(pole, kInfinity, select(mirrored, reflected, of_large));
}

Expr digamma(Expr x) {
  if (!is_number(x)) return x;
  const Expr mirrored = x < 0.5;
  const Expr z = select(mirrored, 1 - x, x), far = z + steps_for(x), inverse = 1 / far, square = inverse * inverse;
  const Expr series = log(far) - inverse * 0.5 + polynomial(square, terms(x, kDigamma)) * square;
  const Expr of_large = series - stepped(z, steps_for(x), [](Expr w) { return 1 / w; });
  const Expr rest = rest_of(x);
  const Expr reflected = select(rest == 0, kNaN, of_large - kPi / tan(rest * kPi));
  return select(mirrored, reflected, of_large);
}

Expr trigamma(Expr x) {
  if (!is_number(x)) return x;
  const Expr mirrored = x < 0.5;
  const Expr z = select(mirrored, 1 - x, x), far = z + steps_for(x), inverse = 1 / far, square = inverse * inverse;
  const Expr series = inverse + square * 0.5 + polynomial(square, terms(x, kTrigamma)) * square * inverse;
  const Expr of_large = series + stepped(z, steps_for(x), [](Expr w) { return 1 / (w * w); });
  const Expr ratio = kPi / sin(rest_of(x) * kPi);
  return select(mirrored, ratio * ratio - of_large, of_large);
}

Expr erfinv(Expr y) {
  if (!is_number(y)) return y;
  const Expr size = abs(y);
  return copy_sign(erfc_inverse(1 - size, size), y);
}

Expr ndtri(Expr p) {
  if (!is_number(p)) return p;
  const Expr below = p < 0.5;
  const Expr share = select(below, p, 1 - p);
  const Expr x = erfc_inverse(share * 2, 1 - share * 2) * std::numbers::sqrt2;
  return select(below, -x, x);
}

}  // namespace tandem::expr
