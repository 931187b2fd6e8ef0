// What models are trained to make small: Keras' losses by name.
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// Targets and predictions in, one value a sample (or a row of a sample) out.
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

struct LossRecord {
  std::string_view name, alias, class_name;  // "mean_squared_error", "mse", "MeanSquaredError"
  /// The activation that the loss can do without: fed with what goes into it, it is more exact and cheaper.
  std::string_view activation;
  Tensor (*values)(const Tensor& y_true, const Tensor& y_pred, bool from_logits);
};

std::span<const LossRecord> known_losses();
/// By name, alias or class; null when there is none.
const LossRecord* look_up_loss(std::string_view name);
/// Throws for an unknown one, naming those there are.
const LossRecord& find_loss(std::string_view name);

/// Targets in the dtype and rank of the predictions: a last axis of size 1 may be missing on either side.
struct LossPair {
  Tensor y_true, y_pred;
};
LossPair fitted(const Tensor& y_true, const Tensor& y_pred);
/// Class numbers [...] for predictions [..., classes]: as integers, without a last axis of size 1.
Tensor class_numbers(const Tensor& y_true, const Tensor& y_pred);

}  // namespace tandem
