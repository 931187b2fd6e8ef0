// How an elementwise op walks its operands: axes joined where memory allows, cut into slices by the shape only.
#pragma once
#include <span>
#include <vector>

#include "tandem/backend/cpu/loop.h"
#include "tandem/kernel/row_kernel.h"

namespace tandem::cpu {

class LoopNest {
 public:
  /// `work`: rough cost of an element, in simple operations; decides how small a slice may be.
  LoopNest(const Shape& shape, std::span<const Operand> inputs, std::span<const Operand> outputs, double work);

  /// Why the nest cannot be run by loops (an inner stride other than 0 or 1); empty when it can.
  const std::string& refusal() const { return refusal_; }
  ScalarInputs scalars() const { return scalars_; }
  void run(const Loop& loop, const KernelArgs& args) const;

  /// Positions along the first axis of the shape, and a part of them on the calling thread.
  std::int64_t first_axis() const { return first_axis_; }
  void run_part(const Loop& loop, const KernelArgs& args, RowRange part) const;
  /// Does the input have an element of its own for each of those positions?
  bool follows_first_axis(std::size_t input) const { return follows_first_ >> input & 1; }

 private:
  struct Axis {
    std::int64_t size = 1;
    std::int64_t in[kMaxLoopOperands] = {};   // byte strides
    std::int64_t out[kMaxLoopOperands] = {};
  };
  void join_axes(std::vector<Axis> axes);
  bool joins(const Axis& outer, const Axis& inner) const;
  void cut(double work);
  void run_elements(const Loop& loop, const KernelArgs& args, std::int64_t begin, std::int64_t end) const;
  void run_rows(const Loop& loop, const KernelArgs& args, std::int64_t begin, std::int64_t end) const;

  int inputs_, outputs_;
  std::vector<std::int64_t> input_sizes_, output_sizes_;  // bytes of an element
  std::vector<Axis> outer_;  // all but the last two, outermost first
  Axis rows_, inner_;
  std::int64_t row_count_ = 1;  // of all outer axes and rows_
  std::int64_t slices_ = 1, per_slice_ = 0;  // elements of the inner axis, or rows
  std::int64_t first_axis_ = 1;
  std::uint32_t follows_first_ = 0;  // a bit an input
  ScalarInputs scalars_ = 0;
  std::string refusal_;
  bool empty_ = false;
};

}  // namespace tandem::cpu
