// Normalisation over batches and over features, and dropout.
#include <numeric>

#include "tandem/op/network_ops.h"
#include "tandem/op/random_state.h"
#include "tandem/op/network_records.h"
#include "tandem/op/open_size.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

using namespace expr;

constexpr AttrDef kEpsilon{.name = "epsilon", .kind = AttrKind::real, .default_value = "0.001"};

/// x [..., features]; the vectors named have one element a feature.
void check_features(const InferContext& c, int x, std::initializer_list<int> vectors) {
  const Shape& shape = c.shape(x);
  if (shape.rank() < 1)
    fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[x], " needs at least one axis, that of the features");
  for (int i : vectors)
    if (c.shape(i) != Shape{shape[-1]})
      fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[i], " must have shape [", shape[-1],
           "], one value a feature of ", c.op.inputs[x], " ", shape, "; got ", c.shape(i));
}

void check_epsilon(const InferContext& c) {
  if (const double epsilon = c.attrs.real("epsilon"); !(epsilon >= 0))
    fail(ErrorCode::invalid_argument, c.op.name, ": epsilon must not be negative, got ", epsilon);
}

void check_same(const InferContext& c, int i, int j) {
  if (c.shape(i) != c.shape(j))
    fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[i], " ", c.shape(i), " and ", c.op.inputs[j], " ",
         c.shape(j), " must have one shape");
}

/// Shape without its last axis: a value a row.
Shape rows_of(const Shape& shape) { return Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 1))); }

Tensors apply_with(const OpDef& op, std::initializer_list<TensorRef> inputs, double epsilon) {
  return apply_all(op, std::span<const TensorRef>(inputs.begin(), inputs.size()), make_attrs(op, epsilon));
}

/// `gradient` with more added to it.
void add_to(Tensor& gradient, const Tensor& more) { gradient = gradient.defined() ? gradient + more : more; }

/// All axes but the last.
Ints row_axes(const Shape& shape) {
  Ints axes(static_cast<std::size_t>(shape.rank() - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// What the gradient ops compute, in ops: mean and 1 / deviation broadcast to x and are those over `axes`.
Tensors normalization_gradients(const Tensor& dy, const Tensor& x, const Tensor& scale, const Tensor& mean,
                                const Tensor& inverse, const Ints& axes) {
  const Tensor normal = (x - mean) * inverse, dnormal = dy * scale;
  const auto average = [&](const Tensor& t) { return axes.empty() ? t : reduce_mean(t, axes, true); };
  return {inverse * (dnormal - average(dnormal) - normal * average(dnormal * normal)),
          unbroadcast(dy * normal, scale.shape()), unbroadcast(dy, scale.shape())};
}

Tensors batch_grad(GradContext& g) {
  Tensors grads(3);
  if (g.has_output_grad(0))
    grads = apply_with(batch_normalization_grad_op,
                       {g.output_grad(0), g.input(0), g.input(1), g.output(1), g.output(2)}, g.attrs().real("epsilon"));
  const std::int64_t rows = product_of_sizes(g.shape(0).sizes().first(static_cast<std::size_t>(g.shape(0).rank() - 1)));
  const auto share = [&](const Tensor& sum, std::int64_t times) {  // times / rows of it
    return sum * ratio_of_sizes(times, rows, sum.dtype());
  };
  if (g.has_output_grad(1)) add_to(grads[0], broadcast_to(share(g.output_grad(1), 1), g.shape(0)));
  if (g.has_output_grad(2)) add_to(grads[0], (g.input(0) - g.output(1)) * share(g.output_grad(2), 2));
  return grads;
}

Tensors batch_second_grad(GradContext& g) {
  const double epsilon = g.attrs().real("epsilon");
  const auto gradients = [&](const Tensors& in) {
    return normalization_gradients(in[0], in[1], in[2], in[3], rsqrt(in[4] + epsilon), row_axes(in[1].shape()));
  };
  return g.differentiate(gradients, {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4)}, g.output_grads());
}

Tensors layer_grad(GradContext& g) {
  Tensors grads(3);
  if (g.has_output_grad(0))
    grads = apply_with(layer_normalization_grad_op,
                       {g.output_grad(0), g.input(0), g.input(1), g.output(1), g.output(2)}, 0.0);
  // A row's mean and 1 / deviation: only gradients of gradients reach them.
  const auto column = [](const Tensor& rows) { return expand_dims(rows, -1); };
  const auto share = [&](const Tensor& rows) { return column(rows) / static_cast<double>(g.shape(0)[-1]); };
  if (g.has_output_grad(1)) add_to(grads[0], broadcast_to(share(g.output_grad(1)), g.shape(0)));
  if (g.has_output_grad(2)) {
    const Tensor& inverse = g.output(2);
    add_to(grads[0], (column(g.output(1)) - g.input(0)) * share(g.output_grad(2) * inverse * inverse * inverse));
  }
  return grads;
}

Tensors layer_second_grad(GradContext& g) {
  const auto gradients = [](const Tensors& in) {
    return normalization_gradients(in[0], in[1], in[2], expand_dims(in[3], -1), expand_dims(in[4], -1), {-1});
  };
  return g.differentiate(gradients, {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4)}, g.output_grads());
}

const OpDef batch_normalization_op{
    .name = "batch_normalization",
    .doc = "(x - mean) / sqrt(variance + variance_epsilon) * scale + offset, elementwise.",
    .inputs = {"x", "mean", "variance", "offset", "scale", "variance_epsilon"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto mean, auto variance, auto offset, auto scale, auto epsilon) {
      return (x - mean) * (scale / sqrt(variance + epsilon)) + offset;
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          const Tensor inverse = rsqrt(g.input(2) + g.input(5)), centered = g.input(0) - g.input(1);
          const auto by_variance = [&] { return dy * centered * (g.input(4) * inverse * inverse * inverse * -0.5); };
          return Tensors{grad_of(g, 0, [&] { return dy * (g.input(4) * inverse); }),
                         grad_of(g, 1, [&] { return dy * (-(g.input(4) * inverse)); }),
                         grad_of(g, 2, by_variance),
                         grad_of(g, 3, [&] { return broadcast_to(dy, dy.shape()); }),
                         grad_of(g, 4, [&] { return dy * centered * inverse; }),
                         grad_of(g, 5, by_variance)};
        },
    .grad_reads = {.inputs = 0b110111},
    .flops_per_element = 8,
    .domain = {0.2, 2},
};

const OpDef dropout_op{
    .name = "dropout",
    .doc = "x / (1 - rate) where the noise, drawn from [0, 1), is at least the rate; 0 elsewhere.",
    .inputs = {"x", "noise", "rate"},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), broadcast_inputs(c)[0].shape()}}; },
    .scalar = formula([](auto x, auto noise, auto rate) { return select(noise < rate, x * 0, x / (1 - rate)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          return Tensors{grad_of(g, 0, [&] { return apply(dropout_op, {dy, g.input(1), g.input(2)}); }), Tensor(),
                         grad_of(g, 2, [&] {
                           return dy * apply(dropout_op, {g.input(0), g.input(1), g.input(2)}) / (1 - g.input(2));
                         })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 3,
    .domain = {0.05, 0.95},
};

}  // namespace

const OpDef batch_normalization_training_op{
    .name = "batch_normalization_training",
    .doc = "x [..., features] normalised by mean and variance of each feature, then scaled and moved; and these two.",
    .inputs = {"x", "scale", "offset"},
    .attrs = {kEpsilon},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_features(c, 0, {1, 2});
          check_epsilon(c);
          return Specs{c.input(0), c.input(1), c.input(1)};
        },
    .grad = batch_grad,
    .grad_reads = {.inputs = 0b011, .outputs = 0b110},
    .flops_per_element = 7,
};

const OpDef batch_normalization_grad_op{
    .name = "batch_normalization_grad",
    .doc = "The gradients of batch_normalization_training by x, scale and offset.",
    .inputs = {"grad", "x", "scale", "mean", "variance"},
    .attrs = {kEpsilon},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_features(c, 1, {2, 3, 4});
          check_same(c, 0, 1);
          check_epsilon(c);
          return Specs{c.input(1), c.input(2), c.input(2)};
        },
    .grad = batch_second_grad,
    .grad_reads = {.inputs = 0b11111},
    .flops_per_element = 12,
    .domain = {0.2, 2},
};

const OpDef layer_normalization_op{
    .name = "layer_normalization",
    .doc =
        "x [..., features] normalised by mean and variance of each row, then scaled and moved; and the rows' means and "
        "1 / sqrt(variance + epsilon).",
    .inputs = {"x", "scale", "offset"},
    .attrs = {kEpsilon},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_features(c, 0, {1, 2});
          check_epsilon(c);
          const TensorSpec rows(c.dtype(0), rows_of(c.shape(0)));
          return Specs{c.input(0), rows, rows};
        },
    .grad = layer_grad,
    .grad_reads = {.inputs = 0b011, .outputs = 0b110},
    .flops_per_element = 7,
};

const OpDef layer_normalization_grad_op{
    .name = "layer_normalization_grad",
    .doc = "The gradients of layer_normalization by x, scale and offset.",
    .inputs = {"grad", "x", "scale", "mean", "inverse"},
    .attrs = {kEpsilon},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_features(c, 1, {2});
          check_same(c, 0, 1);
          check_same(c, 3, 4);
          if (c.shape(3) != rows_of(c.shape(1)))
            fail(ErrorCode::shape_mismatch, c.op.name, ": the mean needs one value a row of x ", c.shape(1), ", got ",
                 c.shape(3));
          return Specs{c.input(1), c.input(2), c.input(2)};
        },
    .grad = layer_second_grad,
    .grad_reads = {.inputs = 0b11111},
    .flops_per_element = 12,
    .domain = {0.2, 2},
};

OpGroup normalization_ops() {
  static constexpr const OpDef* kOps[] = {&batch_normalization_op,      &batch_normalization_training_op,
                                          &batch_normalization_grad_op, &layer_normalization_op,
                                          &layer_normalization_grad_op, &dropout_op};
  return kOps;
}

Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& offset,
                           const Tensor& scale, double variance_epsilon) {
  return apply(batch_normalization_op, {x, mean, variance, offset, scale, scalar_like(x, variance_epsilon)});
}
Tensors batch_normalization_training(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon) {
  return apply_with(batch_normalization_training_op, {x, scale, offset}, epsilon);
}
Tensor layer_normalization(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon) {
  return apply_with(layer_normalization_op, {x, scale, offset}, epsilon)[0];
}

Tensor dropout(const Tensor& x, double rate, std::int64_t seed) {
  if (!(rate >= 0 && rate < 1)) fail(ErrorCode::invalid_argument, "dropout: rate must be in [0, 1), got ", rate);
  if (rate == 0) return x;
  return apply(dropout_op, {x, random_uniform(x.shape(), 0, 1, x.dtype(), seed), scalar_like(x, rate)});
}

}  // namespace tandem
