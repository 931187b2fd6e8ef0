#include "tandem/nn/losses.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/base/nearest.h"
#include "tandem/base/error.h"
#include "tandem/dist/replica.h"
#include "tandem/op/keras_epsilon.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/losses.h"

namespace tandem {
namespace {

template <auto kLoss>
LossValues of_numbers(const Tensor& y_true, const Tensor& y_pred, const LossArguments&) {
  const LossPair pair = fitted(y_true, y_pred);
  return {kLoss(pair.y_true, pair.y_pred)};
}

LossValues huber(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  const LossPair pair = fitted(y_true, y_pred);
  return {losses::huber(pair.y_true, pair.y_pred, arguments.delta.value_or(1))};
}

LossValues cosine_similarity(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  const LossPair pair = fitted(y_true, y_pred);
  if (arguments.axis.empty() || arguments.axis == Ints{-1})
    return {losses::cosine_similarity(pair.y_true, pair.y_pred)};
  const auto unit = [&](const Tensor& x) {
    return x * rsqrt(maximum(reduce_sum(square(x), arguments.axis, true), 1e-12));
  };
  return {-reduce_sum(unit(pair.y_true) * unit(pair.y_pred), arguments.axis)};
}

/// Cross entropies sum along the last axis only.
void need_last_axis(const char* loss, const LossArguments& arguments) {
  if (!arguments.axis.empty() && arguments.axis != Ints{-1})
    fail(ErrorCode::invalid_argument, loss, ": only axis = -1 is supported in C++, got [", join(arguments.axis), "]");
}

/// Targets moved towards an even distribution over `classes`.
Tensor smoothed(const Tensor& y_true, const LossArguments& arguments, double classes) {
  const double smoothing = arguments.label_smoothing;
  return smoothing == 0 ? y_true : y_true * (1 - smoothing) + smoothing / classes;
}

LossValues binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  need_last_axis("binary_crossentropy", arguments);
  const LossPair pair = fitted(y_true, y_pred);
  return {losses::binary_crossentropy(smoothed(pair.y_true, arguments, 2), pair.y_pred, arguments.from_logits)};
}

LossValues binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  need_last_axis("binary_focal_crossentropy", arguments);
  const LossPair pair = fitted(y_true, y_pred);
  const Tensor wanted = smoothed(pair.y_true, arguments, 2),
               p = arguments.from_logits ? sigmoid(pair.y_pred) : pair.y_pred;
  const Tensor clipped = clip_by_value(p, number_like(p, kKerasEpsilon), number_like(p, 1 - kKerasEpsilon));
  Tensor terms = -(wanted * log(clipped) + (1.0 - wanted) * log(1.0 - clipped));
  terms = pow(1.0 - (wanted * p + (1.0 - wanted) * (1.0 - p)), arguments.gamma.value_or(2)) * terms;
  const double alpha = arguments.alpha.value_or(0.25);
  if (arguments.apply_class_balancing) terms = (wanted * alpha + (1.0 - wanted) * (1 - alpha)) * terms;
  return {reduce_mean(terms, {-1})};
}

LossValues categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  need_last_axis("categorical_crossentropy", arguments);
  const LossPair pair = fitted(y_true, y_pred);
  return {losses::categorical_crossentropy(smoothed(pair.y_true, arguments, static_cast<double>(y_pred.shape()[-1])),
                                           pair.y_pred, arguments.from_logits)};
}

LossValues categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  need_last_axis("categorical_focal_crossentropy", arguments);
  const LossPair pair = fitted(y_true, y_pred);
  const Tensor p = arguments.from_logits ? softmax(pair.y_pred) : pair.y_pred;
  const Tensor part = p / reduce_sum(p, {-1}, true),
               clipped = clip_by_value(part, number_like(p, kKerasEpsilon), number_like(p, 1 - kKerasEpsilon));
  const Tensor terms = -smoothed(pair.y_true, arguments, static_cast<double>(y_pred.shape()[-1])) * log(clipped);
  return {reduce_sum(pow(1.0 - clipped, arguments.gamma.value_or(2)) * arguments.alpha.value_or(0.25) * terms, {-1})};
}

LossValues of_classes(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  need_last_axis("sparse_categorical_crossentropy", arguments);
  Tensor classes = class_numbers(y_true, y_pred);
  if (!arguments.ignore_class) return {losses::sparse_categorical_crossentropy(classes, y_pred, arguments.from_logits)};
  const Tensor counts = not_equal(classes, number_like(classes, *arguments.ignore_class));
  classes = where(counts, classes, zeros_like(classes));
  const Tensor values = losses::sparse_categorical_crossentropy(classes, y_pred, arguments.from_logits);
  return {where(counts, values, zeros_like(values)), counts};
}

LossValues categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                                 const LossArguments& arguments) {
  const double q = arguments.q.value_or(0.5);
  if (!(q > 0 && q < 1))
    fail(ErrorCode::invalid_argument, "categorical_generalized_cross_entropy: q must lie in (0, 1), got ", q);
  const Tensor classes = class_numbers(y_true, y_pred);
  const Tensor p = reduce_sum(y_pred * cast(one_hot(classes, y_pred.shape()[-1]), y_pred.dtype()), {-1});
  return {(1.0 - pow(p, q)) / q};
}

LossValues dice(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  const LossPair pair = fitted(y_true, y_pred);
  const Tensor shared = reduce_sum(pair.y_true * pair.y_pred, arguments.axis);
  return {1.0 -
          2.0 * shared /
              (reduce_sum(pair.y_true, arguments.axis) + reduce_sum(pair.y_pred, arguments.axis) + kKerasEpsilon)};
}

LossValues tversky(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  const LossPair pair = fitted(y_true, y_pred);
  const Tensor shared = reduce_sum(pair.y_true * pair.y_pred, arguments.axis);
  const Tensor missed = reduce_sum((1.0 - pair.y_pred) * pair.y_true, arguments.axis),
               wrong = reduce_sum(pair.y_pred * (1.0 - pair.y_true), arguments.axis);
  return {1.0 - shared / (shared + missed * arguments.alpha.value_or(0.5) + wrong * arguments.beta.value_or(0.5) +
                          kKerasEpsilon)};
}

/// Embeddings of the same class should be near each other: y_pred are rows of length one.
LossValues circle(const Tensor& y_true, const Tensor& y_pred, const LossArguments& arguments) {
  if (y_pred.rank() != 2)
    fail(ErrorCode::shape_mismatch, "circle: embeddings must be [batch, features], got ", y_pred.shape());
  const double margin = arguments.margin.value_or(0.4), gamma = arguments.gamma.value_or(80);
  const std::int64_t rows = y_pred.shape()[0];
  const Tensor labels = reshape(cast(y_true, DType::i32), Ints{-1, 1});
  const Tensor far = maximum(1.0 - matmul(y_pred, y_pred, false, true), 0.0);
  const Tensor same = equal(labels, transpose(labels));
  const Tensor itself = greater(one_hot(range(0, static_cast<double>(rows)), rows), 0.5);
  const Tensor alike = arguments.remove_diagonal ? logical_and(same, logical_not(itself)) : same,
               others = logical_not(same);
  const auto summed = [&](const Tensor& counts, const Tensor& weights, const Tensor& distance) {
    const Tensor terms = gamma * maximum(weights * cast(counts, far.dtype()), 0.0) * distance;
    return reduce_logsumexp(where(counts, terms, number_like(terms, -std::numeric_limits<double>::infinity())), {1});
  };
  const Tensor values =
      softplus(summed(alike, margin + far, far - margin) + summed(others, (1 + margin) - far, (1 - margin) - far));
  return {values, greater(values, 0.0)};
}

constexpr LossRecord kLosses[] = {
    {"mean_squared_error", "mse", "MeanSquaredError", "", of_numbers<losses::mean_squared_error>},
    {"mean_absolute_error", "mae", "MeanAbsoluteError", "", of_numbers<losses::mean_absolute_error>},
    {"mean_absolute_percentage_error", "mape", "MeanAbsolutePercentageError", "",
     of_numbers<losses::mean_absolute_percentage_error>},
    {"mean_squared_logarithmic_error", "msle", "MeanSquaredLogarithmicError", "",
     of_numbers<losses::mean_squared_logarithmic_error>},
    {"huber", "huber_loss", "Huber", "", huber},
    {"log_cosh", "logcosh", "LogCosh", "", of_numbers<losses::log_cosh>},
    {"poisson", "Poisson", "Poisson", "", of_numbers<losses::poisson>},
    {"kl_divergence", "kld", "KLDivergence", "", of_numbers<losses::kl_divergence>},
    {"hinge", "Hinge", "Hinge", "", of_numbers<losses::hinge>},
    {"squared_hinge", "SquaredHinge", "SquaredHinge", "", of_numbers<losses::squared_hinge>},
    {"categorical_hinge", "CategoricalHinge", "CategoricalHinge", "", of_numbers<losses::categorical_hinge>},
    {"cosine_similarity", "cosine_proximity", "CosineSimilarity", "", cosine_similarity},
    {"binary_crossentropy", "bce", "BinaryCrossentropy", "sigmoid", binary_crossentropy},
    {"binary_focal_crossentropy", "BinaryFocalCrossentropy", "BinaryFocalCrossentropy", "", binary_focal_crossentropy},
    {"categorical_crossentropy", "CategoricalCrossentropy", "CategoricalCrossentropy", "softmax",
     categorical_crossentropy},
    {"categorical_focal_crossentropy", "CategoricalFocalCrossentropy", "CategoricalFocalCrossentropy", "",
     categorical_focal_crossentropy},
    {"categorical_generalized_cross_entropy", "CategoricalGeneralizedCrossEntropy",
     "CategoricalGeneralizedCrossEntropy", "", categorical_generalized_cross_entropy},
    {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", "SparseCategoricalCrossentropy", "softmax",
     of_classes},
    {"dice", "Dice", "Dice", "", dice},
    {"tversky", "Tversky", "Tversky", "", tversky},
    {"circle", "Circle", "Circle", "", circle},
    {"ctc", "CTC", "CTC", "",
     [](const Tensor& y_true, const Tensor& y_pred, const LossArguments&) { return LossValues{ctc(y_true, y_pred)}; }},
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
  fail(ErrorCode::invalid_argument, "unknown loss '", name, "'", nearest_hint(name, known), "; the known ones are ",
       join(known));
}

LossPair fitted(const Tensor& y_true, const Tensor& y_pred) {
  LossPair pair{y_true.dtype() == y_pred.dtype() ? y_true : cast(y_true, y_pred.dtype()), y_pred};
  const auto give_or_take_axis = [](Tensor& with, Tensor& without) {
    if (without.rank() == 1) without = expand_dims(without, -1);
    else with = squeeze(with, {-1});
  };
  if (pair.y_true.rank() == pair.y_pred.rank() + 1 && pair.y_true.shape()[-1] == 1)
    give_or_take_axis(pair.y_true, pair.y_pred);
  else if (pair.y_pred.rank() == pair.y_true.rank() + 1 && pair.y_pred.shape()[-1] == 1)
    give_or_take_axis(pair.y_pred, pair.y_true);
  if (pair.y_true.shape() != pair.y_pred.shape())
    fail(ErrorCode::shape_mismatch, "the targets have shape ", y_true.shape(), ", but the model gives ",
         y_pred.shape());
  return pair;
}

Tensor class_numbers(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor labels = y_true.rank() == y_pred.rank() && y_true.shape()[-1] == 1 ? squeeze(y_true, {-1}) : y_true;
  if (labels.rank() != y_pred.rank() - 1)
    fail(ErrorCode::shape_mismatch, "the targets have shape ", y_true.shape(),
         ", but class numbers for predictions of shape ", y_pred.shape(), " have one axis less");
  return labels.dtype() == DType::i32 || labels.dtype() == DType::i64 ? labels : cast(labels, DType::i64);
}

Tensor weights_for(const Tensor& values, const Tensor& weights) {
  Ints shape(static_cast<std::size_t>(std::max(values.rank(), 1)), 1);
  shape[0] = -1;
  return cast(reshape(weights, shape), values.dtype());
}

Tensor reduced(const LossValues& losses, const Tensor& weights, const Tensor& mask, std::string_view reduction,
               std::int64_t rows, std::int64_t all) {
  const bool mean = reduction == "sum_over_batch_size" || reduction == "mean",
             by_weights = reduction == "mean_with_sample_weight";
  if (!mean && !by_weights && reduction != "sum")
    fail(ErrorCode::invalid_argument, "unknown reduction '", reduction,
         "'; the known ones are sum_over_batch_size, mean, mean_with_sample_weight and sum");
  Tensor values = losses.values, counts = weights.defined() ? weights_for(values, weights) : Tensor();
  const auto count_only = [&](const Tensor& which) {
    if (!which.defined()) return;
    if (which.shape() != values.shape())
      fail(ErrorCode::shape_mismatch, "losses of shape ", values.shape(), " cannot be masked by ", which.shape());
    const Tensor ones = cast(which, values.dtype());
    counts = counts.defined() ? counts * ones : ones;
  };
  const Tensor both = mask.defined() && losses.mask.defined() ? logical_and(mask, losses.mask)
                      : mask.defined()                        ? mask
                                                              : losses.mask;
  count_only(both);
  if (counts.defined()) values = values * counts;
  if (mean && !both.defined() && rows == all) return reduce_mean(values);
  const Tensor sum = reduce_sum(values);
  if (reduction == "sum") return sum;
  // The mean over those that count, in all replicas where the values are a part of a batch.
  const auto in_all = [&](const Tensor& count) {
    const ReplicaContext* context = rows == all ? nullptr : get_replica_context();
    return context ? context->all_reduce(ReduceOp::sum, count) : count;
  };
  if (by_weights && counts.defined())
    return divide_no_nan(sum, in_all(reduce_sum(broadcast_to(counts, values.shape()))));
  if (both.defined()) return divide_no_nan(sum, in_all(reduce_sum(cast(both, values.dtype()))));
  if (values.rank() == 0) return sum * (static_cast<double>(rows) / static_cast<double>(all));
  return sum / static_cast<double>(values.size() / rows * all);
}

}  // namespace tandem
