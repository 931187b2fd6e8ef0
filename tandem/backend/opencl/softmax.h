// What the kernels of the softmax family share: their text's beginning, and the ways the axis may lie.
#pragma once
#include <string>

#include "tandem/kernel/softmax_kind.h"

namespace tandem::opencl {

/// Rows that are no longer than this are worked off eight side by side.
inline constexpr std::int64_t kShortRow = 32;

/// Whatever the device has, so that sums have one order.
int softmax_lanes(DType dtype);
/// Of T, the elements' dtype: KIND, one of the kinds by name; KEEPS_LANES, whether memory holds lanes as they are;
/// vectors V, LANES wide.
std::string softmax_text(SoftmaxKind kind, DType dtype);

/// Yes where no axes follow that of the softmax.
Support rows_supported(const KernelCall& call);

/// Softmax, log_softmax or a gradient of them, wherever the axis is.
Prepared prepare_softmax_columns(const KernelCall& call);

}  // namespace tandem::opencl
