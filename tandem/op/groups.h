// The lists of ops, one a file; op_list() is their sum.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

OpGroup arithmetic_ops();
OpGroup activation_ops();
OpGroup more_activation_ops();
OpGroup rounding_ops();
OpGroup trigonometric_ops();
OpGroup bitwise_ops();
OpGroup comparison_ops();
OpGroup reduction_ops();
OpGroup scan_ops();
OpGroup scatter_ops();
OpGroup moving_ops();
OpGroup sorting_ops();
OpGroup linear_ops();
OpGroup convolution_ops();
OpGroup pooling_ops();
OpGroup loss_ops();
OpGroup shape_ops();
OpGroup selection_ops();
OpGroup creation_ops();
OpGroup training_ops();

}  // namespace tandem
