// Metrics with a formula over sums: F scores, overlap of classes, how much of the variance is explained.
#include <cmath>
#include <numeric>

#include "tandem/op/keras_epsilon.h"
#include "tandem/nn/metric_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

class FScore final : public Metric {
 public:
  FScore(const MetricArguments& a, double beta)
      : Metric(""),
        average_(a.average),
        beta_(beta),
        threshold_(a.threshold) {
    if (!average_.empty() && average_ != "micro" && average_ != "macro" && average_ != "weighted")
      fail(ErrorCode::invalid_argument,
           "F score: average must be 'micro', 'macro' or 'weighted', or empty for a value a class, got '", average_,
           "'");
    if (!(beta > 0)) fail(ErrorCode::invalid_argument, "F score: beta must be positive, got ", beta);
    if (threshold_ && !(*threshold_ > 0 && *threshold_ <= 1))
      fail(ErrorCode::invalid_argument, "F score: threshold must lie in (0, 1], got ", *threshold_);
  }

  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const Tensor scores = as_numbers(prediction.probabilities()), wanted = as_numbers(y_true);
    if (scores.rank() != 2 || wanted.shape() != scores.shape())
      fail(ErrorCode::shape_mismatch, "F score: targets and predictions must be [batch, classes] both, got ",
           wanted.shape(), " and ", scores.shape());
    const Tensor said = as_numbers(
        threshold_ ? greater(scores, *threshold_)
                   : logical_and(greater_equal(scores, reduce_max(scores, {-1}, true)), greater(abs(scores), 1e-9)));
    const auto add = [&](const char* name, const Tensor& values) {
      const Tensor counted = weights.defined() ? values * weights_for(values, weights) : values;
      const Tensor summed = average_ == "micro" ? reduce_sum(counted) : reduce_sum(counted, {0});
      sum(name, summed.shape()).assign_add(summed);
    };
    add("true_positives", said * wanted);
    add("false_positives", said * (1.0 - wanted));
    add("false_negatives", (1.0 - said) * wanted);
    add("weights", wanted);
  }

  Tensor value() const override {
    const Tensor hits = total("true_positives");
    const Tensor precision = hits / (hits + total("false_positives") + kKerasEpsilon),
                 recall = hits / (hits + total("false_negatives") + kKerasEpsilon);
    const double square_beta = beta_ * beta_;
    const Tensor score = precision * recall / (square_beta * precision + recall + kKerasEpsilon) * (1 + square_beta);
    if (average_ == "weighted")
      return reduce_sum(score * (total("weights") / (reduce_sum(total("weights")) + kKerasEpsilon)));
    return average_.empty() ? score : reduce_mean(score);
  }

 private:
  std::string average_;
  double beta_;
  std::optional<double> threshold_;
};

/// Of what is of a class or said to be, how much is both; the mean of some classes.
class Overlap final : public Metric {
 public:
  struct Options {
    std::int64_t classes;
    Ints wanted;  // the classes that count
    bool numbers_true, numbers_pred;
    std::optional<std::int64_t> ignored = {};
    std::optional<double> threshold = {};  // of predictions that are the probability of class 1
  };
  explicit Overlap(Options options) : Metric(""), options_(std::move(options)) {
    if (options_.classes < 1) fail(ErrorCode::invalid_argument, "IoU: num_classes is needed and must be positive");
    if (options_.wanted.empty()) fail(ErrorCode::invalid_argument, "IoU: target_class_ids are needed");
    for (const std::int64_t id : options_.wanted)
      if (id < 0 || id >= options_.classes)
        fail(ErrorCode::invalid_argument, "IoU: target class ", id, " is not in [0, ", options_.classes, ")");
  }

  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const auto flat = [](const Tensor& x, bool numbers) {
      return reshape(cast(numbers ? x : argmax(x, -1), DType::i32), Ints{-1});
    };
    const Tensor given = options_.threshold ? cast(greater_equal(as_numbers(prediction.probabilities()),
                                                                 Tensor(static_cast<float>(*options_.threshold))),
                                                   DType::i32)
                                            : prediction.value;
    const Tensor is = flat(y_true, options_.numbers_true), said = flat(given, options_.numbers_pred);
    // Numbers out of range have a row of zeros, and so count nowhere.
    Tensor rows = one_hot(is, options_.classes);
    if (options_.ignored) rows = rows * as_numbers(expand_dims(not_equal(is, number_like(is, *options_.ignored)), -1));
    if (weights.defined()) rows = rows * expand_dims(row_weights(weights), -1);
    sum("confusion", {options_.classes, options_.classes})
        .assign_add(matmul(rows, one_hot(said, options_.classes), true));
  }

  Tensor value() const override {
    const Tensor table = total("confusion");
    if (table.rank() == 0) return Tensor(0.0f);  // nothing seen
    const Tensor both =
        reduce_sum(table * one_hot(range(0, static_cast<double>(options_.classes)), options_.classes), {1});
    const Tensor either = reduce_sum(table, {0}) + reduce_sum(table, {1}) - both;
    const std::vector<std::int32_t> ids(options_.wanted.begin(), options_.wanted.end());
    const Tensor chosen = Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
    const Tensor shared = gather(both, chosen), all = gather(either, chosen), seen = as_numbers(greater(all, 1e-9));
    return reduce_sum(shared / (all + kKerasEpsilon) * seen) / (reduce_sum(seen) + kKerasEpsilon);
  }

 private:
  Options options_;
};

Ints all_classes(const MetricArguments& a) {
  Ints all(static_cast<std::size_t>(std::max<std::int64_t>(a.num_classes.value_or(0), 0)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

MetricRef overlap(const MetricArguments& a, Ints wanted, bool numbers_true, bool numbers_pred) {
  if (a.num_classes.value_or(0) > 100'000)
    fail(ErrorCode::invalid_argument, "IoU: num_classes = ", *a.num_classes, " is too large for a table of all pairs");
  return std::make_unique<Overlap>(Overlap::Options{.classes = a.num_classes.value_or(0),
                                                    .wanted = std::move(wanted),
                                                    .numbers_true = a.sparse_y_true.value_or(numbers_true),
                                                    .numbers_pred = a.sparse_y_pred.value_or(numbers_pred),
                                                    .ignored = a.loss.ignore_class});
}

MetricRef binary_overlap(const MetricArguments& a) {
  return std::make_unique<Overlap>(
      Overlap::Options{.classes = 2,
                       .wanted = a.target_class_ids.empty() ? Ints{0, 1} : a.target_class_ids,
                       .numbers_true = true,
                       .numbers_pred = true,
                       .threshold = a.threshold.value_or(0.5)});
}

class RootMeanSquaredError final : public Metric {
 public:
  explicit RootMeanSquaredError(const MetricArguments&) : Metric("") {}
  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const LossPair pair = fitted(y_true, as_numbers(prediction.probabilities()));
    const Tensor errors = square(pair.y_pred - pair.y_true);
    const Tensor counts =
        weights.defined() ? broadcast_to(weights_for(errors, weights), errors.shape()) : ones_like(errors);
    sum("total").assign_add(reduce_sum(errors * counts));
    sum("count").assign_add(reduce_sum(counts));
  }
  Tensor value() const override { return sqrt(divide_no_nan(total("total"), total("count"))); }
};

class R2Score final : public Metric {
 public:
  explicit R2Score(const MetricArguments& a)
      : Metric(""),
        aggregation_(a.class_aggregation.value_or("uniform_average")),
        regressors_(a.num_regressors.value_or(0)) {
    if (!aggregation_.empty() && aggregation_ != "uniform_average" && aggregation_ != "variance_weighted_average")
      fail(ErrorCode::invalid_argument,
           "R2Score: class_aggregation must be 'uniform_average' or 'variance_weighted_average', or empty for a value "
           "a column, got '",
           aggregation_, "'");
    if (regressors_ < 0)
      fail(ErrorCode::invalid_argument, "R2Score: num_regressors must not be negative, got ", regressors_);
  }

  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const LossPair pair = fitted(y_true, as_numbers(prediction.probabilities()));
    const Tensor counts = weights.defined() ? broadcast_to(weights_for(pair.y_true, weights), pair.y_true.shape())
                                            : ones_like(pair.y_true);
    const auto add = [&](const char* name, const Tensor& values) {
      const Tensor summed = reduce_sum(values, {0});
      sum(name, summed.shape()).assign_add(summed);
    };
    add("sum", pair.y_true * counts);
    add("squares", square(pair.y_true) * counts);
    add("errors", square(pair.y_true - pair.y_pred) * counts);
    add("count", counts);
    sum("samples").assign_add(Tensor(static_cast<float>(pair.y_true.size())));
  }

  Tensor value() const override {
    const Tensor variance = total("squares") - total("sum") * total("sum") / total("count");
    const Tensor raw = 1.0 - total("errors") / variance, scores = where(is_inf(raw), zeros_like(raw), raw);
    Tensor score = scores;
    if (aggregation_ == "uniform_average") score = reduce_mean(scores);
    if (aggregation_ == "variance_weighted_average") score = reduce_sum(variance * scores) / reduce_sum(variance);
    const double samples = total("samples").item<double>(), left = samples - static_cast<double>(regressors_) - 1;
    return regressors_ == 0 || left <= 0 ? score : 1.0 - (1.0 - score) * (samples - 1) / left;
  }

 private:
  std::string aggregation_;
  std::int64_t regressors_;
};

constexpr MetricRecord kRecords[] = {
    {"f1_score", "F1Score", [](const MetricArguments& a) -> MetricRef { return std::make_unique<FScore>(a, 1); }},
    {"fbeta_score", "FBetaScore",
     [](const MetricArguments& a) -> MetricRef { return std::make_unique<FScore>(a, a.beta.value_or(1)); }},
    {"io_u", "IoU", [](const MetricArguments& a) { return overlap(a, a.target_class_ids, true, true); }},
    {"mean_io_u", "MeanIoU", [](const MetricArguments& a) { return overlap(a, all_classes(a), true, true); }},
    {"one_hot_io_u", "OneHotIoU",
     [](const MetricArguments& a) { return overlap(a, a.target_class_ids, false, false); }},
    {"one_hot_mean_io_u", "OneHotMeanIoU",
     [](const MetricArguments& a) { return overlap(a, all_classes(a), false, false); }},
    {"binary_io_u", "BinaryIoU", binary_overlap},
    {"root_mean_squared_error", "RootMeanSquaredError",
     [](const MetricArguments& a) -> MetricRef { return std::make_unique<RootMeanSquaredError>(a); }},
    {"r2_score", "R2Score", [](const MetricArguments& a) -> MetricRef { return std::make_unique<R2Score>(a); }},
};

}  // namespace

std::span<const MetricRecord> score_metrics() { return kRecords; }

}  // namespace tandem
