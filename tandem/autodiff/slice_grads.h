// Gradients of slices of one tensor, joined where they lie side by side: all parts of a tensor cost what the tensor
// does, not its size once a part.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/op/op_def.h"

namespace tandem {

class SliceGrads {
 public:
  /// Keeps the gradient of a slice that is whole along all axes but one. False where it is no such slice.
  bool take(std::int32_t slot, const OpDef& op, const Attrs& attrs, const Shape& whole, const Tensor& grad);
  /// Adds what was kept for the slot to its gradient.
  void add_to(std::int32_t slot, Tensor& grad);
  /// Slots for which something is kept.
  std::vector<std::int32_t> slots() const;

 private:
  struct Part {
    int axis;
    std::int64_t begin, end;
    Tensor grad;
  };
  struct Parts {
    Shape whole;
    std::vector<Part> parts;
  };
  static Tensor joined(Parts kept);

  std::unordered_map<std::int32_t, Parts> kept_;
};

}  // namespace tandem
