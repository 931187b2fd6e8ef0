#include "tandem/nn/metrics.h"

#include <vector>

#include "tandem/nn/losses.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

Tensor as_numbers(const Tensor& matches) { return cast(matches, DType::f32); }

Tensor binary_accuracy(const Tensor& y_true, const Prediction& prediction) {
  const LossPair pair = fitted(y_true, prediction.probabilities());
  return as_numbers(equal(pair.y_true, cast(greater(pair.y_pred, 0.5), pair.y_pred.dtype())));
}

// The largest logit is that of the largest probability.
Tensor guess(const Prediction& prediction) { return argmax(prediction.value, -1, DType::i32); }

Tensor categorical_accuracy(const Tensor& y_true, const Prediction& prediction) {
  return as_numbers(equal(argmax(y_true, -1, DType::i32), guess(prediction)));
}

Tensor sparse_categorical_accuracy(const Tensor& y_true, const Prediction& prediction) {
  const Tensor labels = class_numbers(y_true, prediction.value);
  return as_numbers(equal(cast(labels, DType::i32), guess(prediction)));
}

/// The accuracy that fits the shapes.
Tensor accuracy(const Tensor& y_true, const Prediction& prediction) {
  const Tensor& y_pred = prediction.value;
  if (y_pred.shape()[-1] == 1) return binary_accuracy(y_true, prediction);
  const bool sparse = y_true.rank() < y_pred.rank() || y_true.shape()[-1] == 1;
  return sparse ? sparse_categorical_accuracy(y_true, prediction) : categorical_accuracy(y_true, prediction);
}

/// Whether the right class is among the five most likely.
Tensor in_top_five(const Tensor& classes, const Tensor& scores) {
  constexpr std::int64_t kMost = 5;
  const Tensor best = top_k(scores, std::min(kMost, scores.shape()[-1])).indices;
  const Tensor hits = equal(cast(best, DType::i32), expand_dims(cast(classes, DType::i32), -1));
  return as_numbers(reduce_any(hits, {-1}));
}
Tensor top_k_categorical_accuracy(const Tensor& y_true, const Prediction& prediction) { return in_top_five(argmax(y_true, -1), prediction.value); }
Tensor sparse_top_k_categorical_accuracy(const Tensor& y_true, const Prediction& prediction) {
  return in_top_five(class_numbers(y_true, prediction.value), prediction.value);
}

struct MetricRecord {
  std::string_view name, alias;
  Tensor (*values)(const Tensor& y_true, const Prediction& prediction);
};
constexpr MetricRecord kMetrics[] = {
    {"accuracy", "acc", accuracy},
    {"binary_accuracy", "BinaryAccuracy", binary_accuracy},
    {"categorical_accuracy", "CategoricalAccuracy", categorical_accuracy},
    {"sparse_categorical_accuracy", "SparseCategoricalAccuracy", sparse_categorical_accuracy},
    {"top_k_categorical_accuracy", "TopKCategoricalAccuracy", top_k_categorical_accuracy},
    {"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy},
};

}  // namespace

Tensor Prediction::probabilities() const {
  if (activation == "softmax") return softmax(value);
  if (activation == "sigmoid") return sigmoid(value);
  return value;
}

MetricFunction find_metric(std::string_view name) {
  for (const MetricRecord& metric : kMetrics)
    if (name == metric.name || name == metric.alias) return metric.values;
  if (const LossRecord* loss = look_up_loss(name))
    return [loss](const Tensor& y_true, const Prediction& prediction) {
      const bool logits = !prediction.activation.empty() && prediction.activation == loss->activation;
      return loss->values(y_true, logits ? prediction.value : prediction.probabilities(), logits);
    };
  std::vector<std::string_view> known;
  for (const MetricRecord& metric : kMetrics) known.push_back(metric.name);
  fail(ErrorCode::invalid_argument, "unknown metric '", name, "'; the known ones are ", join(known), " and the losses");
}

void Mean::add(const Tensor& values) const {
  total_.assign_add(cast(reduce_sum(values), DType::f32));
  count_.assign_add(Tensor(static_cast<float>(values.size())));
}

void Mean::add(const Tensor& mean, std::int64_t count) const {
  const auto number = static_cast<float>(count);
  total_.assign_add(cast(mean, DType::f32) * number);
  count_.assign_add(Tensor(number));
}

double Mean::result() const { return total_.value().item<double>() / count_.value().item<double>(); }

void Mean::reset() const {
  total_.assign(Tensor(0.0f));
  count_.assign(Tensor(0.0f));
}

}  // namespace tandem
