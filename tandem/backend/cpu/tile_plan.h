// A program lowered for the portable interpreter: kernels over tiles, their operands in slots that are reused after
// the last use.
#pragma once
#include <vector>

#include "tandem/backend/cpu/loop.h"
#include "tandem/backend/cpu/tile_kernels.h"

namespace tandem::cpu {

inline constexpr std::size_t kLargestTile = 512;             // elements
inline constexpr std::size_t kPlanScratch = 96 * 1024;       // bytes a plan may need at most

/// Where a step finds an operand: among the plan's constants or in the caller's scratch memory.
struct TileRef {
  bool constant = false;
  bool moves = false;  // along the tile; else one value for all elements
  std::uint32_t offset = 0;
};

struct TileStep {
  TileKernel kernel = nullptr;
  TileRef a, b, c, out;
  std::int32_t input = -1;  // the operand a load reads
  bool index = false;       // wants the index of the first element
  std::uint64_t bits = 0;
};

struct TileStore {
  TileKernel kernel;
  TileRef from;
};

struct TilePlan {
  /// 64 bytes: a value repeated.
  struct alignas(kTileAlign) Splat {
    unsigned char bytes[kTileAlign];
  };
  std::vector<Splat> constants;
  std::vector<TileStep> row_steps;   // once a row: loads of scalars and what follows from them alone
  std::vector<TileStep> tile_steps;
  std::vector<TileStore> stores;     // after all steps of a tile, so that an output may lie on an input
  std::vector<std::uint8_t> input_widths, output_widths;  // bytes an element
  std::vector<std::uint8_t> scalar_lanes;  // of a row's load: bytes of the value to repeat, 0 for other steps
  std::size_t tile = kLargestTile;   // elements, a power of two
  std::size_t scratch = 0;           // bytes

  /// `inputs` and `outputs` point to the row's, or the tile's, first elements; scratch is aligned to kTileAlign.
  void begin_row(unsigned char* scratch, const void* const* inputs) const;
  void run_tile(unsigned char* scratch, const void* const* inputs, void* const* outputs, std::size_t count,
                std::uint64_t index) const;
};

TilePlan make_tile_plan(const expr::Program& program, ScalarInputs scalars);

}  // namespace tandem::cpu
