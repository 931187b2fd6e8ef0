// Kernels whose result may take the place of an operand, though they are not elementwise.
#pragma once
#include <cstddef>

namespace tandem {

/// Something a PreparedKernel may be besides: a product that goes on with an operand as large as its result reads each
/// element of that operand just before it writes the one of the result.
class OverwritingKernel {
 public:
  virtual ~OverwritingKernel() = default;
  /// May output 0 lie where this input does, if no other input does?
  virtual bool may_lie_on(std::size_t input) const = 0;
};

}  // namespace tandem
