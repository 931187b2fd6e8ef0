#include "tandem/expr/random.h"

#include "tandem/expr/math_parts.h"

namespace tandem::expr {

// J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC11.
std::array<Expr, 4> philox(Expr index_lo, Expr index_hi, PhiloxKey key) {
  constexpr double kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr double kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  std::array<Expr, 4> c{index_lo, index_hi, key.counter2, key.counter3};
  const Expr m0 = index_lo.like(kMultiplier0), m1 = index_lo.like(kMultiplier1);
  for (int round = 0; round < 10; ++round) {
    c = {mul_hi_u32(c[2], m1) ^ c[1] ^ key.key0, c[2] * m1, mul_hi_u32(c[0], m0) ^ c[3] ^ key.key1, c[0] * m0};
    key.key0 = key.key0 + kWeyl0;
    key.key1 = key.key1 + kWeyl1;
  }
  return c;
}

namespace {

constexpr double kStep32 = 0x1p-24, kStep64 = 0x1p-53;

/// The upper 24 bits as a whole number.
Expr whole(Expr word) { return convert(shift_right(word, 8), Lane::f32); }

/// 53 bits of two words as a whole number. Shifted words are positive, so converting them as signed is right.
Expr whole_f64(Expr w0, Expr w1) {
  return fma(convert(shift_right(w0, 5), Lane::f64), 0x1p26, convert(shift_right(w1, 6), Lane::f64));
}

Expr box_muller(Expr positive, Expr turn) { return sqrt(log_of_normal(positive) * -2) * cos_two_pi(turn); }

}  // namespace

Expr uniform01(Expr word) { return whole(word) * kStep32; }
Expr uniform01_f64(Expr w0, Expr w1) { return whole_f64(w0, w1) * kStep64; }

Expr normal(Expr w0, Expr w1) {
  return box_muller(fma(whole(w0), kStep32, kStep32), uniform01(w1));  // (0, 1]: the logarithm needs more than 0
}

Expr normal_f64(const std::array<Expr, 4>& words) {
  return box_muller(fma(whole_f64(words[0], words[1]), kStep64, kStep64), uniform01_f64(words[2], words[3]));
}

}  // namespace tandem::expr
