// The shapes of the eight AMX tiles, as the processor reads them: all of 16 rows of 64 bytes here.
#pragma once
#include <cstdint>

namespace tandem::cpu {

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, first_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

/// A constant: of a local one, GCC 12 keeps only the eight bytes that it thinks the instruction reads.
inline constexpr TileShapes kTileShapes;

}  // namespace tandem::cpu
