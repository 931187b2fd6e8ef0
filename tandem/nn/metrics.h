// What is watched while a model learns: Keras' metrics by name. A metric adds up in variables, so that it is part of the
// plan of a step and is read only when it is shown.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "tandem/autodiff/variable.h"

namespace tandem {

/// What a model gave for a batch: with `activation` ("softmax", "sigmoid") when that was left out for the loss.
struct Prediction {
  Tensor value;
  std::string_view activation;  // empty: `value` is what the model gives

  Tensor probabilities() const;
};

/// One value an element, whose mean the metric is.
using MetricFunction = std::function<Tensor(const Tensor& y_true, const Prediction& prediction)>;
/// By Keras' name: "accuracy", "mse", "top_k_categorical_accuracy", any loss. Throws for others, naming the known ones.
MetricFunction find_metric(std::string_view name);

/// A mean over all that was seen since reset().
class Mean {
 public:
  explicit Mean(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  /// Adds values, eagerly or in a trace.
  void add(const Tensor& values) const;
  /// Adds a mean of so many values.
  void add(const Tensor& mean, std::int64_t count) const;
  double result() const;
  void reset() const;

 private:
  std::string name_;
  Variable total_{Tensor(0.0f), false, "total"}, count_{Tensor(0.0f), false, "count"};
};

}  // namespace tandem
