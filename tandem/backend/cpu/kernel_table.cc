// The one list of the CPU's kernels: for each op the order in which they are tried, the reference last.
#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/cpu_device.h"
#include "tandem/backend/cpu/halves.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/kernel/fused.h"
#include "tandem/op/network_records.h"
#include "tandem/op/array_records.h"
#include "tandem/op/records.h"

namespace tandem::cpu {
namespace {

KernelList with(KernelList kernels, Kernel reference) {
  kernels.push_back(reference);
  return kernels;
}

KernelList joined(KernelList first, const KernelList& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

void add_loops(KernelTable& table) {
  for (const OpDef* op : op_list())
    if (op->scalar)
      table.set(*op, with(op->name.starts_with("logical_") ? logical_kernels() : elementwise_kernels(),
                          reference_elementwise()));
  table.set(fused_elementwise_op, elementwise_kernels());
  table.set(fused_reduction_op, reduction_kernels());
  for (const OpDef* op : {&reduce_sum_op, &reduce_mean_op, &reduce_max_op, &reduce_min_op, &reduce_prod_op,
                          &reduce_any_op, &reduce_all_op})
    table.set(*op, with(op == &reduce_mean_op ? mean_kernels() : reduction_kernels(), reference_reduction()));
  for (const OpDef* op : {&softmax_op, &log_softmax_op})
    table.set(*op, with(joined(softmax_kernels(), softmax_column_kernels()), reference_softmax()));
  for (const OpDef* op : {&softmax_grad_op, &log_softmax_grad_op})
    table.set(*op, with(joined(softmax_grad_kernels(), softmax_column_kernels()), reference_softmax()));
  for (const OpDef* op : {&sparse_softmax_cross_entropy_op, &sparse_softmax_cross_entropy_grad_op,
                          &softmax_cross_entropy_op, &softmax_cross_entropy_grad_op})
    table.set(*op, with(softmax_kernels(), reference_softmax()));
  for (const OpDef* op : {&random_normal_op, &random_uniform_op}) table.set(*op, random_kernels());
  for (const OpDef* op : {&fill_op, &range_op}) table.set(*op, creation_kernels());
}

}  // namespace

KernelTable kernel_table() {
  KernelTable table;
  add_loops(table);
  add_array_kernels(table);
  add_linalg_kernels(table);
  table.set(matmul_op, with(matmul_kernels(), reference_matmul()));
  table.set(fused_matmul_op, fused_matmul_kernels());
  table.set(fused_conv2d_op, fused_conv2d_kernels());
  table.set(conv2d_op, with(with_halves<conv2d_kernels>(), reference_conv2d()));
  table.set(conv2d_backprop_input_op,
            with(with_halves<conv2d_backprop_input_kernels>(), reference_conv2d_backprop_input()));
  table.set(conv2d_backprop_filter_op,
            with(with_halves<conv2d_backprop_filter_kernels>(), reference_conv2d_backprop_filter()));
  table.set(max_pool2d_op, with(max_pool2d_kernels(), reference_max_pool2d()));
  table.set(max_pool2d_grad_op, with(max_pool2d_grad_kernels(), reference_max_pool2d_grad()));
  table.set(max_pool_with_argmax_op, with(max_pool_with_argmax_kernels(), reference_max_pool_with_argmax()));
  table.set(avg_pool2d_op, with(avg_pool2d_kernels(), reference_avg_pool2d()));
  table.set(avg_pool2d_grad_op, with(avg_pool2d_grad_kernels(), reference_avg_pool2d_grad()));
  table.set(batch_normalization_training_op,
            with(with_halves<batch_normalization_training_kernels>(), reference_normalization()));
  table.set(batch_normalization_grad_op,
            with(with_halves<batch_normalization_grad_kernels>(), reference_normalization()));
  table.set(layer_normalization_op, with(with_halves<layer_normalization_kernels>(), reference_normalization()));
  table.set(layer_normalization_grad_op,
            with(with_halves<layer_normalization_grad_kernels>(), reference_normalization()));
  table.set(dot_product_attention_op, with(with_halves<dot_product_attention_kernels>(), reference_attention()));
  table.set(dot_product_attention_grad_op,
            with(with_halves<dot_product_attention_grad_kernels>(), reference_attention()));
  for (const OpDef* op : {&lstm_op, &gru_op, &simple_rnn_op})
    table.set(*op, with(with_halves<recurrent_kernels>(), reference_recurrent()));
  for (const OpDef* op : {&lstm_grad_op, &gru_grad_op, &simple_rnn_grad_op})
    table.set(*op, with(with_halves<recurrent_grad_kernels>(), reference_recurrent()));
  for (const OpDef* op : {&resize_bilinear_op, &resize_bilinear_grad_op})
    table.set(*op, with(with_halves<resizing_kernels>(), reference_resizing()));
  table.set(argmax_op, with(argmax_kernels(), reference_argmax()));
  table.set(transpose_op, with(transpose_kernels(), reference_transpose()));
  table.set(concat_op, with(concat_kernels(), reference_concat()));
  table.set(slice_op, with(slice_kernels(), reference_slice()));
  table.set(gather_op, with(gather_kernels(), reference_gather()));
  table.set(gather_grad_op, with(with_halves<gather_grad_kernels>(), reference_gather_grad()));
  table.set(one_hot_op, with(one_hot_kernels(), reference_one_hot()));
  table.set(pad_op, with(pad_kernels(), reference_pad()));
  for (const OpDef* op : kMovingFamily) table.set(*op, with(moving_kernels(), reference_moving()));
  table.set(broadcast_to_op, with(broadcast_to_kernels(), reference_broadcast_to()));
  return table;
}

}  // namespace tandem::cpu
