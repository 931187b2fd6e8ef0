// The losses of Keras, by its names and numerics: targets [..., n] and predictions [..., n], one loss a row.
#pragma once
#include "tandem/op/ops.h"

namespace tandem {

/// max(x, 0) - x * z + log(1 + exp(-|x|)) for labels z and logits x, elementwise.
Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);

namespace losses {

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta = 1);
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);
Tensor hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);
/// -1: the same direction; 1: the opposite.
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred);
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false);
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false);
/// y_true: class numbers (i32 or i64).
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false);

}  // namespace losses
}  // namespace tandem
