// Reductions, scans, segments, slices with steps, scatters and sorts; named as TensorFlow names them.
#pragma once
#include "tandem/op/ops.h"

namespace tandem {

// --- Reductions; no axes means all. ---
Tensor reduce_min(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_prod(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_any(const Tensor& x, const Ints& axes = {}, bool keepdims = false);  // of bools
Tensor reduce_all(const Tensor& x, const Ints& axes = {}, bool keepdims = false);  // of bools
Tensor reduce_logsumexp(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_variance(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_std(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_euclidean_norm(const Tensor& x, const Ints& axes = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::int64_t axis = 0, DType output_type = DType::i64);

// --- Running sums and products. ---
struct ScanOptions {
  bool exclusive = false;  // each element without itself
  bool reverse = false;    // from the end
};
Tensor cumsum(const Tensor& x, std::int64_t axis = 0, const ScanOptions& options = {});
Tensor cumprod(const Tensor& x, std::int64_t axis = 0, const ScanOptions& options = {});

// --- Rows of `data` joined by the number of their segment; a negative number drops the row. ---
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor unsorted_segment_prod(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor unsorted_segment_max(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor unsorted_segment_min(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);

// --- Slices and scatters. ---
/// `size` elements an axis, from `begin` on, `strides` apart; strides may be negative.
Tensor strided_slice(const Tensor& x, const Ints& begin, const Ints& size, const Ints& strides);
Tensor reverse(const Tensor& x, const Ints& axes);
/// Elements moved by `shift` places along each of the axes; those that leave at the end come in at the front.
Tensor roll(const Tensor& x, const Ints& shift, const Ints& axes);
/// A margin that is the tensor mirrored at its edge, "reflect" without the edge itself or "symmetric"; `paddings` as in
/// pad.
Tensor mirror_pad(const Tensor& x, const Ints& paddings, std::string_view mode = "reflect");
/// Slices of params along an axis; the first batch_dims axes of params and indices go together.
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis, std::int64_t batch_dims);
/// indices [..., k] name positions in the first k axes.
Tensor gather_nd(const Tensor& params, const Tensor& indices);
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape);
Tensor tensor_scatter_nd_update(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
Tensor tensor_scatter_nd_add(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
Tensor tensor_scatter_nd_sub(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
Tensor tensor_scatter_nd_min(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
Tensor tensor_scatter_nd_max(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
/// The positions [count, rank] at which the condition holds.
Tensor where(const Tensor& condition);
Tensor boolean_mask(const Tensor& tensor, const Tensor& mask);

// --- Order along the last axis; equal values keep theirs, NaN is above all. ---
Tensor sort(const Tensor& values, bool descending = false);
Tensor argsort(const Tensor& values, bool descending = false);
struct TopK {
  Tensor values, indices;
};
TopK top_k(const Tensor& input, std::int64_t k = 1);
/// Where in the rows of `sorted_sequence` each of `values` would stand: before equal ones, or with `right` after them.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool right = false,
                    DType out_type = DType::i32);

}  // namespace tandem
