// Which sizes of a call are left open, and what stands for them while it is traced.
#pragma once
#include "tandem/autodiff/function.h"
#include "tandem/op/open_size.h"

namespace tandem {

/// The axes of size kAny.
OpenAxes open_axes(const std::vector<InputSpec>& signature);

/// The specs of a call with stand-ins in the places of its open sizes. Sizes that are equal now have one stand-in: with
/// others, that are not, this is another signature. Nothing is opened (`sizes` is empty) where there are more different
/// sizes than a trace may have, and where one is 0: empty tensors go ways of their own.
struct Opening {
  Opening(const Specs& call, const OpenAxes& axes);

  Specs specs;
  std::vector<std::int64_t> sizes;  // by stand-in
};

}  // namespace tandem
