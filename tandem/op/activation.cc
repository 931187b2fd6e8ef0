// Activations and the ops their gradients are made of.
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

// --- Gradient ops: (value the gradient reads, gradient of the output) -> gradient of the input. ---

extern const OpDef tanh_grad_op, sigmoid_grad_op, relu_grad_op, gelu_grad_op;

const OpDef tanh_grad_op{
    .name = "tanh_grad",
    .doc = "dy * (1 - y * y): the gradient of y = tanh(x).",
    .inputs = {"y", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto y, auto dy) { return dy * (1 - y * y); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.input(0);
          return Tensors{grad_of(g, 0, [&] { return g.output_grad() * g.input(1) * (y * -2); }),
                         grad_of(g, 1, [&] { return apply(tanh_grad_op, {y, g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 3,
};

const OpDef sigmoid_grad_op{
    .name = "sigmoid_grad",
    .doc = "dy * y * (1 - y): the gradient of y = sigmoid(x).",
    .inputs = {"y", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto y, auto dy) { return dy * (y * (1 - y)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.input(0);
          return Tensors{grad_of(g, 0, [&] { return g.output_grad() * g.input(1) * (1 - y * 2); }),
                         grad_of(g, 1, [&] { return apply(sigmoid_grad_op, {y, g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 3,
};

const OpDef relu_grad_op{
    .name = "relu_grad",
    .doc = "dy where y > 0, else 0: the gradient of y = relu(x).",
    .inputs = {"y", "dy"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto y, auto dy) { return select(y > 0, dy, 0); }),
    .grad =
        [](GradContext& g) {
          return Tensors{grad_of(g, 0, [&] { return zeros_like(g.input(0)); }),
                         grad_of(g, 1, [&] { return apply(relu_grad_op, {g.input(0), g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b01},
};

/// The density of the standard normal distribution, in ops.
Tensor normal_density(const Tensor& x) { return exp(x * x * -0.5) * kInvSqrt2Pi; }

const OpDef gelu_grad_op{
    .name = "gelu_grad",
    .doc = "The gradient of gelu(x).",
    .inputs = {"x", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto dy) {
      auto below = 0.5f * (1 + erf(x * kSqrtHalf));
      auto density = exp(x * x * -0.5f) * kInvSqrt2Pi;
      return decltype(x)(dy * (below + x * density));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          return Tensors{
              grad_of(g, 0, [&] { return g.output_grad() * g.input(1) * (normal_density(x) * (2 - x * x)); }),
              grad_of(g, 1, [&] { return apply(gelu_grad_op, {x, g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 50,
};

// --- Activations. ---

const OpDef tanh_op{
    .name = "tanh",
    .doc = "The hyperbolic tangent of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return tanh(x); }),
    .grad = [](GradContext& g) { return Tensors{apply(tanh_grad_op, {g.output(), g.output_grad()})}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef sigmoid_op{
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return 1 / (1 + exp(-x)); }),
    .grad = [](GradContext& g) { return Tensors{apply(sigmoid_grad_op, {g.output(), g.output_grad()})}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef relu_op{
    .name = "relu",
    .doc = "x where x > 0, else 0; NaN stays NaN.",
    .inputs = {"features"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return greater_of(0, x); }),  // the second operand is what a NaN comparison gives
    .grad = [](GradContext& g) { return Tensors{apply(relu_grad_op, {g.output(), g.output_grad()})}; },
    .grad_reads = {.outputs = 1},
};

const OpDef gelu_op{
    .name = "gelu",
    .doc = "x * P(X <= x) for a standard normal X: 0.5 x (1 + erf(x / sqrt 2)).",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return decltype(x)(0.5f * x * (1 + erf(x * kSqrtHalf))); }),
    .grad = [](GradContext& g) { return Tensors{apply(gelu_grad_op, {g.input(), g.output_grad()})}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 25,
};

const OpDef gelu_tanh_op{
    .name = "gelu_tanh",
    .doc = "gelu by its tanh approximation: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) {
      auto inner = x * (1 + x * x * kGeluCubic) * kSqrt2OverPi;
      return decltype(x)(0.5f * x * (1 + tanh(decltype(x)(inner))));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input();
          const Tensor t = tanh(x * (1 + x * x * kGeluCubic) * kSqrt2OverPi);
          const Tensor inner_grad = (1 + x * x * (3 * kGeluCubic)) * kSqrt2OverPi;
          return Tensors{g.output_grad() * ((1 + t) * 0.5 + x * 0.5 * (1 - t * t) * inner_grad)};
        },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 30,
};

}  // namespace

OpGroup activation_ops() {
  static constexpr const OpDef* kOps[] = {&tanh_op,      &sigmoid_op,      &relu_op,      &gelu_op,     &gelu_tanh_op,
                                          &tanh_grad_op, &sigmoid_grad_op, &relu_grad_op, &gelu_grad_op};
  return kOps;
}

Tensor tanh(const Tensor& x) { return apply(tanh_op, {x}); }
Tensor sigmoid(const Tensor& x) { return apply(sigmoid_op, {x}); }
Tensor relu(const Tensor& x) { return apply(relu_op, {x}); }
Tensor gelu(const Tensor& x, bool approximate) { return apply(approximate ? gelu_tanh_op : gelu_op, {x}); }

}  // namespace tandem
