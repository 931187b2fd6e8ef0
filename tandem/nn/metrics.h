// What is watched while a model learns: Keras' metrics by name, with its arguments. A metric adds up in variables, so
// that it is part of the plan of a step and is read only when it is shown.
//
//   model.compile({.loss = "mse", .metrics = {"mae", {"AUC", {.curve = "PR"}}}});
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/nn/losses.h"

namespace tandem {

/// Keras' arguments; each metric reads those it has. None: Keras' default.
struct MetricArguments {
  std::string name = {};
  std::optional<double> threshold = {}, beta = {};            // BinaryAccuracy, BinaryIoU, F scores
  std::vector<double> thresholds = {};                        // counts, Precision, Recall, AUC
  std::optional<std::int64_t> num_thresholds = {};            // AUC, one rate at a value of another
  std::optional<std::int64_t> top_k = {}, class_id = {};      // Precision, Recall
  std::optional<std::int64_t> k = {};                         // top k accuracies
  std::string curve = {}, summation_method = {};  // AUC: "ROC", "PR", "PRGAIN"; "interpolation", "minoring", "majoring"
  bool multi_label = false;  // AUC
  std::optional<std::int64_t> num_labels = {};
  std::vector<double> label_weights = {};
  std::optional<double> precision = {}, recall = {}, sensitivity = {},
                        specificity = {};  // PrecisionAtRecall and its kin
  std::string average = {};  // F scores: "micro", "macro", "weighted"
  std::optional<std::int64_t> num_classes = {};  // IoU
  Ints target_class_ids = {};
  std::optional<bool> sparse_y_true = {}, sparse_y_pred = {};
  std::optional<std::string> class_aggregation = {};  // R2Score: "" for a value a column
  std::optional<std::int64_t> num_regressors = {};
  LossArguments loss = {};  // of those that are losses, and from_logits of AUC
};

class Metric;
using MetricRef = std::unique_ptr<Metric>;

/// A metric by name or class, with its arguments.
struct MetricConfig {
  /// One's own: the mean of a function's values, or whatever `maker` makes.
  static MetricConfig mean_of(std::string name, LossFunction values);
  static MetricConfig made_by(std::string name, std::function<MetricRef()> maker);
  MetricConfig(const char* name) : name(name) {}  // NOLINT: a name is one
  MetricConfig(std::string name) : name(std::move(name)) {}  // NOLINT
  MetricConfig(std::string name, MetricArguments arguments) : name(std::move(name)), arguments(std::move(arguments)) {}
  std::string name;
  std::optional<MetricArguments> arguments = {};  // none: by name alone
  std::function<MetricRef()> maker = {};
};

/// What a model gave for a batch: with `activation` ("softmax", "sigmoid") when that was left out for the loss.
struct Prediction {
  Tensor value;
  std::string_view activation;  // empty: `value` is what the model gives

  Tensor probabilities() const;
};

class Metric {
 public:
  explicit Metric(std::string name) : name_(std::move(name)) {}
  virtual ~Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  const std::string& name() const { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  /// Adds a batch, eagerly or in a trace; `weights`, one a sample, may be undefined.
  virtual void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) = 0;
  /// Of all that was seen since reset(); some have a value a class.
  virtual Tensor value() const = 0;
  /// One number: the mean, where there are several.
  double result() const;
  void reset() const;

 protected:
  /// A sum that begins at zero; made when it is asked for first.
  const Variable& sum(const char* name, const Shape& shape = {});
  /// Zero if nothing was added yet.
  Tensor total(const char* name) const;

 private:
  std::string name_;
  std::map<std::string, Variable> sums_;
};

/// Throws for an unknown one, naming those there are, and for arguments that do not fit.
MetricRef make_metric(const MetricConfig& config);
/// Keras' name of the class for a name or class; empty when there is none.
std::string_view metric_class(std::string_view name);

/// A mean of means over all that was seen since reset().
class Mean {
 public:
  explicit Mean(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  /// Adds a mean of so many values, eagerly or in a trace.
  void add(const Tensor& mean, std::int64_t count) const;
  double result() const;
  void reset() const;

 private:
  std::string name_;
  Variable total_{Tensor(0.0f), false, "total"}, count_{Tensor(0.0f), false, "count"};
};

}  // namespace tandem
