#include "tandem/op/rules.h"

namespace tandem {

Specs same_as_first(const InferContext& c) { return {c.input(0)}; }

namespace {
Shape broadcast_all(const InferContext& c) {
  Shape shape = c.shape(0);
  for (int i = 1; i < c.count(); ++i) shape = broadcast_shapes(c.op.name, shape, c.shape(i));
  return shape;
}
}  // namespace

Specs broadcast_inputs(const InferContext& c) { return {{c.dtype(c.count() - 1), broadcast_all(c)}}; }
Specs broadcast_to_bool(const InferContext& c) { return {{DType::boolean, broadcast_all(c)}}; }

DType bool_as_integer(DType dtype) { return dtype == DType::boolean ? DType::u8 : dtype; }

AxisSet reduced_axes(std::string_view op, std::span<const std::int64_t> axes, int rank) {
  AxisSet set;
  if (axes.empty()) set.bits = (1u << rank) - 1;
  for (std::int64_t axis : axes) {
    const std::uint32_t bit = 1u << normalize_axis(op, axis, rank);
    if (set.bits & bit) fail(ErrorCode::invalid_axis, op, ": axis ", axis, " is named twice in [", join(axes), "]");
    set.bits |= bit;
  }
  return set;
}

Shape reduced_shape(const Shape& shape, AxisSet set, bool keepdims) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!set.contains(i)) sizes.push_back(shape[i]);
    else if (keepdims) sizes.push_back(1);
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

void positive_pair(const InferContext& c, std::string_view name) {
  const auto values = c.attrs.ints(name);
  if (values.empty() || values.size() > 2)
    fail(ErrorCode::invalid_argument, c.op.name, ": ", name, " must be one or two numbers, got [", join(values), "]");
  for (std::int64_t v : values)
    if (v < 1 || v > kLargestWindow)
      fail(ErrorCode::invalid_argument, c.op.name, ": ", name, " must be positive, got [", join(values), "]");
}

void check_grad_shape(const InferContext& c, const Shape& expected, const Shape& grad) {
  if (expected != grad)
    fail(ErrorCode::shape_mismatch, c.op.name, ": the gradient must have the output's shape ", expected, ", got ",
         grad);
}

Tensor unbroadcast(const Tensor& grad, const Shape& shape) {
  if (!grad.defined() || grad.shape() == shape) return grad;
  std::vector<std::int64_t> axes;
  const int extra = grad.rank() - shape.rank();
  for (int i = 0; i < grad.rank(); ++i)
    if (i < extra || (shape[i - extra] == 1 && grad.shape()[i] != 1)) axes.push_back(i);
  Tensor sum = axes.empty() ? grad : reduce_sum(grad, axes);
  return sum.shape() == shape ? sum : reshape(sum, shape);
}

const Tensor& GradContext::output_grad(int i) const {
  Tensor& grad = parts_.output_grads[i];
  if (!grad.defined()) grad = zeros(parts_.output_specs[i].shape(), parts_.output_specs[i].dtype());
  return grad;
}

Tensors second_gradients(const GradContext& g, const GradientOf& op) {
  Ints places = op.output_grads;
  places.insert(places.end(), op.inputs.begin(), op.inputs.end());
  Tensors values;
  for (std::int64_t i : places) values.push_back(g.input(static_cast<int>(i)));
  const auto first = static_cast<std::ptrdiff_t>(op.output_grads.size());
  const auto gradients = [&](const Tensors& in) {
    Tensors found = g.differentiate(op.forward, {in.begin() + first, in.end()}, {in.begin(), in.begin() + first});
    found.resize(g.output_grads().size());  // forward may have inputs whose gradient is another op's
    return found;
  };
  const Tensors found = g.differentiate(gradients, values, g.output_grads());
  Tensors all(static_cast<std::size_t>(g.count()));
  for (std::size_t i = 0; i < places.size(); ++i) all[static_cast<std::size_t>(places[i])] = found[i];
  return all;
}

Tensor scalar_like(const Tensor& like, double value) { return Tensor::scalar(value, like.dtype()); }

}  // namespace tandem
