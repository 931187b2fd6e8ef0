// Example calls of scans, segments, slices with steps, scatters and sorts.
#pragma once
#include "tandem/op/samples.h"

namespace tandem {

/// Empty for other ops; `values` are what the op's numbers are drawn from.
std::vector<OpSample> array_samples(const OpDef& op, DType dtype, Domain values);

}  // namespace tandem
