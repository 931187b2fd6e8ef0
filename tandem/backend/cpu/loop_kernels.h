// Kernels made of loops and folds, each in two forms: generated code, and the portable tile interpreter.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

KernelList elementwise_kernels();  // ops with a formula
KernelList logical_kernels();  // logical_and, logical_or, logical_xor, logical_not: as elementwise ops, and by bytes
KernelList reduction_kernels();  // reduce_sum, reduce_mean, …, and of fused regions
KernelList mean_kernels();  // reduce_mean: as the others, and of runs of integers
KernelList softmax_kernels();  // softmax, log_softmax, cross entropies and their gradients
KernelList softmax_grad_kernels();  // of softmax and log_softmax
KernelList softmax_column_kernels();  // softmax, log_softmax and their gradients along an axis that others follow
KernelList random_kernels();  // random_normal, random_uniform
KernelList creation_kernels();  // fill, range

}  // namespace tandem::cpu
