// How the metrics of Keras are listed: a record a class, a list a family.
#pragma once
#include <span>

#include "tandem/nn/metrics.h"

namespace tandem {

struct MetricRecord {
  std::string_view name, class_name;  // "true_positives", "TruePositives"
  MetricRef (*make)(const MetricArguments& arguments);
};
std::span<const MetricRecord> confusion_metrics();
std::span<const MetricRecord> score_metrics();

/// What both families count with: predictions as f32, and a weight each, ones if there are none.
Tensor as_numbers(const Tensor& values);
/// One weight a row, as numbers; undefined if `weights` is.
Tensor row_weights(const Tensor& weights);

}  // namespace tandem
