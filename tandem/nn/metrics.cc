#include "tandem/nn/metrics.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tandem/base/nearest.h"
#include "tandem/autodiff/function.h"
#include "tandem/dist/replica.h"
#include "tandem/op/keras_epsilon.h"
#include "tandem/nn/layer_config.h"
#include "tandem/nn/metric_records.h"
#include "tandem/op/open_size.h"
#include "tandem/op/arrays.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/elementwise.h"

namespace tandem {

Tensor as_numbers(const Tensor& values) { return values.dtype() == DType::f32 ? values : cast(values, DType::f32); }
Tensor row_weights(const Tensor& weights) {
  return weights.defined() ? as_numbers(reshape(weights, Ints{-1})) : weights;
}

namespace {

using Values = Tensor (*)(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments);

Tensor same(const Tensor& y_true, const Prediction& prediction, const MetricArguments&) {
  const LossPair pair = fitted(y_true, prediction.probabilities());
  return as_numbers(equal(pair.y_true, pair.y_pred));
}

Tensor binary_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments) {
  const LossPair pair = fitted(y_true, prediction.probabilities());
  return as_numbers(
      equal(pair.y_true, cast(greater(pair.y_pred, arguments.threshold.value_or(0.5)), pair.y_pred.dtype())));
}

// The largest logit is that of the largest probability.
Tensor guess(const Prediction& prediction) { return argmax(prediction.value, -1, DType::i32); }

Tensor categorical_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments&) {
  return as_numbers(equal(argmax(y_true, -1, DType::i32), guess(prediction)));
}

Tensor sparse_categorical_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments&) {
  const Tensor labels = class_numbers(y_true, prediction.value);
  return as_numbers(equal(cast(labels, DType::i32), guess(prediction)));
}

/// The accuracy that fits the shapes.
Tensor fitting_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments) {
  const Tensor& y_pred = prediction.value;
  if (y_pred.shape()[-1] == 1) return binary_accuracy(y_true, prediction, arguments);
  const bool sparse = y_true.rank() < y_pred.rank() || y_true.shape()[-1] == 1;
  return sparse ? sparse_categorical_accuracy(y_true, prediction, arguments)
                : categorical_accuracy(y_true, prediction, arguments);
}

/// Whether the right class is among the k most likely.
Tensor in_top_k(const Tensor& classes, const Tensor& scores, const MetricArguments& arguments) {
  const Tensor best = top_k(scores, std::min(arguments.k.value_or(5), scores.shape()[-1])).indices;
  const Tensor hits = equal(cast(best, DType::i32), expand_dims(cast(classes, DType::i32), -1));
  return as_numbers(reduce_any(hits, {-1}));
}
Tensor top_k_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments) {
  return in_top_k(argmax(y_true, -1), prediction.value, arguments);
}
Tensor sparse_top_k_accuracy(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments) {
  return in_top_k(class_numbers(y_true, prediction.value), prediction.value, arguments);
}

/// The larger the more alike, unlike the loss.
Tensor cosine_similarity(const Tensor& y_true, const Prediction& prediction, const MetricArguments& arguments) {
  return -find_loss("cosine_similarity").values(y_true, prediction.probabilities(), arguments.loss).values;
}

/// How far both go up and down together within a sample.
Tensor pearson_correlation(const Tensor& y_true, const Prediction& prediction, const MetricArguments&) {
  const LossPair pair = fitted(y_true, as_numbers(prediction.probabilities()));
  const auto standard = [](const Tensor& x) { return (x - reduce_mean(x, {-1}, true)) / reduce_std(x, {-1}, true); };
  return reduce_mean(standard(pair.y_true) * standard(pair.y_pred), {-1});
}

/// The same, less where means or sizes differ. As in Keras both are compared with the mean of the predictions.
Tensor concordance_correlation(const Tensor& y_true, const Prediction& prediction, const MetricArguments&) {
  const LossPair pair = fitted(y_true, as_numbers(prediction.probabilities()));
  const Tensor mean = reduce_mean(pair.y_pred, {-1}, true), difference = reduce_mean(pair.y_true, {-1}, true) - mean;
  const Tensor spread =
      reduce_variance(pair.y_true, {-1}, true) + reduce_variance(pair.y_pred, {-1}, true) + square(difference);
  return reduce_mean(2.0 * (pair.y_true - mean) * (pair.y_pred - mean) / (spread + kKerasEpsilon), {-1});
}

struct MeanRecord {
  std::string_view name, class_name, alias;
  Values values;
};
constexpr MeanRecord kMeans[] = {
    {"accuracy", "Accuracy", "acc", fitting_accuracy},
    {"binary_accuracy", "BinaryAccuracy", "", binary_accuracy},
    {"categorical_accuracy", "CategoricalAccuracy", "", categorical_accuracy},
    {"sparse_categorical_accuracy", "SparseCategoricalAccuracy", "", sparse_categorical_accuracy},
    {"top_k_categorical_accuracy", "TopKCategoricalAccuracy", "", top_k_accuracy},
    {"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy", "", sparse_top_k_accuracy},
    {"cosine_similarity", "CosineSimilarity", "", cosine_similarity},
    {"pearson_correlation", "PearsonCorrelation", "", pearson_correlation},
    {"concordance_correlation", "ConcordanceCorrelation", "", concordance_correlation},
};

/// The mean of one value an element.
class MeanOfValues final : public Metric {
 public:
  using Function = std::function<Tensor(const Tensor&, const Prediction&)>;
  MeanOfValues(std::string name, Function values) : Metric(std::move(name)), values_(std::move(values)) {}

  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const Tensor values = as_numbers(values_(y_true, prediction));
    if (!weights.defined()) {
      sum("total").assign_add(reduce_sum(values));
      sum("count").assign_add(Tensor(static_cast<float>(values.size())));
      return;
    }
    const Tensor counts = weights_for(values, weights);
    sum("total").assign_add(reduce_sum(values * counts));
    sum("count").assign_add(reduce_sum(broadcast_to(counts, values.shape())));
  }
  Tensor value() const override { return divide_no_nan(total("total"), total("count")); }

 private:
  Function values_;
};

MetricRef mean_of(std::string name, Values values, const MetricArguments& arguments) {
  return std::make_unique<MeanOfValues>(std::move(name), [=](const Tensor& y_true, const Prediction& prediction) {
    return values(y_true, prediction, arguments);
  });
}

MetricRef mean_of_loss(std::string name, const LossRecord& loss, const LossArguments& arguments) {
  return std::make_unique<MeanOfValues>(
      std::move(name), [&loss, arguments](const Tensor& y_true, const Prediction& prediction) {
        const bool logits = !prediction.activation.empty() && prediction.activation == loss.activation;
        LossArguments now = arguments;
        now.from_logits = logits || arguments.from_logits;
        return loss.values(y_true, logits ? prediction.value : prediction.probabilities(), now).values;
      });
}

/// The loss of a metric's name: LogCoshError is the only one whose class is called otherwise.
const LossRecord* loss_of_metric(std::string_view name) {
  return look_up_loss(name == "LogCoshError" ? "log_cosh" : name);
}

template <class Record>
bool is_called(const Record& record, std::string_view name) {
  return name == record.name || name == record.class_name;
}

std::vector<MetricRecord> stateful_metrics() {
  std::vector<MetricRecord> all;
  for (const auto family : {confusion_metrics(), score_metrics()}) all.insert(all.end(), family.begin(), family.end());
  return all;
}

MetricRef made(const MetricConfig& config) {
  if (config.maker) {
    MetricRef metric = config.maker();
    metric->rename(config.name);
    return metric;
  }
  const MetricArguments arguments = config.arguments.value_or(MetricArguments{});
  // By name the accuracy that fits the shapes is meant; Keras' class Accuracy compares numbers.
  if (config.name == "Accuracy" && config.arguments) return mean_of("accuracy", same, arguments);
  for (const MeanRecord& record : kMeans)
    if (is_called(record, config.name) || (!record.alias.empty() && record.alias == config.name))
      return mean_of(std::string(record.name), record.values, arguments);
  for (const MetricRecord& record : stateful_metrics())
    if (is_called(record, config.name)) {
      MetricRef metric = record.make(arguments);
      metric->rename(std::string(record.name));
      return metric;
    }
  if (const LossRecord* loss = loss_of_metric(config.name))
    return mean_of_loss(std::string(loss->name == "log_cosh" ? "logcosh" : loss->name), *loss, arguments.loss);
  std::vector<std::string_view> known;
  for (const MeanRecord& record : kMeans) known.push_back(record.name);
  for (const MetricRecord& record : stateful_metrics()) known.push_back(record.name);
  fail(ErrorCode::invalid_argument, "unknown metric '", config.name, "'", nearest_hint(config.name, known),
       "; the known ones are ", join(known), " and the losses");
}

}  // namespace

std::string_view metric_class(std::string_view name) {
  for (const MeanRecord& record : kMeans)
    if (is_called(record, name)) return record.class_name;
  for (const MetricRecord& record : stateful_metrics())
    if (is_called(record, name)) return record.class_name;
  const LossRecord* loss = loss_of_metric(name);
  return !loss ? std::string_view() : loss->name == "log_cosh" ? "LogCoshError" : loss->class_name;
}

MetricConfig MetricConfig::made_by(std::string name, std::function<MetricRef()> maker) {
  MetricConfig config(std::move(name));
  config.maker = std::move(maker);
  return config;
}

MetricConfig MetricConfig::mean_of(std::string name, LossFunction values) {
  return made_by(name, [name, values = std::move(values)]() -> MetricRef {
    return std::make_unique<MeanOfValues>(name, [values](const Tensor& y_true, const Prediction& prediction) {
      return values(y_true, prediction.probabilities());
    });
  });
}

MetricRef make_metric(const MetricConfig& config) {
  MetricRef metric = made(config);
  if (config.arguments && !config.arguments->name.empty()) metric->rename(config.arguments->name);
  else if (!config.arguments && config.name != "acc") metric->rename(config.name);
  return metric;
}

double Metric::result() const {
  const Tensor now = value();
  return (now.rank() == 0 ? now : reduce_mean(now)).item<double>();
}

void Metric::reset() const {
  for (const auto& [name, sum] : sums_) sum.assign(zeros(sum.shape()));
}

const Variable& Metric::sum(const char* name, const Shape& shape) {
  const auto found = sums_.find(name);
  if (found != sums_.end()) return found->second;
  InitScope now;  // it outlives the trace that asks for it first
  return sums_.emplace(name, Variable(zeros(shape), false, text(name_, "/", name))).first->second;
}

Tensor Metric::total(const char* name) const {
  const auto found = sums_.find(name);
  return found == sums_.end() ? Tensor(0.0f) : found->second.value();
}

Tensor Prediction::probabilities() const {
  if (activation == "softmax") return softmax(value);
  if (activation == "sigmoid") return sigmoid(value);
  return value;
}

void Mean::add(const Tensor& mean, std::int64_t count) const {
  std::optional<DeviceScope> at_home;  // replicas share it
  if (const ReplicaContext* replica = get_replica_context(); replica && replica->group)
    at_home.emplace(replica->group->home);
  const Tensor number = ratio_of_sizes(count, 1, DType::f32);
  total_.assign_add(cast(mean, DType::f32) * number);
  count_.assign_add(number);
}

double Mean::result() const { return total_.value().item<double>() / count_.value().item<double>(); }

void Mean::reset() const {
  total_.assign(Tensor(0.0f));
  count_.assign(Tensor(0.0f));
}

}  // namespace tandem
