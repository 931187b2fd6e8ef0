// Kernels of scans, segments, slices with steps, scatters, sorts and linear algebra. One plain kernel an op: it is its
// own reference.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

KernelList argmin_kernels();
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
void add_linalg_kernels(KernelTable& table);

}  // namespace tandem::cpu
