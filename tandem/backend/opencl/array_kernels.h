// Kernels of scans, segments, slices with steps, scatters and sorts.
#pragma once
#include "tandem/backend/opencl/context.h"
#include "tandem/kernel/kernel.h"

namespace tandem::opencl {

/// How many of `inner` columns a work-item joins row by row. A GPU's work-items are neighbours and read together.
std::int64_t columns_per_item(const Context& context, std::int64_t inner);

KernelList scan_kernels();     // cumsum, cumprod
KernelList segment_kernels();  // unsorted_segment_*
KernelList strided_slice_kernels();
KernelList strided_slice_grad_kernels();
KernelList gather_nd_kernels();
KernelList scatter_kernels();  // scatter_nd, tensor_scatter_nd_*
KernelList where_indices_kernels();
KernelList moving_kernels();   // roll, mirror_pad
KernelList sorting_kernels();  // sort, argsort, top_k
KernelList searchsorted_kernels();

void add_array_kernels(KernelTable& table);

}  // namespace tandem::opencl
