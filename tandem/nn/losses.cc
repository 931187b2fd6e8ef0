#include "tandem/nn/losses.h"

#include <vector>

#include "tandem/base/error.h"
#include "tandem/op/losses.h"

namespace tandem {
namespace {

template <auto kLoss>
Tensor of_numbers(const Tensor& y_true, const Tensor& y_pred, bool) {
  const LossPair pair = fitted(y_true, y_pred);
  return kLoss(pair.y_true, pair.y_pred);
}

Tensor huber_of_one(const Tensor& y_true, const Tensor& y_pred) { return losses::huber(y_true, y_pred); }

template <auto kLoss>
Tensor of_probabilities(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  const LossPair pair = fitted(y_true, y_pred);
  return kLoss(pair.y_true, pair.y_pred, from_logits);
}

Tensor of_classes(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  return losses::sparse_categorical_crossentropy(class_numbers(y_true, y_pred), y_pred, from_logits);
}

constexpr LossRecord kLosses[] = {
    {"mean_squared_error", "mse", "MeanSquaredError", "", of_numbers<losses::mean_squared_error>},
    {"mean_absolute_error", "mae", "MeanAbsoluteError", "", of_numbers<losses::mean_absolute_error>},
    {"mean_absolute_percentage_error", "mape", "MeanAbsolutePercentageError", "", of_numbers<losses::mean_absolute_percentage_error>},
    {"mean_squared_logarithmic_error", "msle", "MeanSquaredLogarithmicError", "", of_numbers<losses::mean_squared_logarithmic_error>},
    {"huber", "Huber", "Huber", "", of_numbers<huber_of_one>},
    {"log_cosh", "logcosh", "LogCosh", "", of_numbers<losses::log_cosh>},
    {"poisson", "Poisson", "Poisson", "", of_numbers<losses::poisson>},
    {"kl_divergence", "kld", "KLDivergence", "", of_numbers<losses::kl_divergence>},
    {"hinge", "Hinge", "Hinge", "", of_numbers<losses::hinge>},
    {"squared_hinge", "SquaredHinge", "SquaredHinge", "", of_numbers<losses::squared_hinge>},
    {"categorical_hinge", "CategoricalHinge", "CategoricalHinge", "", of_numbers<losses::categorical_hinge>},
    {"cosine_similarity", "cosine_proximity", "CosineSimilarity", "", of_numbers<losses::cosine_similarity>},
    {"binary_crossentropy", "bce", "BinaryCrossentropy", "sigmoid", of_probabilities<losses::binary_crossentropy>},
    {"categorical_crossentropy", "CategoricalCrossentropy", "CategoricalCrossentropy", "softmax", of_probabilities<losses::categorical_crossentropy>},
    {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", "SparseCategoricalCrossentropy", "softmax", of_classes},
};

}  // namespace

std::span<const LossRecord> known_losses() { return kLosses; }

const LossRecord* look_up_loss(std::string_view name) {
  for (const LossRecord& loss : kLosses)
    if (name == loss.name || name == loss.alias || name == loss.class_name) return &loss;
  return nullptr;
}

const LossRecord& find_loss(std::string_view name) {
  if (const LossRecord* loss = look_up_loss(name)) return *loss;
  std::vector<std::string_view> known;
  for (const LossRecord& loss : kLosses) known.push_back(loss.name);
  fail(ErrorCode::invalid_argument, "unknown loss '", name, "'; the known ones are ", join(known));
}

LossPair fitted(const Tensor& y_true, const Tensor& y_pred) {
  LossPair pair{y_true.dtype() == y_pred.dtype() ? y_true : cast(y_true, y_pred.dtype()), y_pred};
  const auto give_or_take_axis = [](Tensor& with, Tensor& without) {
    if (without.rank() == 1) without = expand_dims(without, -1);
    else with = squeeze(with, {-1});
  };
  if (pair.y_true.rank() == pair.y_pred.rank() + 1 && pair.y_true.shape()[-1] == 1) give_or_take_axis(pair.y_true, pair.y_pred);
  else if (pair.y_pred.rank() == pair.y_true.rank() + 1 && pair.y_pred.shape()[-1] == 1) give_or_take_axis(pair.y_pred, pair.y_true);
  if (pair.y_true.shape() != pair.y_pred.shape())
    fail(ErrorCode::shape_mismatch, "the targets have shape ", y_true.shape(), ", but the model gives ", y_pred.shape());
  return pair;
}

Tensor class_numbers(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor labels = y_true.rank() == y_pred.rank() && y_true.shape()[-1] == 1 ? squeeze(y_true, {-1}) : y_true;
  if (labels.rank() != y_pred.rank() - 1)
    fail(ErrorCode::shape_mismatch, "the targets have shape ", y_true.shape(), ", but class numbers for predictions of shape ", y_pred.shape(), " have one axis less");
  return labels.dtype() == DType::i32 || labels.dtype() == DType::i64 ? labels : cast(labels, DType::i64);
}

}  // namespace tandem
