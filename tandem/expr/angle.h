// What is left of an angle too large to be reduced by a few products: exact arithmetic on 192 bits of 1 / (2 pi).
#pragma once
#include <cstdint>
#include <span>

namespace tandem::expr {

/// Which multiples are taken off, and what the rest says of their number n.
enum class AngleGrid : std::uint8_t {
  sine,     // n pi; the rest is turned for odd n: its sine is that of the angle
  cosine,   // (n + 1/2) pi; the lowest bit of the rest is set when the angle's cosine is the rest's sine turned
  tangent,  // n pi/2; the lowest bit of the rest is n's
};

/// Angles up to this size are left to whoever has a faster way.
inline constexpr double kLargeAngle32 = 0x1p18, kLargeAngle64 = 0x1p42;

/// The rest of `x` where it is larger than kLargeAngle, else `x` itself; NaN of an infinity. The same bits everywhere.
float angle_rest(float x, AngleGrid grid);
double angle_rest(double x, AngleGrid grid);

/// 64 zeros, then the binary digits of 1 / (2 pi): for backends that say the same in another language.
std::span<const std::uint64_t> inverse_turn_words();
/// pi * 2^62.
inline constexpr std::uint64_t kPiBits = 0xC90FDAA22168C234u;

}  // namespace tandem::expr
