// Random numbers as trees: the counter-based generator Philox4x32-10, so that every device and every shard draws the
// same.
#pragma once
#include <array>

#include "tandem/expr/expr.h"

namespace tandem::expr {

/// All i32. The counter's lower half is the element's index; its upper half and the key name the stream.
struct PhiloxKey {
  Expr key0, key1, counter2, counter3;
};

/// Four random words (i32) for the element.
std::array<Expr, 4> philox(Expr index_lo, Expr index_hi, PhiloxKey key);

/// f32 in [0, 1), 24 bits of a word.
Expr uniform01(Expr word);
/// f64 in [0, 1), 53 bits of two words.
Expr uniform01_f64(Expr w0, Expr w1);

/// A draw from the normal distribution of mean 0 and variance 1, by Box and Muller; f32, then f64.
Expr normal(Expr w0, Expr w1);
Expr normal_f64(const std::array<Expr, 4>& words);

}  // namespace tandem::expr
