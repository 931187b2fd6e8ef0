// The one list of the OpenCL kernels. An op that is not in it runs on the CPU.
#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/kernel/fused.h"
#include "tandem/op/array_records.h"
#include "tandem/op/linalg_records.h"
#include "tandem/op/network_records.h"
#include "tandem/op/records.h"

namespace tandem::opencl {

KernelTable kernel_table() {
  KernelTable table;
  add_array_kernels(table);
  for (const OpDef* op : linalg_ops())
    table.set(
        *op,
        {{.name = "none", .supports = [](const KernelCall&) {
            return no(
                "factorisations go step after step and are done by LAPACK on the CPU; there is no LAPACK for OpenCL");
          }}});
  for (const OpDef* op : op_list())
    if (op->scalar) table.set(*op, elementwise_kernels());
  table.set(fused_elementwise_op, elementwise_kernels());
  table.set(fused_reduction_op, reduction_kernels());
  for (const OpDef* op : {&reduce_sum_op, &reduce_mean_op, &reduce_max_op}) table.set(*op, reduction_kernels());
  for (const OpDef* op : {&softmax_op, &log_softmax_op}) table.set(*op, softmax_kernels());
  for (const OpDef* op : {&softmax_grad_op, &log_softmax_grad_op}) table.set(*op, softmax_grad_kernels());
  for (const OpDef* op : {&sparse_softmax_cross_entropy_op, &sparse_softmax_cross_entropy_grad_op,
                          &softmax_cross_entropy_op, &softmax_cross_entropy_grad_op})
    table.set(*op, cross_entropy_kernels());
  for (const OpDef* op : {&random_normal_op, &random_uniform_op}) table.set(*op, random_kernels());
  table.set(argmax_op, argmax_kernels());
  table.set(matmul_op, matmul_kernels());
  table.set(fused_matmul_op, fused_matmul_kernels());
  table.set(fused_conv2d_op, fused_conv2d_kernels());
  table.set(conv2d_op, conv2d_kernels());
  table.set(conv2d_backprop_input_op, conv2d_backprop_input_kernels());
  table.set(conv2d_backprop_filter_op, conv2d_backprop_filter_kernels());
  table.set(max_pool2d_op, max_pool2d_kernels());
  table.set(max_pool2d_grad_op, max_pool2d_grad_kernels());
  table.set(max_pool_with_argmax_op, max_pool_with_argmax_kernels());
  table.set(avg_pool2d_op, avg_pool2d_kernels());
  table.set(avg_pool2d_grad_op, avg_pool2d_grad_kernels());
  table.set(batch_normalization_training_op, batch_normalization_training_kernels());
  table.set(batch_normalization_grad_op, batch_normalization_grad_kernels());
  table.set(layer_normalization_op, layer_normalization_kernels());
  table.set(layer_normalization_grad_op, layer_normalization_grad_kernels());
  table.set(dot_product_attention_op, dot_product_attention_kernels());
  table.set(dot_product_attention_grad_op, dot_product_attention_grad_kernels());
  for (const OpDef* op : {&lstm_op, &gru_op, &simple_rnn_op}) table.set(*op, recurrent_kernels());
  for (const OpDef* op : {&lstm_grad_op, &gru_grad_op, &simple_rnn_grad_op}) table.set(*op, recurrent_grad_kernels());
  for (const OpDef* op : {&resize_bilinear_op, &resize_bilinear_grad_op}) table.set(*op, resizing_kernels());
  table.set(transpose_op, transpose_kernels());
  table.set(concat_op, concat_kernels());
  table.set(slice_op, slice_kernels());
  table.set(pad_op, pad_kernels());
  for (const OpDef* op : kMovingFamily) table.set(*op, moving_kernels());
  table.set(broadcast_to_op, broadcast_to_kernels());
  table.set(gather_op, gather_kernels());
  table.set(gather_grad_op, gather_grad_kernels());
  table.set(one_hot_op, one_hot_kernels());
  table.set(fill_op, fill_kernels());
  table.set(range_op, range_kernels());
  return table;
}

}  // namespace tandem::opencl
