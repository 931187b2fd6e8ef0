#include "tandem/expr/angle.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tandem::expr {
namespace {

constexpr std::uint64_t kInverseTurn[] = {
    0,
    0x28be60db9391054au,
    0x7f09d5f47d4d3770u,
    0x36d8a5664f10e410u,
    0x7f9458eaf7aef158u,
    0x6dc91b8e909374b8u,
    0x01924bba82746487u,
    0x3f877ac72c4a69cfu,
    0xba208d7d4baed121u,
    0x3a671c09ad17df90u,
    0x4e64758e60d4ce7du,
    0x272117e2ef7e4a0eu,
    0xc7fe25fff7816603u,
    0xfbcbc462d6829b47u,
    0xdb4d9fb3c9f2c26du,
    0xd3d18fd9a797fa8bu,
    0x5d49eeb1faf97c5eu,
    0xcf41ce7de294a4bau,
    0x9afed7ec47e35742u,
    0x1580cc11bf1edaeau,
};

__extension__ using Wide = unsigned __int128;

/// The first 128 binary digits after the point of mantissa * 2^exponent / (2 pi), for -64 < exponent < 972.
Wide turn_fraction(std::uint64_t mantissa, int exponent) {
  const int at = exponent + 64, shift = at % 64;
  const std::uint64_t* words = kInverseTurn + at / 64;
  const auto digits = [&](int i) { return shift ? words[i] << shift | words[i + 1] >> (64 - shift) : words[i]; };
  // Of the product of 64 and 192 digits, what is a whole number of turns is left out.
  const Wide low = static_cast<Wide>(mantissa) * digits(2), middle = static_cast<Wide>(mantissa) * digits(1);
  return (static_cast<Wide>(mantissa * digits(0)) << 64) + middle + (low >> 64);
}

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Word = std::uint32_t;
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr double kLarge = kLargeAngle32;
};
template <>
struct Bits<double> {
  using Word = std::uint64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kLarge = kLargeAngle64;
};

template <class T>
T rest_of(T x, AngleGrid grid) {
  using Word = typename Bits<T>::Word;
  constexpr int kMantissa = Bits<T>::kMantissa;
  if (!(std::fabs(x) > static_cast<T>(Bits<T>::kLarge))) return x;
  if (std::isinf(x)) return std::numeric_limits<T>::quiet_NaN();
  const Word word = std::bit_cast<Word>(std::fabs(x)), one = Word{1} << kMantissa;
  const Wide turns =
      turn_fraction((word & (one - 1)) | one, static_cast<int>(word >> kMantissa) - Bits<T>::kBias - kMantissa);

  // Steps of half or a quarter of a turn: the digits before the point count them, those after it are the rest, rounded
  // up from a half on, which is what a sign does. Half a step off, for the cosine, turns the first digit.
  const int step = grid == AngleGrid::tangent ? 2 : 1;
  Wide rest = turns << step;
  bool odd = (turns >> (128 - step) & 1) != 0;
  if (grid == AngleGrid::cosine) {
    odd = !odd;
    rest ^= Wide{1} << 127;
  } else {
    odd ^= (rest >> 127) != 0;
  }
  bool negative = (rest >> 127) != 0;
  if (negative) rest = 0 - rest;
  const auto high = static_cast<std::uint64_t>(rest >> 64), low = static_cast<std::uint64_t>(rest);
  const int zeros =
      high ? std::countl_zero(high) : 64 + std::countl_zero(low);  // at most 70: no float is nearer to a multiple
  const auto top = static_cast<std::uint64_t>(rest << zeros >> 64);
  const auto product = static_cast<std::uint64_t>(static_cast<Wide>(top) * kPiBits >> 64);
  const T scale = std::bit_cast<T>(static_cast<Word>(Bits<T>::kBias - 61 - step - zeros) << kMantissa);
  const Word magnitude = std::bit_cast<Word>(static_cast<T>(product) * scale);

  // The cosine does not mind the angle's sign.
  if (grid != AngleGrid::cosine) negative ^= std::signbit(x);
  if (grid == AngleGrid::sine) negative ^= odd;
  const Word marked = grid == AngleGrid::sine ? magnitude : (magnitude & ~Word{1}) | (odd ? 1 : 0);
  return std::bit_cast<T>(marked | static_cast<Word>(negative) << (8 * sizeof(T) - 1));
}

}  // namespace

float angle_rest(float x, AngleGrid grid) { return rest_of(x, grid); }
double angle_rest(double x, AngleGrid grid) { return rest_of(x, grid); }

std::span<const std::uint64_t> inverse_turn_words() { return kInverseTurn; }

}  // namespace tandem::expr
