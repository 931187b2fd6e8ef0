// OpenCL's kernels of the larger ops of networks, one list an op.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::opencl {

KernelList batch_normalization_training_kernels();
KernelList batch_normalization_grad_kernels();
KernelList layer_normalization_kernels();
KernelList layer_normalization_grad_kernels();
KernelList dot_product_attention_kernels();
KernelList dot_product_attention_grad_kernels();
KernelList recurrent_kernels();
KernelList recurrent_grad_kernels();
KernelList resizing_kernels();  // resize_bilinear and its gradient

}  // namespace tandem::opencl
