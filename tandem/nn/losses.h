// What models are trained to make small: Keras' losses by name, with its arguments.
//
//   model.compile({.loss = "mse"});
//   model.compile({.loss = {"Huber", {.delta = 0.3}}});
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tandem/op/ops.h"

namespace tandem {

/// Keras' arguments; each loss reads those it has. None: Keras' default.
struct LossArguments {
  std::string reduction = "sum_over_batch_size";  // or "mean", "sum", "mean_with_sample_weight"
  bool from_logits = false;
  double label_smoothing = 0;
  std::optional<std::int64_t> ignore_class = {};  // of SparseCategoricalCrossentropy: these targets do not count
  Ints axis = {};                                 // of CosineSimilarity, Dice, Tversky
  std::optional<double> delta = {};               // Huber
  std::optional<double> alpha = {}, beta = {};    // focal cross entropies, Tversky
  std::optional<double> gamma = {}, margin = {};  // focal cross entropies, Circle
  std::optional<double> q = {};                   // CategoricalGeneralizedCrossEntropy
  bool apply_class_balancing = false;             // BinaryFocalCrossentropy
  bool remove_diagonal = true;                    // Circle
};

/// Targets and predictions in, one value a sample (or a row of a sample) out.
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

/// A loss by name, alias or class, with its arguments; or a function of one's own.
struct LossConfig {
  LossConfig() = default;
  template <std::invocable<const Tensor&, const Tensor&> F>
  LossConfig(F own) : function(std::move(own)) {}  // NOLINT: a function is one
  LossConfig(const char* name, LossArguments arguments = {})
      : name(name),
        arguments(std::move(arguments)) {}             // NOLINT: a name is one
  LossConfig(std::string name, LossArguments arguments = {})
      : name(std::move(name)),
        arguments(std::move(arguments)) {}  // NOLINT
  std::string name;
  LossArguments arguments;
  LossFunction function = {};
};

/// The same with which of the values count; the mask is undefined where all do.
struct LossValues {
  Tensor values, mask = {};
};

struct LossRecord {
  std::string_view name, alias, class_name;  // "mean_squared_error", "mse", "MeanSquaredError"
  /// The activation that the loss can do without: fed with what goes into it, it is more exact and cheaper.
  std::string_view activation;
  LossValues (*values)(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments);
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
/// Labels [batch, labels], 0 for none, and logits [batch, steps, classes], class 0 the blank: one loss a sample.
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);
/// One weight a sample, shaped so that it goes with `values`, of which a sample may have several.
Tensor weights_for(const Tensor& values, const Tensor& weights);

/// One number from the values of a batch, by Keras' rules; weights and mask may be undefined. `all` is the number of
/// rows of the whole batch, of which the values may be a part.
Tensor reduced(const LossValues& losses, const Tensor& weights, const Tensor& mask, std::string_view reduction,
               std::int64_t rows, std::int64_t all);

}  // namespace tandem
