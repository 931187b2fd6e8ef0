// Loops over elements on the CPU: a program run over rows of operands, by generated code or by the tile interpreter.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/expr/program.h"

namespace tandem::cpu {

inline constexpr int kMaxLoopOperands = 16;  // inputs and outputs together

/// Bit i set: input i is one value for a whole row (inner stride 0); else its elements lie side by side.
/// Outputs always lie side by side.
using ScalarInputs = std::uint32_t;

/// `rows` rows of `length` elements. Row r of operand i begins at base + r * row_stride bytes.
struct LoopArgs {
  const void* inputs[kMaxLoopOperands];
  void* outputs[kMaxLoopOperands];
  std::int64_t input_row_strides[kMaxLoopOperands];   // bytes
  std::int64_t output_row_strides[kMaxLoopOperands];  // bytes
  std::int64_t length = 0;
  std::int64_t rows = 1;
  std::uint64_t index = 0;         // index of the first element, for Prim::index_lo/hi
  std::uint64_t index_stride = 0;  // added for each row
};

/// A program made runnable. Immutable and safe to run from several threads.
class Loop {
 public:
  virtual ~Loop() = default;
  virtual void run(const LoopArgs& args) const = 0;
};

/// Folds rows of elements to one value a row. The order of operations is part of the contract, so that every
/// implementation gives the same bits: element i of a row goes to lane i % kFoldLanes; lanes are combined
/// pairwise by halving (lane j with lane j + half). A row holds at most kFoldTile elements; longer ones are
/// split by the caller, which combines the partial results by index.
inline constexpr int kFoldLanes = 64;
inline constexpr std::int64_t kFoldTile = 4096;

struct FoldArgs {
  const void* inputs[kMaxLoopOperands];
  std::int64_t input_row_strides[kMaxLoopOperands];  // bytes
  void* output = nullptr;                            // one lane value (f32, f64, i32 or i64) a row
  std::int64_t length = 0;
  std::int64_t rows = 1;
};

class Fold {
 public:
  virtual ~Fold() = default;
  virtual void run(const FoldArgs& args) const = 0;
};

/// Maps each element by `map` (one output, of a lane dtype), folds with `combine` (two operands of that lane),
/// beginning with `identity` (the value's bits in the lane type). The first operand of `combine` is what the lane holds
/// (lane j), the second the mapped element (lane j + half). Lanes a short row does not reach take part as identities.
struct FoldProgram {
  expr::Program map;
  expr::Program combine;
  std::uint64_t identity = 0;
  ScalarInputs scalars = 0;  // of the map
};

/// Generated code for this machine, from a bounded cache; null with `refusal` filled when there is none
/// (no AVX2, code may not be generated, lanes of two widths in one program, an instruction missing).
std::shared_ptr<const Loop> jit_loop(const expr::Program& program, ScalarInputs scalars, std::string& refusal);
std::shared_ptr<const Fold> jit_fold(const FoldProgram& program, std::string& refusal);

/// The portable interpreter over tiles that fit the first-level cache; runs every program.
std::shared_ptr<const Loop> tile_loop(const expr::Program& program, ScalarInputs scalars);
std::shared_ptr<const Fold> tile_fold(const FoldProgram& program);

/// "AVX2", "AVX-512": what generated code uses here; "none" when it is refused (TANDEM_JIT=0, old machine).
std::string jit_target();

}  // namespace tandem::cpu
