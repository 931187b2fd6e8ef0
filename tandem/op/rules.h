// Shape rules and gradient helpers that several ops share.
#pragma once
#include <string_view>

#include "tandem/op/dispatcher.h"
#include "tandem/op/grad.h"
#include "tandem/op/op_def.h"
#include "tandem/op/ops.h"

namespace tandem {

// --- Shape rules. ---
/// Dtype and shape of input 0.
Specs same_as_first(const InferContext& c);
/// NumPy broadcasting of all inputs; dtype of the last (so that where(condition, x, y) fits).
Specs broadcast_inputs(const InferContext& c);
/// NumPy broadcasting; bool.
Specs broadcast_to_bool(const InferContext& c);

/// For ops on bools that are not logic: computes them as small integers.
DType bool_as_integer(DType dtype);

/// The axes an op with an `axis` list works on: normalised, ascending; an empty list means all.
struct AxisSet {
  bool contains(int axis) const { return bits >> axis & 1; }
  std::uint32_t bits = 0;
};
AxisSet reduced_axes(std::string_view op, std::span<const std::int64_t> axes, int rank);
/// `shape` without the axes of `set`, or with size 1 there.
Shape reduced_shape(const Shape& shape, AxisSet set, bool keepdims);

/// What sliding windows may be asked for: sizes, strides, paddings.
inline constexpr std::int64_t kLargestWindow = 1 << 20;
/// Refuses an attribute such as strides unless it is one or two positive numbers; one stands for both axes.
void positive_pair(const InferContext& c, std::string_view name);
/// Refuses a gradient that does not have the shape of the output it belongs to.
void check_grad_shape(const InferContext& c, const Shape& expected, const Shape& grad);

// --- Gradient helpers. ---
/// Sums `grad` over the axes along which `shape` was broadcast.
Tensor unbroadcast(const Tensor& grad, const Shape& shape);
/// `value` as a scalar of `like`'s dtype.
Tensor scalar_like(const Tensor& like, double value);

/// make(), if it is wanted.
template <class F>
Tensor when(bool wanted, F make) {
  return wanted ? make() : Tensor();
}

/// A gradient op whose forward op is `forward`, written in ops: which inputs are gradients of forward's outputs, and
/// which are forward's inputs. What it takes besides follows from these and has no gradient of its own.
struct GradientOf {
  OpsFunction forward;
  Ints output_grads, inputs;
};
/// The gradients of such an op: forward is differentiated twice.
Tensors second_gradients(const GradContext& g, const GradientOf& op);

/// The gradient of input i, brought back to its shape; undefined when nobody wants it.
template <class F>
Tensor grad_of(const GradContext& g, int i, F make) {
  return g.wants(i) ? unbroadcast(make(), g.shape(i)) : Tensor();
}

}  // namespace tandem
