// One instruction over a tile of elements: the vector loops of the portable interpreter, for the machine it runs on.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/expr/expr.h"

namespace tandem::cpu {

inline constexpr std::size_t kTileAlign = 64;  // bytes: the widest vector, and the size of a value that is one for all

/// Operands are aligned and long enough to be read in whole vectors, except memory in loads and stores.
/// A step of 0 repeats the operand's first 64 bytes, a step of 1 walks on.
struct TileArgs {
  const void* a;
  const void* b;
  const void* c;
  void* out;
  std::size_t step_a, step_b, step_c;
  std::size_t count;
  std::uint64_t bits;  // of the node; for the index, that of the first element
};
using TileKernel = void (*)(const TileArgs& args);

/// Masks are words of all ones or all zeros, as wide as the lanes they were compared in; bit instructions on them are
/// those of i32 and i64, and so is the conversion between the two widths.
struct TileKernels {
  static constexpr int kPrims = static_cast<int>(expr::Prim::convert) + 1;
  TileKernel prim[kPrims][4] = {};  // by the lane type of the operands (of the result, for select): f32, f64, i32, i64
  TileKernel convert[4][4] = {};  // from, to
  TileKernel load[kDTypeCount] = {};  // a: memory, out: slot; exactly count elements
  TileKernel store[kDTypeCount] = {};  // a: slot, out: memory; exactly count elements
};

/// The kernels for the best instruction set of this machine.
const TileKernels& tile_kernels();

}  // namespace tandem::cpu
