// The kernels of the CPU that rest on libraries or on plain loops over memory, one list an op. Whoever assembles
// the table appends the reference, but to those of fused products.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

KernelList matmul_kernels();
KernelList fused_matmul_kernels();

KernelList conv2d_kernels();
KernelList fused_conv2d_kernels();
KernelList conv2d_backprop_input_kernels();
KernelList conv2d_backprop_filter_kernels();
KernelList max_pool2d_kernels();
KernelList max_pool2d_grad_kernels();
KernelList max_pool_with_argmax_kernels();
KernelList avg_pool2d_kernels();
KernelList avg_pool2d_grad_kernels();

KernelList transpose_kernels();
KernelList broadcast_to_kernels();
KernelList concat_kernels();
KernelList slice_kernels();
KernelList pad_kernels();
KernelList gather_kernels();
KernelList gather_grad_kernels();
KernelList one_hot_kernels();
KernelList argmax_kernels();

}  // namespace tandem::cpu
