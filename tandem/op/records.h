// Records that kernels or the gradients of other files name; all others stay in their own file.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

extern const OpDef add_op, cast_op, where_op;
extern const OpDef reduce_sum_op, reduce_mean_op, reduce_max_op, argmax_op;
extern const OpDef matmul_op;
extern const OpDef conv2d_op, conv2d_backprop_input_op, conv2d_backprop_filter_op, max_pool2d_op, max_pool2d_grad_op;
extern const OpDef max_pool_with_argmax_op, avg_pool2d_op, avg_pool2d_grad_op;
extern const OpDef softmax_op, log_softmax_op, softmax_grad_op, log_softmax_grad_op;
extern const OpDef sparse_softmax_cross_entropy_op, sparse_softmax_cross_entropy_grad_op;
extern const OpDef softmax_cross_entropy_op, softmax_cross_entropy_grad_op;
extern const OpDef transpose_op, concat_op, slice_op, gather_op, gather_grad_op, one_hot_op, pad_op, broadcast_to_op;
extern const OpDef fill_op, range_op, random_normal_op, random_uniform_op;

}  // namespace tandem
