// Kernels of scans, segments, slices with steps, scatters and sorts.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::opencl {

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
