// Example calls of every op: what the conformance test runs and what probes of kernels use.
#pragma once
#include <vector>

#include "tandem/op/op_def.h"

namespace tandem {

struct SampleInput {
  TensorSpec spec;
  Domain values;        // drawn from [low, high); integers too
  double diagonal = 0;  // added to the diagonal of each matrix
  bool shares = false;  // each row is divided by its sum
};

struct OpSample {
  std::vector<SampleInput> inputs;
  Attrs attrs;
};

/// Calls of `op` with operands of `dtype` (or results, for ops without operands): small, odd, empty and broadcast
/// shapes, and every attribute. Empty when the op does not take the dtype.
std::vector<OpSample> samples(const OpDef& op, DType dtype);

/// The dtypes for which samples() has calls.
std::vector<DType> sample_dtypes(const OpDef& op);

}  // namespace tandem
