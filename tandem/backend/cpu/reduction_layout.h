// How a reduction walks its operands: axes that are kept and axes that are reduced, neighbours joined where the memory
// of all operands allows.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "tandem/backend/cpu/loop.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/rules.h"

namespace tandem::cpu {

using ByteOffsets = std::array<std::int64_t, kMaxLoopOperands>;

struct ReductionAxis {
  std::int64_t size = 1;
  ByteOffsets strides{};  // an operand
};

struct ReductionLayout {
  std::vector<ReductionAxis> kept, reduced;  // outermost first, all but the last
  ReductionAxis last;
  bool last_reduced = true;
  std::int64_t groups = 1, combos = 1;  // positions of the kept and of the reduced axes, the last apart
  ScalarInputs scalars = 0;             // operands that are one value along the last axis
  std::int64_t rows_at_once = 1;  // rows of the result's width that the last axis holds where it is kept and was narrow

  /// `operands` broadcast to `domain`.
  ReductionLayout(const Shape& domain, AxisSet axes, std::span<const Operand> operands);

  /// Adds to `offsets` where position `index` of the axes lies in each operand, the last axis running fastest.
  void add_offsets(const std::vector<ReductionAxis>& axes, std::int64_t index, ByteOffsets& offsets) const;

 private:
  /// Where the last axis is kept and short, some of the rows that lie behind one another count as one.
  void widen_narrow_rows();

  std::size_t operands_;
};

}  // namespace tandem::cpu
