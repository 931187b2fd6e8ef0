// Records of scans, segments, strides, scatters and sorts, for their kernels.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

extern const OpDef reduce_min_op, reduce_prod_op, reduce_any_op, reduce_all_op, argmin_op;
extern const OpDef cumsum_op, cumprod_op;
extern const OpDef unsorted_segment_sum_op, unsorted_segment_prod_op, unsorted_segment_max_op, unsorted_segment_min_op;
extern const OpDef strided_slice_op, strided_slice_grad_op;
extern const OpDef gather_nd_op, scatter_nd_op, tensor_scatter_nd_update_op, tensor_scatter_nd_add_op,
    tensor_scatter_nd_sub_op, tensor_scatter_nd_min_op, tensor_scatter_nd_max_op, where_indices_op;
extern const OpDef roll_op, mirror_pad_op;
extern const OpDef sort_op, argsort_op, top_k_op, searchsorted_op;

// Families whose ops share their kernels, on every device.
inline constexpr const OpDef* kScanFamily[] = {&cumsum_op, &cumprod_op};
inline constexpr const OpDef* kSegmentFamily[] = {&unsorted_segment_sum_op, &unsorted_segment_prod_op,
                                                  &unsorted_segment_max_op, &unsorted_segment_min_op};
inline constexpr const OpDef* kScatterFamily[] = {&scatter_nd_op,
                                                  &tensor_scatter_nd_update_op,
                                                  &tensor_scatter_nd_add_op,
                                                  &tensor_scatter_nd_sub_op,
                                                  &tensor_scatter_nd_min_op,
                                                  &tensor_scatter_nd_max_op};
inline constexpr const OpDef* kMovingFamily[] = {&roll_op, &mirror_pad_op};
inline constexpr const OpDef* kSortingFamily[] = {&sort_op, &argsort_op, &top_k_op};

}  // namespace tandem
