// Reductions over axes.
#include "tandem/op/array_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
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

/// `reduced` (a gradient or result without the reduced axes) as a tensor that broadcasts against the input.
Tensor with_reduced_axes(GradContext& g, const Tensor& reduced) {
  const AxisSet axes = axes_of("reduction", g.attrs(), g.shape(0).rank());
  return reshape(reduced, reduced_shape(g.shape(0), axes, true));
}

/// `sum` divided by the number of elements that were reduced to one.
Tensor divided_by_count(GradContext& g, const Tensor& sum) {
  const AxisSet axes = axes_of("reduction", g.attrs(), g.shape(0).rank());
  Ints reduced;
  for (int i = 0; i < g.shape(0).rank(); ++i)
    if (axes.contains(i)) reduced.push_back(g.shape(0)[i]);
  const std::int64_t count = product_of_sizes(reduced);
  return sum / ratio_of_sizes(count, 1, sum.dtype());
}

/// The gradient goes to the elements that are the result; several share it, as in TensorFlow.
Tensors chosen_grad(GradContext& g) {
  const Tensor chosen = cast(equal(g.input(), with_reduced_axes(g, g.output())), g.input().dtype());
  const AttrView attrs = g.attrs();
  const auto axis = attrs.ints("axis");
  const Tensor count = reduce_sum(chosen, Ints(axis.begin(), axis.end()), attrs.boolean("keepdims"));
  return {chosen * with_reduced_axes(g, g.output_grad() / count)};
}

/// The product of all others, without division so that a zero does no harm: products before and after each element.
Tensors prod_grad(GradContext& g) {
  const int rank = g.shape(0).rank();
  const AxisSet axes = axes_of("reduce_prod", g.attrs(), rank);
  Ints kept, perm, inverse(static_cast<std::size_t>(rank));
  for (bool reduced : {false, true})
    for (int i = 0; i < rank; ++i)
      if (axes.contains(i) == reduced) perm.push_back(i);
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  for (int i = 0; i < rank; ++i)
    if (!axes.contains(i)) kept.push_back(g.shape(0)[i]);
  const bool in_place =
      std::ranges::is_sorted(perm);  // no axis moves: copying all of it twice would be a seventh of the work
  const Tensor moved = in_place ? g.input() : transpose(g.input(), perm);
  const Shape moved_shape = moved.shape();
  kept.push_back(-1);
  if (g.shape(0).elements() == 0) return {zeros_like(g.input())};
  const Tensor rows = reshape(moved, kept);
  const Tensor others =
      cumprod(rows, -1, {.exclusive = true}) * cumprod(rows, -1, {.exclusive = true, .reverse = true});
  const Tensor product = in_place ? others : transpose(reshape(others, moved_shape), inverse);
  return {reshape(product, g.shape(0)) * with_reduced_axes(g, g.output_grad())};
}

Specs infer_arg(const InferContext& c) {
  const int axis = normalize_axis(c.op.name, c.attrs.integer("axis"), c.shape(0).rank());
  const DType type = c.attrs.dtype("output_type");
  if (type != DType::i32 && type != DType::i64)
    fail(ErrorCode::unsupported_dtype, c.op.name, ": output_type must be int32 or int64, got ", type);
  if (c.shape(0)[axis] == 0)
    fail(ErrorCode::invalid_shape, c.op.name, ": axis ", axis, " of ", c.shape(0), " is empty and has no such value");
  return {{type, reduced_shape(c.shape(0), {1u << axis}, false)}};
}

constexpr DTypeSet kBool{DType::boolean};

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
    .doc =
        "The mean over axes; over all when none are named. Of integers: of their sum in 64 bits, rounded towards zero.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad =
        [](GradContext& g) {
          if (!is_floating(g.input_spec(0).dtype())) return Tensors(1);
          return Tensors{broadcast_to(with_reduced_axes(g, divided_by_count(g, g.output_grad())), g.shape(0))};
        },
};

const OpDef reduce_max_op{
    .name = "reduce_max",
    .doc = "The largest value over axes; over all when none are named. NaN if any is; of nothing the lowest there is.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad = chosen_grad,
    .grad_reads = {.inputs = 1, .outputs = 1},
};

const OpDef reduce_min_op{
    .name = "reduce_min",
    .doc = "The smallest value over axes; over all when none are named. NaN if any is.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad = chosen_grad,
    .grad_reads = {.inputs = 1, .outputs = 1},
};

const OpDef reduce_prod_op{
    .name = "reduce_prod",
    .doc = "The product over axes; over all when none are named.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .infer = infer_reduction,
    .grad = prod_grad,
    .grad_reads = {.inputs = 1},
};

const OpDef reduce_any_op{
    .name = "reduce_any",
    .doc = "Whether any is true over axes; over all when none are named.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .dtypes = kBool,
    .infer = infer_reduction,
};

const OpDef reduce_all_op{
    .name = "reduce_all",
    .doc = "Whether all are true over axes; over all when none are named.",
    .inputs = {"input_tensor"},
    .attrs = {kAxis, kKeepdims},
    .dtypes = kBool,
    .infer = infer_reduction,
};

const OpDef argmin_op{
    .name = "argmin",
    .doc = "The index of the smallest value along an axis; the first of several; a NaN counts as infinity.",
    .inputs = {"input"},
    .attrs = {{.name = "axis", .default_value = "0"},
              {.name = "output_type", .kind = AttrKind::dtype, .default_value = "int64"}},
    .infer = infer_arg,
};

const OpDef argmax_op{
    .name = "argmax",
    .doc = "The index of the largest value along an axis; the first of several; a NaN counts as minus infinity.",
    .inputs = {"input"},
    .attrs = {{.name = "axis", .default_value = "0"},
              {.name = "output_type", .kind = AttrKind::dtype, .default_value = "int64"}},
    .infer = infer_arg,
};

OpGroup reduction_ops() {
  static constexpr const OpDef* kOps[] = {&reduce_sum_op, &reduce_mean_op, &reduce_max_op,
                                          &reduce_min_op, &reduce_prod_op, &reduce_any_op,
                                          &reduce_all_op, &argmax_op,      &argmin_op};
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

Tensor reduce_min(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_min_op, {x}, make_attrs(reduce_min_op, axes, keepdims));
}
Tensor reduce_prod(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_prod_op, {x}, make_attrs(reduce_prod_op, axes, keepdims));
}
Tensor reduce_any(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_any_op, {x}, make_attrs(reduce_any_op, axes, keepdims));
}
Tensor reduce_all(const Tensor& x, const Ints& axes, bool keepdims) {
  return apply(reduce_all_op, {x}, make_attrs(reduce_all_op, axes, keepdims));
}
Tensor argmin(const Tensor& x, std::int64_t axis, DType output_type) {
  return apply(argmin_op, {x}, make_attrs(argmin_op, axis, output_type));
}

Tensor reduce_logsumexp(const Tensor& x, const Ints& axes, bool keepdims) {
  const Tensor largest = stop_gradient(reduce_max(x, axes, true));
  const Tensor shift = where(is_finite(largest), largest, zeros_like(largest));
  const Tensor sum = log(reduce_sum(exp(x - shift), axes, true)) + shift;
  if (keepdims) return sum;
  return reshape(sum, reduced_shape(x.shape(), reduced_axes("reduce_logsumexp", axes, x.rank()), false));
}
Tensor reduce_variance(const Tensor& x, const Ints& axes, bool keepdims) {
  return reduce_mean(square(x - reduce_mean(x, axes, true)), axes, keepdims);
}
Tensor reduce_std(const Tensor& x, const Ints& axes, bool keepdims) { return sqrt(reduce_variance(x, axes, keepdims)); }
Tensor reduce_euclidean_norm(const Tensor& x, const Ints& axes, bool keepdims) {
  return sqrt(reduce_sum(square(x), axes, keepdims));
}

}  // namespace tandem
