// Ops that change the shape: views, transposes, joins, padding, broadcasting.
#include <numeric>

#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

/// The product of the sizes that are not 0 (nor -1).
std::int64_t product_but_zeros(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1},
                         [](auto product, auto size) { return size > 0 ? product * size : product; });
}

/// The shape asked for, with a -1 replaced by what is left. Without elements [0, 28, 28] becomes [0, 784] when asked
/// for [0, -1], as in TensorFlow: the same as any other batch.
Shape resolved_shape(std::string_view op, std::span<const std::int64_t> wanted, const Shape& from) {
  const std::int64_t elements = from.elements();
  std::vector<std::int64_t> sizes(wanted.begin(), wanted.end());
  std::int64_t known = 1;
  int open = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (open >= 0) fail(ErrorCode::invalid_shape, op, ": only one size may be -1, got [", join(wanted), "]");
      open = static_cast<int>(i);
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      fail(ErrorCode::invalid_shape, op, ": impossible shape [", join(wanted), "]");
    }
  }
  if (open >= 0 && known > 0 && elements % known == 0) sizes[static_cast<std::size_t>(open)] = elements / known;
  else if (open >= 0 && known == 0 && elements == 0)
    sizes[static_cast<std::size_t>(open)] = product_but_zeros(from) / product_but_zeros(wanted);
  else if (open >= 0)
    fail(ErrorCode::shape_mismatch, op, ": ", elements, " elements do not divide into [", join(wanted), "]");
  const Shape shape{std::span<const std::int64_t>(sizes)};
  if (shape.elements() != elements)
    fail(ErrorCode::shape_mismatch, op, ": the input has ", elements, " elements, shape [", join(wanted), "] needs ",
         shape.elements());
  return shape;
}

const OpDef reshape_op{
    .name = "reshape",
    .doc = "The same elements under another shape; one size may be -1.",
    .inputs = {"tensor"},
    .attrs = {{.name = "shape", .kind = AttrKind::ints}},
    .dtypes = kFixedSize | DTypeSet{DType::string},
    .infer =
        [](const InferContext& c) {
          return Specs{{c.dtype(0), resolved_shape("reshape", c.attrs.ints("shape"), c.shape(0))}};
        },
    .grad = [](GradContext& g) { return Tensors{reshape(g.output_grad(), g.shape(0))}; },
    .flops_per_element = 0,
    .view = true,
};

const OpDef identity_op{
    .name = "identity",
    .doc = "x itself.",
    .inputs = {"input"},
    .dtypes = kFixedSize | DTypeSet{DType::string},
    .infer = same_as_first,
    .grad = [](GradContext& g) { return Tensors{g.output_grad()}; },
    .flops_per_element = 0,
    .view = true,
};

const OpDef stop_gradient_op{
    .name = "stop_gradient",
    .doc = "x itself; gradients do not pass.",
    .inputs = {"input"},
    .dtypes = kFixedSize | DTypeSet{DType::string},
    .infer = same_as_first,
    .grad = [](GradContext&) { return Tensors(1); },
    .flops_per_element = 0,
    .view = true,
};

/// The permutation asked for, normalised; an empty one reverses the axes.
Ints permutation(std::span<const std::int64_t> perm, int rank) {
  Ints axes(perm.begin(), perm.end());
  if (axes.empty())
    for (int i = rank - 1; i >= 0; --i) axes.push_back(i);
  if (static_cast<int>(axes.size()) != rank)
    fail(ErrorCode::invalid_axis, "transpose: perm [", join(perm), "] must name each of the ", rank, " axes once");
  std::uint32_t seen = 0;
  for (std::int64_t& axis : axes) {
    axis = normalize_axis("transpose", axis, rank);
    if (seen >> axis & 1)
      fail(ErrorCode::invalid_axis, "transpose: perm [", join(perm), "] names axis ", axis, " twice");
    seen |= 1u << axis;
  }
  return axes;
}

Specs infer_transpose(const InferContext& c) {
  Ints sizes;
  for (std::int64_t axis : permutation(c.attrs.ints("perm"), c.shape(0).rank()))
    sizes.push_back(c.shape(0)[static_cast<int>(axis)]);
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

Tensors transpose_grad(GradContext& g) {
  const Ints perm = permutation(g.attrs().ints("perm"), g.shape(0).rank());
  Ints inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return {transpose(g.output_grad(), inverse)};
}

Specs infer_concat(const InferContext& c) {
  const Shape& first = c.shape(0);
  const int axis = normalize_axis("concat", c.attrs.integer("axis"), first.rank());
  Ints sizes(first.begin(), first.end());
  for (int i = 1; i < c.count(); ++i) {
    const Shape& shape = c.shape(i);
    bool fits = shape.rank() == first.rank();
    for (int d = 0; fits && d < first.rank(); ++d) fits = d == axis || shape[d] == first[d];
    if (!fits)
      fail(ErrorCode::shape_mismatch, "concat: tensors may differ in axis ", axis, " only, got ", first, " and ", shape,
           " (tensor ", i, ")");
    if (__builtin_add_overflow(sizes[static_cast<std::size_t>(axis)], shape[axis],
                               &sizes[static_cast<std::size_t>(axis)]))
      fail(ErrorCode::invalid_shape, "concat: the joined axis is too long");
  }
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

Tensors concat_grad(GradContext& g) {
  const int axis = normalize_axis("concat", g.attrs().integer("axis"), g.shape(0).rank());
  Tensors grads;
  Ints begin(static_cast<std::size_t>(g.shape(0).rank()), 0);
  for (int i = 0; i < g.count(); ++i) {
    grads.push_back(
        when(g.wants(i), [&] { return slice(g.output_grad(), begin, Ints(g.shape(i).begin(), g.shape(i).end())); }));
    begin[static_cast<std::size_t>(axis)] += g.shape(i)[axis];
  }
  return grads;
}

Specs infer_pad(const InferContext& c) {
  const auto paddings = c.attrs.ints("paddings");
  const Shape& shape = c.shape(0);
  if (static_cast<int>(paddings.size()) != 2 * shape.rank())
    fail(ErrorCode::invalid_argument, "pad: paddings needs two numbers an axis, ", 2 * shape.rank(), " for ", shape,
         ", got ", paddings.size());
  Ints sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t before = paddings[2 * i], after = paddings[2 * i + 1];
    std::int64_t size = shape[i];
    if (before < 0 || after < 0)
      fail(ErrorCode::invalid_argument, "pad: paddings must not be negative, got [", join(paddings),
           "]; use slice to cut");
    if (__builtin_add_overflow(size, before, &size) || __builtin_add_overflow(size, after, &size))
      fail(ErrorCode::invalid_shape, "pad: axis ", i, " becomes too long");
    sizes.push_back(size);
  }
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

Tensors pad_grad(GradContext& g) {
  const auto paddings = g.attrs().ints("paddings");
  Ints begin;
  for (std::size_t i = 0; i < paddings.size(); i += 2) begin.push_back(paddings[i]);
  return {slice(g.output_grad(), begin, Ints(g.shape(0).begin(), g.shape(0).end()))};
}

Specs infer_broadcast_to(const InferContext& c) {
  const Shape wanted(c.attrs.ints("shape"));
  if (c.shape(0).rank() > wanted.rank() || broadcast_shapes("broadcast_to", c.shape(0), wanted) != wanted)
    fail(ErrorCode::shape_mismatch, "broadcast_to: ", c.shape(0), " does not broadcast to ", wanted);
  return {{c.dtype(0), wanted}};
}

}  // namespace

const OpDef transpose_op{
    .name = "transpose",
    .doc = "Axes in another order; reversed when no perm is given.",
    .inputs = {"a"},
    .attrs = {{.name = "perm", .kind = AttrKind::ints, .default_value = "None"}},
    .dtypes = kFixedSize,
    .infer = infer_transpose,
    .grad = transpose_grad,
    .flops_per_element = 0,
};

const OpDef concat_op{
    .name = "concat",
    .doc = "Tensors joined along an axis.",
    .inputs = {"values"},
    .variadic = true,
    .attrs = {{.name = "axis"}},
    .dtypes = kFixedSize,
    .infer = infer_concat,
    .grad = concat_grad,
    .flops_per_element = 0,
};

const OpDef pad_op{
    .name = "pad",
    .doc = "A margin of a constant around the tensor: before and after each axis.",
    .inputs = {"tensor"},
    .attrs = {{.name = "paddings", .kind = AttrKind::ints},
              {.name = "constant_values", .kind = AttrKind::real, .default_value = "0", .at_run_time = true}},
    .dtypes = kFixedSize,
    .infer = infer_pad,
    .grad = pad_grad,
    .flops_per_element = 0,
};

const OpDef broadcast_to_op{
    .name = "broadcast_to",
    .doc = "The tensor repeated along axes of size 1 until it has the shape.",
    .inputs = {"input"},
    .attrs = {{.name = "shape", .kind = AttrKind::ints}},
    .dtypes = kFixedSize,
    .infer = infer_broadcast_to,
    .grad = [](GradContext& g) { return Tensors{unbroadcast(g.output_grad(), g.shape(0))}; },
    .flops_per_element = 0,
};

OpGroup shape_ops() {
  static constexpr const OpDef* kOps[] = {&reshape_op, &identity_op, &stop_gradient_op, &transpose_op,
                                          &concat_op,  &pad_op,      &broadcast_to_op};
  return kOps;
}

Tensor reshape(const Tensor& x, const Ints& shape) { return apply(reshape_op, {x}, make_attrs(reshape_op, shape)); }
Tensor reshape(const Tensor& x, const Shape& shape) { return apply(reshape_op, {x}, make_attrs(reshape_op, shape)); }
Tensor identity(const Tensor& x) { return apply(identity_op, {x}); }
Tensor stop_gradient(const Tensor& x) { return apply(stop_gradient_op, {x}); }

Tensor expand_dims(const Tensor& x, std::int64_t axis) {
  Ints sizes(x.shape().begin(), x.shape().end());
  sizes.insert(sizes.begin() + normalize_axis("expand_dims", axis, x.rank() + 1), 1);
  return reshape(x, sizes);
}

Tensor squeeze(const Tensor& x, const Ints& axes) {
  const AxisSet named = axes.empty() ? AxisSet{} : reduced_axes("squeeze", axes, x.rank());
  Ints sizes;
  for (int i = 0; i < x.rank(); ++i) {
    if (named.contains(i) && x.shape()[i] != 1)
      fail(ErrorCode::invalid_axis, "squeeze: axis ", i, " of ", x.shape(), " has not size 1");
    const bool dropped = axes.empty() ? is_same_size(x.shape()[i], 1) : named.contains(i);
    if (!dropped) sizes.push_back(x.shape()[i]);
  }
  return reshape(x, sizes);
}

Tensor transpose(const Tensor& x, const Ints& perm) { return apply(transpose_op, {x}, make_attrs(transpose_op, perm)); }

Tensor concat(const Tensors& values, std::int64_t axis) {
  const std::vector<TensorRef> refs(values.begin(), values.end());
  return apply_all(concat_op, refs, make_attrs(concat_op, axis))[0];
}

Tensor pad(const Tensor& x, const Ints& paddings, double constant_value) {
  return apply(pad_op, {x}, make_attrs(pad_op, paddings, constant_value));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : apply(broadcast_to_op, {x}, make_attrs(broadcast_to_op, shape));
}

}  // namespace tandem
