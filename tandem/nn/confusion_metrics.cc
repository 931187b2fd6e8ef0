// Metrics made of counts: how many predictions above a threshold are right, and how many of those below.
#include <algorithm>

#include "tandem/op/keras_epsilon.h"
#include "tandem/nn/metric_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

constexpr double kLowest = -1e10;  // below any prediction

enum Count { kTruePositives, kFalsePositives, kTrueNegatives, kFalseNegatives };
constexpr const char* kNames[] = {"true_positives", "false_positives", "true_negatives", "false_negatives"};

/// Thresholds from 0 to 1 at equal distances; the ends are moved outwards by `margin`.
std::vector<double> even_thresholds(std::int64_t count, double margin) {
  std::vector<double> all{-margin};
  for (std::int64_t i = 1; i + 1 < count; ++i) all.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  all.push_back(1 + margin);
  return all;
}

/// Which predictions count, and how they are compared.
struct Comparison {
  std::vector<double> thresholds;
  std::optional<std::int64_t> top_k = {}, class_id = {};
  bool by_label = false;                  // counts for each column
  std::vector<double> label_weights = {}; // of columns that are counted together
};

/// Predictions outside the k largest of their row are below every threshold.
Tensor only_top_k(const Tensor& scores, std::int64_t k) {
  const Tensor best = top_k(scores, std::min(k, scores.shape()[-1])).indices;
  const Tensor among = reduce_sum(one_hot(best, scores.shape()[-1]), {-2});
  return scores * among + kLowest * (1.0 - among);
}

/// Counts for every threshold: [thresholds], or [thresholds, labels].
class Counting : public Metric {
 public:
  explicit Counting(Comparison comparison) : Metric(""), comparison_(std::move(comparison)) {
    for (const double threshold : comparison_.thresholds)
      if (!(threshold >= -1 || threshold == kLowest))
        fail(ErrorCode::invalid_argument, "thresholds must lie in [0, 1], got ", threshold);
    std::vector<float> numbers(comparison_.thresholds.begin(), comparison_.thresholds.end());
    thresholds_ = Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size()), 1, 1});
  }

  void update(const Tensor& y_true, const Prediction& prediction, const Tensor& weights) override {
    const LossPair pair = fitted(as_numbers(y_true), as_numbers(predicted(prediction)));
    Tensor labels = pair.y_true, scores = pair.y_pred;
    if (comparison_.top_k) scores = only_top_k(scores, *comparison_.top_k);
    if (comparison_.class_id) labels = column(labels), scores = column(scores);
    // [1, samples, labels], against which the thresholds are [thresholds, 1, 1]
    const std::int64_t columns = labels.rank() > 1 ? labels.shape()[-1] : 1;
    const auto spread = [&](const Tensor& x) { return reshape(x, Ints{1, -1, columns}); };
    const Tensor positive = as_numbers(greater(spread(labels), 0.0)),
                 above = as_numbers(greater(spread(scores), thresholds_));
    Tensor counts = ones_like(positive);
    if (weights.defined())
      counts = counts * spread(as_numbers(broadcast_to(weights_for(labels, weights), labels.shape())));
    if (!comparison_.label_weights.empty()) counts = counts * label_weights();
    add(kTruePositives, above * positive * counts);
    add(kFalsePositives, above * (1.0 - positive) * counts);
    add(kTrueNegatives, (1.0 - above) * (1.0 - positive) * counts);
    add(kFalseNegatives, (1.0 - above) * positive * counts);
  }

 protected:
  virtual Tensor predicted(const Prediction& prediction) const { return prediction.probabilities(); }
  Tensor count(Count which) const { return total(kNames[which]); }
  Tensor share(Count of, Count other) const { return divide_no_nan(count(of), count(of) + count(other)); }
  /// A number where there is one threshold.
  Tensor a_threshold(const Tensor& values) const {
    return comparison_.thresholds.size() == 1 && values.rank() == 1 ? reshape(values, Shape{}) : values;
  }
  Tensor label_weights() const {
    const std::vector<float> numbers(comparison_.label_weights.begin(), comparison_.label_weights.end());
    return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
  }
  const Comparison& comparison() const { return comparison_; }

 private:
  Tensor column(const Tensor& x) const {
    const std::int64_t id = *comparison_.class_id;
    if (x.rank() < 2 || id < 0 || id >= x.shape()[-1])
      fail(ErrorCode::invalid_argument, "class_id = ", id, " is no column of ", x.shape());
    return gather(x, Tensor(static_cast<std::int32_t>(id)), x.rank() - 1);
  }
  void add(Count which, const Tensor& counts) {
    const Tensor summed = comparison_.by_label ? reduce_sum(counts, {1}) : reduce_sum(counts, {1, 2});
    sum(kNames[which], summed.shape()).assign_add(summed);
  }

  Comparison comparison_;
  Tensor thresholds_;
};

std::vector<double> given_or(const std::vector<double>& given, double fallback) {
  return given.empty() ? std::vector<double>{fallback} : given;
}

template <Count kWhich>
class CountOf final : public Counting {
 public:
  explicit CountOf(const MetricArguments& a) : Counting({.thresholds = given_or(a.thresholds, 0.5)}) {}
  Tensor value() const override { return a_threshold(count(kWhich)); }
};

/// Precision and Recall: of what is said to be positive, and of what is.
template <Count kOther>
class ShareOfTrue final : public Counting {
 public:
  explicit ShareOfTrue(const MetricArguments& a)
      : Counting(
            {.thresholds = given_or(a.thresholds, a.top_k ? kLowest : 0.5), .top_k = a.top_k, .class_id = a.class_id}) {
  }
  Tensor value() const override { return a_threshold(share(kTruePositives, kOther)); }
};

struct Rate {
  Count of, other;
};
constexpr Rate kPrecision{kTruePositives, kFalsePositives}, kRecall{kTruePositives, kFalseNegatives},
    kSpecificity{kTrueNegatives, kFalsePositives};

/// The best of one rate where another is at least a value.
class RateAt final : public Counting {
 public:
  RateAt(const MetricArguments& a, Rate best, Rate bound, const char* argument, std::optional<double> least)
      : Counting({.thresholds = thresholds_of(a), .class_id = a.class_id}),
        best_(best),
        bound_(bound),
        least_(least.value_or(-1)) {
    if (!(least_ >= 0 && least_ <= 1))
      fail(ErrorCode::invalid_argument, "the argument ", argument, " is needed and must lie in [0, 1]");
  }
  Tensor value() const override {
    const Tensor best = share(best_.of, best_.other), bound = share(bound_.of, bound_.other);
    return reduce_max(where(greater_equal(bound, number_like(bound, least_)), best, zeros_like(best)));
  }

 private:
  static std::vector<double> thresholds_of(const MetricArguments& a) {
    const std::int64_t count = a.num_thresholds.value_or(200);
    if (count < 1) fail(ErrorCode::invalid_argument, "num_thresholds must be positive, got ", count);
    return count == 1 ? std::vector<double>{0.5} : even_thresholds(count, 0);
  }
  Rate best_, bound_;
  double least_;
};

class Auc final : public Counting {
 public:
  explicit Auc(const MetricArguments& a)
      : Counting({.thresholds = thresholds_of(a),
                  .by_label = a.multi_label,
                  .label_weights = a.multi_label ? std::vector<double>{} : a.label_weights}),
        curve_(a.curve.empty() ? "ROC" : a.curve),
        summation_(a.summation_method.empty() ? "interpolation" : a.summation_method),
        from_logits_(a.loss.from_logits),
        weights_(a.multi_label ? a.label_weights : std::vector<double>{}) {
    if (curve_ != "ROC" && curve_ != "PR" && curve_ != "PRGAIN")
      fail(ErrorCode::invalid_argument, "AUC: curve must be 'ROC', 'PR' or 'PRGAIN', got '", curve_, "'");
    if (summation_ != "interpolation" && summation_ != "minoring" && summation_ != "majoring")
      fail(ErrorCode::invalid_argument,
           "AUC: summation_method must be 'interpolation', 'minoring' or 'majoring', got '", summation_, "'");
  }

  Tensor value() const override {
    if (count(kTruePositives).rank() == 0) return Tensor(0.0f);  // nothing seen
    if (curve_ == "PR" && summation_ == "interpolation") return over_labels(interpolated());
    const auto [x, y] = curve();
    const Tensor high = upper(y), low = lower(y);
    const Tensor heights = summation_ == "minoring"   ? minimum(high, low)
                           : summation_ == "majoring" ? maximum(high, low)
                                                      : (high + low) / 2.0;
    return over_labels((upper(x) - lower(x)) * heights);
  }

 private:
  static std::vector<double> thresholds_of(const MetricArguments& a) {
    if (a.thresholds.empty()) {
      const std::int64_t count = a.num_thresholds.value_or(200);
      if (count < 2) fail(ErrorCode::invalid_argument, "AUC: num_thresholds must be at least 2, got ", count);
      return even_thresholds(count, kKerasEpsilon);
    }
    std::vector<double> all = a.thresholds;
    std::sort(all.begin(), all.end());
    all.insert(all.begin(), -kKerasEpsilon);
    all.push_back(1 + kKerasEpsilon);
    return all;
  }
  Tensor predicted(const Prediction& prediction) const override {
    return from_logits_ ? sigmoid(prediction.value) : prediction.probabilities();
  }

  static Tensor rows(const Tensor& x, std::int64_t first) {
    Ints begin(static_cast<std::size_t>(x.rank()), 0), size(begin.size(), -1);
    begin[0] = first, size[0] = x.shape()[0] - 1;
    return slice(x, begin, size);
  }
  static Tensor upper(const Tensor& x) { return rows(x, 0); }  // of the lower threshold of two neighbours
  static Tensor lower(const Tensor& x) { return rows(x, 1); }

  std::pair<Tensor, Tensor> curve() const {
    const Tensor recall = share(kTruePositives, kFalseNegatives);
    if (curve_ == "ROC") return {share(kFalsePositives, kTrueNegatives), recall};
    if (curve_ == "PR") return {recall, share(kTruePositives, kFalsePositives)};
    const Tensor hits = count(kTruePositives), none = equal(hits, 0.0);
    const Tensor odds = divide_no_nan(hits + count(kFalseNegatives), count(kTrueNegatives) + count(kFalsePositives));
    const auto gain = [&](Count wrong, double without) {
      return where(none, number_like(odds, without), 1.0 - odds * divide_no_nan(count(wrong), hits));
    };
    return {maximum(gain(kFalseNegatives, 0), 0.0), gain(kFalsePositives, 1)};
  }

  /// Between two thresholds the precision follows from the counts, which grow evenly.
  Tensor interpolated() const {
    const Tensor hits = count(kTruePositives), said = hits + count(kFalsePositives);
    const Tensor more_hits = upper(hits) - lower(hits),
                 slope = divide_no_nan(more_hits, maximum(upper(said) - lower(said), 0.0));
    const Tensor start = lower(hits) - slope * lower(said);
    const Tensor both = logical_and(greater(upper(said), 0.0), greater(lower(said), 0.0));
    const Tensor ratio = where(both, divide_no_nan(upper(said), maximum(lower(said), 0.0)), ones_like(lower(said)));
    return divide_no_nan(slope * (more_hits + start * log(ratio)), maximum(lower(hits + count(kFalseNegatives)), 0.0));
  }

  Tensor over_labels(const Tensor& terms) const {
    if (!comparison().by_label) return reduce_sum(terms);
    const Tensor by_label = reduce_sum(terms, {0});
    if (weights_.empty()) return reduce_mean(by_label);
    const Tensor weights = Tensor::from(std::vector<float>(weights_.begin(), weights_.end()),
                                        {static_cast<std::int64_t>(weights_.size())});
    return divide_no_nan(reduce_sum(by_label * weights), reduce_sum(weights));
  }

  std::string curve_, summation_;
  bool from_logits_;
  std::vector<double> weights_;
};

template <class M>
MetricRef make_as(const MetricArguments& arguments) {
  return std::make_unique<M>(arguments);
}

constexpr MetricRecord kRecords[] = {
    {"true_positives", "TruePositives", make_as<CountOf<kTruePositives>>},
    {"true_negatives", "TrueNegatives", make_as<CountOf<kTrueNegatives>>},
    {"false_positives", "FalsePositives", make_as<CountOf<kFalsePositives>>},
    {"false_negatives", "FalseNegatives", make_as<CountOf<kFalseNegatives>>},
    {"precision", "Precision", make_as<ShareOfTrue<kFalsePositives>>},
    {"recall", "Recall", make_as<ShareOfTrue<kFalseNegatives>>},
    {"auc", "AUC", make_as<Auc>},
    {"precision_at_recall", "PrecisionAtRecall",
     [](const MetricArguments& a) -> MetricRef {
       return std::make_unique<RateAt>(a, kPrecision, kRecall, "recall", a.recall);
     }},
    {"recall_at_precision", "RecallAtPrecision",
     [](const MetricArguments& a) -> MetricRef {
       return std::make_unique<RateAt>(a, kRecall, kPrecision, "precision", a.precision);
     }},
    {"sensitivity_at_specificity", "SensitivityAtSpecificity",
     [](const MetricArguments& a) -> MetricRef {
       return std::make_unique<RateAt>(a, kRecall, kSpecificity, "specificity", a.specificity);
     }},
    {"specificity_at_sensitivity", "SpecificityAtSensitivity",
     [](const MetricArguments& a) -> MetricRef {
       return std::make_unique<RateAt>(a, kSpecificity, kRecall, "sensitivity", a.sensitivity);
     }},
};

}  // namespace

std::span<const MetricRecord> confusion_metrics() { return kRecords; }

}  // namespace tandem
