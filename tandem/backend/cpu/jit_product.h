// Matrix products as generated code: a tile of the result stays in registers while the sum runs, and what follows the
// product is done there before anything is stored.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "tandem/backend/cpu/jit_runtime.h"
#include "tandem/backend/cpu/loop.h"

namespace tandem::cpu {

/// Tiles below each other; strides are in bytes. The code moves the addresses on as it goes.
struct ProductTileArgs {
  const void* a;
  std::int64_t a_row, a_depth;
  const void* b;  // its rows lie along the vectors
  std::int64_t b_depth;
  std::int64_t depth;         // of the sum, at least one
  std::int64_t tiles;         // at least one
  std::int64_t last_columns;  // of a partial last vector
  const void* inputs[kMaxLoopOperands];  // of the epilogue; 0 is the product itself and not read
  std::int64_t input_rows[kMaxLoopOperands];
  void* outputs[kMaxLoopOperands];
  std::int64_t output_rows[kMaxLoopOperands];
};

/// What the code of a tile depends on.
struct TileShape {
  int rows = 0, vectors = 0;
  bool partial = false;       // the last vector is not full
  bool transposed_a = false;  // rows of the tile lie side by side in a
  bool operator==(const TileShape&) const = default;
};

/// Vectors of a tile, the most of them side by side and, for each number, the most rows that leave registers for the
/// operands.
struct TileLimits {
  JitTarget target = JitTarget::none;
  int lanes = 0;
  int vectors = 0;
  int rows[5] = {};  // by vectors
};
/// Products with so few columns have one vector of them, or two of half the size.
inline constexpr std::int64_t kNarrowColumns = 16;

/// For a product with so many columns; `target` is none with `refusal` filled where code is not generated.
TileLimits tile_limits(std::int64_t columns, std::string& refusal);

/// Elementwise work on the product, which is input 0 of `program`; no program: the product is stored as it is.
struct TileEpilogue {
  std::optional<expr::Program> program;
  ScalarInputs scalars = 0;
};

/// Writes void(ProductTileArgs*) for float32. `epilogue` must outlive the writer.
JitWriter tile_writer(const TileShape& shape, const TileEpilogue& epilogue, JitTarget target);

/// From the cache of generated code; null with `refusal` filled when there is none.
std::shared_ptr<const JitCode> tile_code(const TileShape& shape, const TileEpilogue& epilogue, JitTarget target,
                                         std::string& refusal);

}  // namespace tandem::cpu
