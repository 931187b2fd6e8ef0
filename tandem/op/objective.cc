// What losses are made of: the terms of each, elementwise, and the losses as Keras defines them, one value a row.
#include "tandem/expr/functions.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/keras_epsilon.h"
#include "tandem/op/losses.h"
#include "tandem/op/network_records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

using namespace expr;

constexpr double kLog2 = 0.69314718055994530942;

/// p, at least `low` and at most `high`; NaN stays NaN.
template <class T>
T clipped(T p, double low, double high) {
  return lesser(high, greater_of(low, p));
}

/// `slope` where clipping left x as it is, else 0, whatever the slope is there.
Tensor unless_clipped(const Tensor& x, double low, double high, const Tensor& slope) {
  const Tensor kept = logical_and(greater_equal(x, scalar_like(x, low)), less_equal(x, scalar_like(x, high)));
  return where(kept, slope, scalar_like(slope, 0));
}
Tensor clip(const Tensor& x, double low, double high) { return minimum(maximum(x, low), high); }

const OpDef sigmoid_cross_entropy_op{
    .name = "sigmoid_cross_entropy_with_logits",
    .doc = "max(x, 0) - x * z + log(1 + exp(-|x|)) for labels z and logits x, elementwise.",
    .inputs = {"labels", "logits"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto z, auto x) { return greater_of(0, x) - x * z + log1p(exp(-abs(x))); }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          return Tensors{grad_of(g, 0, [&] { return -(dy * g.input(1)); }),
                         grad_of(g, 1, [&] { return dy * (sigmoid(g.input(1)) - g.input(0)); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 25,
};

const OpDef binary_crossentropy_terms_op{
    .name = "binary_crossentropy_terms",
    .doc = "-(t log p + (1 - t) log(1 - p)) for targets t and probabilities p, kept 1e-7 from 0 and 1; elementwise.",
    .inputs = {"y_true", "y_pred"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto q) {
      auto p = clipped(q, kKerasEpsilon, 1 - kKerasEpsilon);
      return -(t * log(p) + (1 - t) * log(1 - p));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          const Tensor p = clip(g.input(1), kKerasEpsilon, 1 - kKerasEpsilon);
          return Tensors{grad_of(g, 0, [&] { return dy * (log(1 - p) - log(p)); }), grad_of(g, 1, [&] {
                           return unless_clipped(g.input(1), kKerasEpsilon, 1 - kKerasEpsilon,
                                                 dy * ((p - g.input(0)) / (p * (1 - p))));
                         })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 40,
    .domain = {0.1, 0.9},
};

const OpDef kl_divergence_terms_op{
    .name = "kl_divergence_terms",
    .doc = "t log(t / p) for probabilities t and p, both kept at 1e-7 and above; elementwise.",
    .inputs = {"y_true", "y_pred"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto p) {
      auto target = clipped(t, kKerasEpsilon, 1);
      return target * log(target / clipped(p, kKerasEpsilon, 1));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          const Tensor t = clip(g.input(0), kKerasEpsilon, 1), p = clip(g.input(1), kKerasEpsilon, 1);
          return Tensors{
              grad_of(g, 0, [&] { return unless_clipped(g.input(0), kKerasEpsilon, 1, dy * (log(t / p) + 1)); }),
              grad_of(g, 1, [&] { return unless_clipped(g.input(1), kKerasEpsilon, 1, -(dy * (t / p))); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 25,
    .domain = {0.1, 0.9},
};

const OpDef poisson_terms_op{
    .name = "poisson_terms",
    .doc = "p - t log(p + 1e-7), elementwise.",
    .inputs = {"y_true", "y_pred"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto p) { return decltype(p)(p - t * log(decltype(p)(p + kKerasEpsilon))); }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          const Tensor moved = g.input(1) + kKerasEpsilon;
          return Tensors{grad_of(g, 0, [&] { return -(dy * log(moved)); }),
                         grad_of(g, 1, [&] { return dy * (1 - g.input(0) / moved); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 22,
    .domain = {0.2, 2},
};

const OpDef log_cosh_terms_op{
    .name = "log_cosh_terms",
    .doc = "log(cosh(p - t)), elementwise.",
    .inputs = {"y_true", "y_pred"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto p) {
      auto e = abs(p - t);
      return decltype(p)(e + log1p(decltype(p)(exp(-2 * e))) - kLog2);
    }),
    .grad =
        [](GradContext& g) {
          const Tensor slope = g.output_grad() * tanh(g.input(1) - g.input(0));
          return Tensors{grad_of(g, 0, [&] { return -slope; }), grad_of(g, 1, [&] { return slope; })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 42,
};

const OpDef huber_terms_op{
    .name = "huber_terms",
    .doc = "e * e / 2 for errors e up to delta, delta * |e| - delta * delta / 2 beyond; elementwise.",
    .inputs = {"y_true", "y_pred", "delta"},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), broadcast_inputs(c)[0].shape()}}; },
    .scalar = formula([](auto t, auto p, auto delta) {
      auto e = abs(p - t);
      return select(e <= delta, e * e * 0.5f, delta * (e - delta * 0.5f));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor &dy = g.output_grad(), &delta = g.input(2);
          const Tensor error = g.input(1) - g.input(0);
          const Tensor slope = g.wants(0) || g.wants(1) ? dy * clip_by_value(error, -delta, delta) : Tensor();
          return Tensors{grad_of(g, 0, [&] { return -slope; }), grad_of(g, 1, [&] { return slope; }),
                         grad_of(g, 2, [&] { return dy * maximum(abs(error) - delta, 0.0); })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 8,
    .domain = {0.2, 1.5},
};

const OpDef hinge_terms_op{
    .name = "hinge_terms",
    .doc =
        "max(1 - t p, 0) for labels t and scores p, elementwise; `binary` is 1 where labels are 0 and 1, for -1 and 1, "
        "else 0.",
    .inputs = {"y_true", "y_pred", "binary"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto p, auto binary) { return greater_of(0, 1 - (t * (1 + binary) - binary) * p); }),
    .grad =
        [](GradContext& g) {
          const Tensor &t = g.input(0), &p = g.input(1), &binary = g.input(2);
          const Tensor label = t * (1.0 + binary) - binary;
          const Tensor slope =
              where(greater_equal(1.0 - label * p, scalar_like(p, 0)), -g.output_grad(), scalar_like(p, 0));
          return Tensors{grad_of(g, 0, [&] { return slope * p * (1.0 + binary); }),
                         grad_of(g, 1, [&] { return slope * label; }),
                         grad_of(g, 2, [&] { return slope * p * (t - 1.0); })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 5,
    .domain = {0.2, 0.8},
};

Tensor row_mean(const Tensor& terms) { return reduce_mean(terms, {-1}); }

/// Keras' hinge losses take 0 and 1 for -1 and 1, if there is nothing else among the labels.
Tensor hinge_terms(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor binary =
      cast(reduce_all(equal(square(y_true), y_true)), y_true.dtype());  // numbers that are their square
  return apply(hinge_terms_op, {y_true, y_pred, binary});
}

Tensor unit_rows(const Tensor& x) { return x * rsqrt(maximum(reduce_sum(x * x, {-1}, true), 1e-12)); }

}  // namespace

OpGroup objective_ops() {
  static constexpr const OpDef* kOps[] = {&sigmoid_cross_entropy_op,
                                          &binary_crossentropy_terms_op,
                                          &kl_divergence_terms_op,
                                          &poisson_terms_op,
                                          &log_cosh_terms_op,
                                          &huber_terms_op,
                                          &hinge_terms_op};
  return kOps;
}

Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return apply(sigmoid_cross_entropy_op, {labels, logits});
}

namespace losses {

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) { return row_mean(square(y_pred - y_true)); }
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) { return row_mean(abs(y_pred - y_true)); }
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  return row_mean(abs((y_true - y_pred) / maximum(abs(y_true), kKerasEpsilon))) * 100.0;
}
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto logarithm = [](const Tensor& x) { return log(maximum(x, kKerasEpsilon) + 1.0); };
  return row_mean(square(logarithm(y_pred) - logarithm(y_true)));
}
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta) {
  if (!(delta > 0)) fail(ErrorCode::invalid_argument, "huber: delta must be positive, got ", delta);
  return row_mean(apply(huber_terms_op, {y_true, y_pred, scalar_like(y_pred, delta)}));
}
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  return row_mean(apply(log_cosh_terms_op, {y_true, y_pred}));
}
Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  return row_mean(apply(poisson_terms_op, {y_true, y_pred}));
}
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  return reduce_sum(apply(kl_divergence_terms_op, {y_true, y_pred}), {-1});
}
Tensor hinge(const Tensor& y_true, const Tensor& y_pred) { return row_mean(hinge_terms(y_true, y_pred)); }
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return row_mean(square(hinge_terms(y_true, y_pred)));
}
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor right = reduce_sum(y_true * y_pred, {-1}), wrong = reduce_max((1.0 - y_true) * y_pred, {-1});
  return maximum(wrong - right + 1.0, 0.0);
}
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred) {
  return -reduce_sum(unit_rows(y_true) * unit_rows(y_pred), {-1});
}
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  return row_mean(from_logits ? sigmoid_cross_entropy_with_logits(y_true, y_pred)
                              : apply(binary_crossentropy_terms_op, {y_true, y_pred}));
}
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  if (from_logits) return softmax_cross_entropy_with_logits(y_true, y_pred);
  const Tensor p = clip(y_pred / reduce_sum(y_pred, {-1}, true), kKerasEpsilon, 1 - kKerasEpsilon);
  return -reduce_sum(y_true * log(p), {-1});
}
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits) {
  // The logarithms of probabilities are logits.
  return sparse_softmax_cross_entropy_with_logits(
      y_true, from_logits ? y_pred : log(clip(y_pred, kKerasEpsilon, 1 - kKerasEpsilon)));
}

}  // namespace losses
}  // namespace tandem
