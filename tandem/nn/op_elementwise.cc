// Functions of keras.ops of each element by itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/nn/keras_call.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/special.h"

namespace tandem {
namespace {

template <Tensor (*kOp)(const Tensor&)>
Tensor unary(const KerasCall& call) {
  return kOp(call.x());
}
/// Of whole numbers and bools: of them as float32, as in Keras.
template <Tensor (*kOp)(const Tensor&)>
Tensor smooth(const KerasCall& call) {
  return kOp(as_float(call.x()));
}

template <Tensor (*kOp)(const Tensor&, const Tensor&)>
Tensor binary(const KerasCall& call) {
  if (call.inputs.size() != 2) call.config.refuse("two operands are needed, got ", call.inputs.size());
  const auto [x, y] = promoted(call.inputs[0], call.inputs[1]);
  return kOp(x, y);
}
template <Tensor (*kOp)(const Tensor&, const Tensor&)>
Tensor smooth_binary(const KerasCall& call) {
  if (call.inputs.size() != 2) call.config.refuse("two operands are needed, got ", call.inputs.size());
  const auto [x, y] = promoted(call.inputs[0], call.inputs[1]);
  return kOp(as_float(x), as_float(y));
}
template <Tensor (*kOp)(const Tensor&, const Tensor&)>
Tensor logical(const KerasCall& call) {
  return kOp(cast(call.input(0), DType::boolean), cast(call.input(1), DType::boolean));
}

Tensor power_of_two(const Tensor& x) { return exp(x * std::numbers::ln2); }
Tensor log_2(const Tensor& x) { return log(x) / std::numbers::ln2; }
Tensor log_10(const Tensor& x) { return log(x) / std::numbers::ln10; }
Tensor truncated(const Tensor& x) { return is_floating(x.dtype()) ? sign(x) * floor(abs(x)) : x; }
Tensor cube_root(const Tensor& x) { return sign(x) * pow(abs(x), 1.0 / 3.0); }
Tensor hypotenuse(const Tensor& x, const Tensor& y) { return sqrt(square(x) + square(y)); }
/// x - y * (the quotient towards 0): the sign of x.
Tensor remainder(const Tensor& x, const Tensor& y) { return sign(x) * floormod(abs(x), abs(y)); }
Tensor log_of_sum(const Tensor& x, const Tensor& y) {
  const Tensor distance = x - y;
  return where(is_nan(distance), x + y, maximum(x, y) + log1p(exp(negative(abs(distance)))));
}
Tensor log2_of_sum(const Tensor& x, const Tensor& y) {
  return log_of_sum(x * std::numbers::ln2, y * std::numbers::ln2) / std::numbers::ln2;
}
Tensor stepped(const Tensor& x, const Tensor& at_zero) {
  return where(less(x, 0.0), zeros_like(x + at_zero), where(equal(x, 0.0), at_zero, ones_like(x + at_zero)));
}
/// The other operand where one is no number.
template <Tensor (*kOp)(const Tensor&, const Tensor&)>
Tensor ignoring_nan(const Tensor& x, const Tensor& y) {
  return where(is_nan(x), y, where(is_nan(y), x, kOp(x, y)));
}
Tensor is_infinite(const Tensor& x, double sign) { return equal(x, sign * std::numeric_limits<double>::infinity()); }
Tensor sine_over(const Tensor& x) {
  const Tensor angle = x * std::numbers::pi, safe = where(equal(x, 0.0), ones_like(x), angle);
  return where(equal(x, 0.0), ones_like(x), sin(safe) / safe);
}

Tensor rounded(const KerasCall& call) {
  const auto decimals = static_cast<double>(call.config.integer("decimals", 0));
  if (decimals == 0 || !is_floating(call.x().dtype()))
    return is_floating(call.x().dtype()) ? round(call.x()) : call.x();
  const double factor = std::pow(10.0, decimals);
  return round(call.x() * factor) / factor;
}

Tensor clipped(const KerasCall& call) {
  Tensor x = call.x();
  if (call.config.has("x_min")) x = maximum(x, call.config.real("x_min"));
  return call.config.has("x_max") ? minimum(x, call.config.real("x_max")) : x;
}

Tensor finite(const KerasCall& call) {
  const Tensor& x = call.x();
  if (!is_floating(x.dtype())) return x;
  const double most = x.dtype() == DType::f64   ? std::numeric_limits<double>::max()
                      : x.dtype() == DType::f16 ? 65504.0
                                                : std::numeric_limits<float>::max();
  const auto filled = [&](double value) { return zeros_like(x) + value; };
  const Tensor numbers = where(is_nan(x), filled(call.config.real("nan", 0.0)), x);
  const Tensor below = where(is_infinite(x, 1), filled(call.config.real("posinf", most)), numbers);
  return where(is_infinite(x, -1), filled(call.config.real("neginf", -most)), below);
}

Tensor close(const KerasCall& call) {
  const auto [x, y] = promoted(as_float(call.input(0)), as_float(call.input(1)));
  const auto number = [&](std::size_t place, double fallback) {
    return place < call.args.size() && call.args[place].is_number() ? call.args[place].get<double>() : fallback;
  };
  const double relative = number(2, 1e-5), absolute = number(3, 1e-8);
  const Tensor near = logical_or(equal(x, y), less_equal(abs(x - y), abs(y) * relative + absolute));
  return call.config.flag("equal_nan", false) ? logical_or(near, logical_and(is_nan(x), is_nan(y))) : near;
}

// --- Activations with arguments ---

Tensor elu_of(const KerasCall& call) {
  const Tensor& x = call.x();
  const double alpha = call.config.real("alpha", 1.0);
  return alpha == 1.0 ? elu(x) : where(greater(x, 0.0), x, expm1(x) * alpha);
}
Tensor celu_of(const KerasCall& call) {
  const double alpha = call.config.real("alpha", 1.0);
  return maximum(call.x(), 0.0) + expm1(minimum(call.x(), 0.0) / alpha) * alpha;
}
Tensor glu_of(const KerasCall& call) {
  return along_last(call.x(), call.axis(), [](const Tensor& x) {
    const std::int64_t half = x.shape()[-1] / 2;
    if (x.shape()[-1] % 2) fail(ErrorCode::shape_mismatch, "glu: the axis must have an even size, got ", x.shape());
    return part_of(x, -1, 0, half) * sigmoid(part_of(x, -1, half, half));
  });
}
/// x outside of [-threshold, threshold], else 0; `moved`: nearer to 0 by it.
Tensor shrunk(const KerasCall& call, bool moved) {
  const Tensor& x = call.x();
  const double limit = call.config.real("threshold", 0.5);
  if (moved) return sign(x) * relu(abs(x) - limit);
  return where(greater(abs(x), limit), x, zeros_like(x));
}
Tensor above_threshold(const KerasCall& call) {
  const Tensor& x = call.x();
  return where(greater(x, call.config.real("threshold")), x, zeros_like(x) + call.config.real("default_value"));
}
Tensor named_activation(const KerasCall& call) {
  return find_activation(snake_case(call.config.class_name()))(call.x());
}

constexpr KerasFunction kRecords[] = {
    {"Abs", unary<abs>},
    {"Absolute", unary<abs>},
    {"Fabs", smooth<abs>},
    {"Negative", unary<negative>},
    {"Sign", unary<sign>},
    {"Square", unary<square>},
    {"Identity", unary<identity>},
    {"Copy", unary<identity>},
    {"Real", unary<identity>},
    {"Conj", unary<identity>},
    {"Conjugate", unary<identity>},
    {"StopGradient", unary<stop_gradient>},
    {"LogicalNot", [](const KerasCall& c) { return logical_not(cast(c.x(), DType::boolean)); }},
    {"Arccos", smooth<acos>},
    {"Arccosh", smooth<acosh>},
    {"Arcsin", smooth<asin>},
    {"Arcsinh", smooth<asinh>},
    {"Arctan", smooth<atan>},
    {"Arctanh", smooth<atanh>},
    {"Cos", smooth<cos>},
    {"Cosh", smooth<cosh>},
    {"Sin", smooth<sin>},
    {"Sinh", smooth<sinh>},
    {"Tan", smooth<tan>},
    {"Tanh", smooth<tanh>},
    {"Sinc", smooth<sine_over>},
    {"Ceil", smooth<ceil>},
    {"Floor", smooth<floor>},
    {"Trunc", unary<truncated>},
    {"Round", rounded},
    {"Erf", smooth<erf>},
    {"Erfc", smooth<erfc>},
    {"Erfinv", smooth<erfinv>},
    {"Exp", smooth<exp>},
    {"Exp2", smooth<power_of_two>},
    {"Expm1", smooth<expm1>},
    {"Log", smooth<log>},
    {"Log10", smooth<log_10>},
    {"Log1p", smooth<log1p>},
    {"Log2", smooth<log_2>},
    {"Cbrt", smooth<cube_root>},
    {"Reciprocal", smooth<reciprocal>},
    {"Rsqrt", smooth<rsqrt>},
    {"Sqrt", smooth<sqrt>},
    {"Deg2rad", [](const KerasCall& c) { return as_float(c.x()) * (std::numbers::pi / 180); }},
    {"Rad2deg", [](const KerasCall& c) { return as_float(c.x()) * (180 / std::numbers::pi); }},
    {"Isfinite", smooth<is_finite>},
    {"Isinf", smooth<is_inf>},
    {"Isnan", smooth<is_nan>},
    {"Isneginf", [](const KerasCall& c) { return is_infinite(as_float(c.x()), -1); }},
    {"Isposinf", [](const KerasCall& c) { return is_infinite(as_float(c.x()), 1); }},
    {"NanToNum", finite},
    {"Clip", clipped},
    {"Isclose", close},
    {"Cast", [](const KerasCall& c) { return cast(c.x(), c.dtype_or(c.x().dtype())); }},
    {"ConvertToTensor", [](const KerasCall& c) { return cast(c.x(), c.dtype_or(c.x().dtype())); }},
    {"Array", [](const KerasCall& c) { return cast(c.x(), c.dtype_or(c.x().dtype())); }},
    {"Add", binary<add>},
    {"Subtract", binary<subtract>},
    {"Multiply", binary<multiply>},
    {"Maximum", binary<maximum>},
    {"Minimum", binary<minimum>},
    {"Divide", smooth_binary<divide>},
    {"TrueDivide", smooth_binary<divide>},
    {"DivideNoNan", smooth_binary<divide_no_nan>},
    {"FloorDivide", binary<floordiv>},
    {"Mod", binary<floormod>},
    {"Fmod", smooth_binary<remainder>},
    {"Power", binary<pow>},
    {"Arctan2", smooth_binary<atan2>},
    {"Hypot", smooth_binary<hypotenuse>},
    {"Logaddexp", smooth_binary<log_of_sum>},
    {"Logaddexp2", smooth_binary<log2_of_sum>},
    {"Heaviside", smooth_binary<stepped>},
    {"Fmax", smooth_binary<ignoring_nan<maximum>>},
    {"Fmin", smooth_binary<ignoring_nan<minimum>>},
    {"Equal", binary<equal>},
    {"NotEqual", binary<not_equal>},
    {"Greater", binary<greater>},
    {"GreaterEqual", binary<greater_equal>},
    {"Less", binary<less>},
    {"LessEqual", binary<less_equal>},
    {"LogicalAnd", logical<logical_and>},
    {"LogicalOr", logical<logical_or>},
    {"LogicalXor", logical<logical_xor>},
    {"BitwiseAnd", binary<bitwise_and>},
    {"BitwiseOr", binary<bitwise_or>},
    {"BitwiseXor", binary<bitwise_xor>},
    {"BitwiseInvert", unary<invert>},
    {"BitwiseNot", unary<invert>},
    {"BitwiseLeftShift", binary<left_shift>},
    {"BitwiseRightShift", binary<right_shift>},
    {"LeftShift", binary<left_shift>},
    {"RightShift", binary<right_shift>},
    {"Relu", unary<relu>},
    {"Relu6", unary<relu6>},
    {"Selu", unary<selu>},
    {"Sigmoid", unary<sigmoid>},
    {"Silu", unary<silu>},
    {"Softplus", unary<softplus>},
    {"Softsign", unary<softsign>},
    {"HardSigmoid", unary<hard_sigmoid>},
    {"HardSilu", unary<hard_silu>},
    {"LogSigmoid", unary<log_sigmoid>},
    {"Elu", elu_of},
    {"Celu", celu_of},
    {"Glu", glu_of},
    {"Threshold", above_threshold},
    {"HardShrink", [](const KerasCall& c) { return shrunk(c, false); }},
    {"SoftShrink", [](const KerasCall& c) { return shrunk(c, true); }},
    {"HardTanh", named_activation},
    {"SparsePlus", named_activation},
    {"SparseSigmoid", named_activation},
    {"TanhShrink", named_activation},
    {"Squareplus", [](const KerasCall& c) { return (c.x() + sqrt(square(c.x()) + c.config.real("b", 4.0))) / 2.0; }},
    {"Sparsemax", [](const KerasCall& c) { return along_last(c.x(), c.axis(), find_activation("sparsemax")); }},
    {"Gelu", [](const KerasCall& c) { return gelu(c.x(), c.config.flag("approximate", true)); }},
    {"LeakyRelu", [](const KerasCall& c) { return leaky_relu(c.x(), c.config.real("negative_slope", 0.2)); }},
    {"LogSoftmax", [](const KerasCall& c) { return log_softmax(c.x(), c.config.integer("axis", -1)); }},
    {"Softmax", [](const KerasCall& c) { return softmax(c.x(), c.config.integer("axis", -1)); }},
};

}  // namespace

std::span<const KerasFunction> elementwise_op_layers() { return kRecords; }

}  // namespace tandem
