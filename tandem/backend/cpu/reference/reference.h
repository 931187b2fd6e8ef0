// The plain kernels: obvious loops, one element at a time, in double or int64. Last in every list, and what all
// other kernels are tested against.
#pragma once
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

Kernel reference_elementwise();
Kernel reference_reduction();
Kernel reference_argmax();
Kernel reference_matmul();
Kernel reference_conv2d();
Kernel reference_conv2d_backprop_input();
Kernel reference_conv2d_backprop_filter();
Kernel reference_max_pool2d();
Kernel reference_max_pool2d_grad();
Kernel reference_max_pool_with_argmax();
Kernel reference_avg_pool2d();
Kernel reference_avg_pool2d_grad();
Kernel reference_softmax();  // softmax, log_softmax, cross entropies and their gradients
Kernel reference_transpose();
Kernel reference_concat();
Kernel reference_slice();
Kernel reference_gather();
Kernel reference_gather_grad();
Kernel reference_one_hot();
Kernel reference_pad();
Kernel reference_broadcast_to();
Kernel reference_moving();  // roll, mirror_pad

}  // namespace tandem::cpu
