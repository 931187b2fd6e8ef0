// Losses and metrics with their arguments, as Keras' files have them.
#pragma once
#include <optional>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/losses.h"
#include "tandem/nn/metrics.h"

namespace tandem {

/// Nothing for a loss, a metric or an argument that is not known here.
std::optional<LossConfig> loss_from_json(const Json& json);
std::optional<MetricConfig> metric_from_json(const Json& json);
/// A name where there are no arguments, else an object.
Json loss_json(const LossConfig& loss);
Json metric_json(const MetricConfig& metric);

}  // namespace tandem
