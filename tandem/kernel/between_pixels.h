// Where along an axis the pixels of a resized image lie: the same for the kernels of every device.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem {

/// New pixel i is share of old pixel `upper` and the rest of `lower`.
struct BetweenPixels {
  std::int32_t lower, upper;
  double share;
};

/// Pixels lie at their middle, new pixel i at (i + 1/2) * from / to - 1/2; reckoned in integers, so that all devices
/// agree.
inline BetweenPixels between_pixels(std::int64_t i, std::int64_t from, std::int64_t to) {
  const std::int64_t at = (2 * i + 1) * from - to;  // in units of 1 / (2 * to)
  if (at <= 0) return {0, 0, 0};
  const std::int64_t lower = at / (2 * to);
  if (lower >= from - 1) return {static_cast<std::int32_t>(from - 1), static_cast<std::int32_t>(from - 1), 0};
  return {static_cast<std::int32_t>(lower), static_cast<std::int32_t>(lower + 1),
          static_cast<double>(at % (2 * to)) / static_cast<double>(2 * to)};
}

inline std::vector<BetweenPixels> between_pixels(std::int64_t from, std::int64_t to) {
  std::vector<BetweenPixels> pixels;
  pixels.reserve(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) pixels.push_back(between_pixels(i, from, to));
  return pixels;
}

}  // namespace tandem
