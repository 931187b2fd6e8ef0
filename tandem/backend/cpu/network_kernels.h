// The CPU's kernels of the larger ops of networks, one list an op, and their references.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

KernelList batch_normalization_training_kernels();
KernelList batch_normalization_grad_kernels();
KernelList layer_normalization_kernels();
KernelList layer_normalization_grad_kernels();
KernelList dot_product_attention_kernels();
KernelList dot_product_attention_grad_kernels();
KernelList recurrent_kernels();
KernelList recurrent_grad_kernels();
KernelList resizing_kernels();  // resize_bilinear and its gradient

Kernel reference_normalization();  // of batches and of rows, and their gradients
Kernel reference_attention();      // and its gradient
Kernel reference_recurrent();      // every cell, and its gradient
Kernel reference_resizing();       // resize_bilinear and its gradient

}  // namespace tandem::cpu
