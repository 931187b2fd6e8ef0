// Reductions over axes.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr AttrDef kAxis{.name = "axis", .kind = AttrKind::ints, .default_value = "None"};
constexpr AttrDef kKeepdims{.name = "keepdims", .kind = AttrKind::boolean, .default_value = "False"};

AxisSet axes_of(std::string_view op, const AttrView& attrs, int rank) {
  return reduced_axes(op, attrs.ints("axis"), rank);
}

Specs infer_reduction(const InferContext& c) {
  const AxisSet axes = axes_of(c.op.name, c.attrs, c.shape(0).rank());
  return {{c.dtype(0), reduced_shape(c.shape(0), axes, c.attrs.boolean("keepdims"))}};
}

Specs infer_max(const InferContext& c) {
  const AxisSet axes = axes_of(c.op.name, c.attrs, c.shape(0).rank());
  for (int i = 0; i < c.shape(0).rank(); ++i)
    if (axes.contains(i) && c.shape(0)[i] == 0 && c.op.dtypes.contains(c.dtype(0)) && !is_floating(c.dtype(0)))
      fail(ErrorCode::invalid_shape, c.op.name, ": axis ", i, " of ", c.shape(0), " is empty and has no largest value");
  return infer_reduction(c);
}

/// `reduced` (a gradient or result without the reduced axes) as a tensor that broadcasts against the input.
Tensor with_reduced_axes(GradContext& g, const Tensor& reduced) {
  const AxisSet axes = axes_of("reduction", g.attrs(), g.shape(0).rank());
  return reshape(reduced, reduced_shape(g.shape(0), axes, true));
}

double reduced_count(GradContext& g) {
  const AxisSet axes = axes_of("reduction", g.attrs(), g.shape(0).rank());
  double count = 1;
  for (int i = 0; i < g.shape(0).rank(); ++i)
    if (axes.contains(i)) count *= static_cast<double>(g.shape(0)[i]);
  return count;
}

}  // namespace

const OpDef reduce_sum_op{
    .name = "reduce_sum",
    .doc = "The sum over axes; over all when none are named.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad = [](GradContext& g) { return Tensors{broadcast_to(with_reduced_axes(g, g.output_grad()), g.shape(0))}; },
};

const OpDef reduce_mean_op{
    .name = "reduce_mean",
    .doc = "The mean over axes; over all when none are named.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad = [](GradContext& g) {
      if (!is_floating(g.input_spec(0).dtype())) return Tensors(1);
      return Tensors{broadcast_to(with_reduced_axes(g, g.output_grad() / reduced_count(g)), g.shape(0))};
    },
};

const OpDef reduce_max_op{
    .name = "reduce_max",
    .doc = "The largest value over axes; over all when none are named. NaN if any is.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_max,
    .grad = [](GradContext& g) {
      // Several equal largest values share the gradient, as in TensorFlow.
      const Tensor largest = cast(equal(g.input(), with_reduced_axes(g, g.output())), g.input().dtype());
      const AttrView attrs = g.attrs();
      const auto axis = attrs.ints("axis");
      const Tensor count = reduce_sum(largest, Ints(axis.begin(), axis.end()), attrs.boolean("keepdims"));
      return Tensors{largest * with_reduced_axes(g, g.output_grad() / count)};
    },
    .grad_reads = {.inputs = 1, .outputs = 1},
};

const OpDef argmax_op{
    .name = "argmax",
    .doc = "The index of the largest value along an axis; the first of several; NaN counts as largest.",
    .inputs = {"input"},
    .attrs = {{.name = "axis", .default_value = "0"},
              {.name = "output_type", .kind = AttrKind::dtype, .default_value = "int64"}},
    .infer = [](const InferContext& c) {
      const int axis = normalize_axis("argmax", c.attrs.integer("axis"), c.shape(0).rank());
      const DType type = c.attrs.dtype("output_type");
      if (type != DType::i32 && type != DType::i64)
        fail(ErrorCode::unsupported_dtype, "argmax: output_type must be int32 or int64, got ", type);
      if (c.shape(0)[axis] == 0)
        fail(ErrorCode::invalid_shape, "argmax: axis ", axis, " of ", c.shape(0), " is empty and has no largest value");
      return Specs{{type, reduced_shape(c.shape(0), {1u << axis}, false)}};
    },
};

OpGroup reduction_ops() {
  static constexpr const OpDef* kOps[] = {&reduce_sum_op, &reduce_mean_op, &reduce_max_op, &argmax_op};
  return kOps;
}

Tensor reduce_sum(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_sum_op, {x}, make_attrs(reduce_sum_op, axes, keepdims));
}
Tensor reduce_mean(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_mean_op, {x}, make_attrs(reduce_mean_op, axes, keepdims));
}
Tensor reduce_max(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_max_op, {x}, make_attrs(reduce_max_op, axes, keepdims));
}
Tensor argmax(const Tensor& x, std::int64_t axis, DType output_type) {
  return apply(argmax_op, {x}, make_attrs(argmax_op, axis, output_type));
}

}  // namespace tandem
