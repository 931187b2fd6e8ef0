// Activations beyond those of activation.cc.
#include "tandem/expr/functions.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

// The constants that keep mean 0 and variance 1: Klambauer et al., Self-Normalizing Neural Networks.
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

/// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
template <class T>
T softplus_of(T x) {
  return T(greater_of(0, x) + log1p(T(exp(-abs(x)))));
}

/// x * tanh(log(1 + e)) with e = exp(x): tanh is then n / (n + 2), n = e (e + 2), which is 1 from x = 20 on.
template <class T>
T mish_of(T x) {
  const T e = exp(lesser(20, x));
  const T n = e * (e + 2);
  return x * (n / (n + 2));
}

// Their gradients read x only to choose, so that its own is zero: connected, as in TensorFlow, where relu is.
extern const OpDef relu6_grad_op, leaky_relu_grad_op, hard_sigmoid_grad_op, hard_silu_grad_op;

const OpDef relu6_grad_op{
    .name = "relu6_grad",
    .doc = "dy where 0 < x < 6, else 0: the gradient of relu6(x).",
    .inputs = {"x", "dy"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto dy) { return select(x > 0, select(x < 6, dy, 0), 0); }),
    .grad =
        [](GradContext& g) {
          return Tensors{grad_of(g, 0, [&] { return zeros_like(g.input(0)); }),
                         grad_of(g, 1, [&] { return apply(relu6_grad_op, {g.input(0), g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b01},
    .flops_per_element = 2,
};

const OpDef hard_sigmoid_grad_op{
    .name = "hard_sigmoid_grad",
    .doc = "dy / 6 where -3 < x < 3, else 0: the gradient of hard_sigmoid(x).",
    .inputs = {"x", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto dy) { return decltype(x)(select(x > -3, select(x < 3, dy * (1.0 / 6), 0), 0)); }),
    .grad =
        [](GradContext& g) {
          return Tensors{grad_of(g, 0, [&] { return zeros_like(g.input(0)); }),
                         grad_of(g, 1, [&] { return apply(hard_sigmoid_grad_op, {g.input(0), g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b01},
    .flops_per_element = 3,
};

const OpDef hard_silu_grad_op{
    .name = "hard_silu_grad",
    .doc = "dy * (x / 3 + 1 / 2) where -3 < x < 3, dy above, 0 below: the gradient of hard_silu(x).",
    .inputs = {"x", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula(
        [](auto x, auto dy) { return decltype(x)(select(x > -3, select(x < 3, dy * (x * (1.0 / 3) + 0.5), dy), 0)); }),
    .grad =
        [](GradContext& g) {
          return Tensors{
              grad_of(g, 0,
                      [&] { return apply(hard_sigmoid_grad_op, {g.input(0), g.output_grad() * g.input(1) * 2}); }),
              grad_of(g, 1, [&] { return apply(hard_silu_grad_op, {g.input(0), g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 4,
};

const OpDef leaky_relu_grad_op{
    .name = "leaky_relu_grad",
    .doc = "dy where x > 0, else alpha * dy: the gradient of leaky_relu(x).",
    .inputs = {"x", "alpha", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto alpha, auto dy) { return select(x > 0, dy, dy * alpha); }),
    .grad =
        [](GradContext& g) {
          const Tensor &x = g.input(0), &upstream = g.output_grad();
          return Tensors{grad_of(g, 0, [&] { return zeros_like(x); }),
                         grad_of(g, 1, [&] { return where(greater(x, 0), scalar_like(x, 0), upstream * g.input(2)); }),
                         grad_of(g, 2, [&] { return apply(leaky_relu_grad_op, {x, g.input(1), upstream}); })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 2,
};

const OpDef relu6_op{
    .name = "relu6",
    .doc = "min(max(x, 0), 6), elementwise; NaN stays NaN.",
    .inputs = {"features"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return lesser(6, greater_of(0, x)); }),
    .grad = [](GradContext& g) { return Tensors{apply(relu6_grad_op, {g.output(), g.output_grad()})}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 2,
};

const OpDef leaky_relu_op{
    .name = "leaky_relu",
    .doc = "x where x > 0, else alpha * x, elementwise.",
    .inputs = {"features", "alpha"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto alpha) { return select(x > 0, x, x * alpha); }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          const Tensor& dy = g.output_grad();
          return Tensors{grad_of(g, 0, [&] { return apply(leaky_relu_grad_op, {x, g.input(1), dy}); }),
                         grad_of(g, 1, [&] { return where(greater(x, 0), scalar_like(x, 0), dy * x); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 2,
};

const OpDef elu_op{
    .name = "elu",
    .doc = "x where x > 0, else exp(x) - 1, elementwise.",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return select(x > 0, x, expm1(x)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.output();
          return Tensors{where(less(y, 0), g.output_grad() * (y + 1), g.output_grad())};  // of NaN, too: as TensorFlow
        },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef selu_op{
    .name = "selu",
    .doc =
        "scale * x where x > 0, else scale * alpha * (exp(x) - 1), elementwise, with the constants of self-normalizing "
        "networks.",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return decltype(x)(select(x > 0, x * kSeluScale, expm1(x) * kSeluScaleAlpha)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.output();
          return Tensors{where(less(y, 0), g.output_grad() * (y + kSeluScaleAlpha), g.output_grad() * kSeluScale)};
        },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef silu_grad_op{
    .name = "silu_grad",
    .doc = "dy * s * (1 + x * (1 - s)), s = sigmoid(x): the gradient of silu(x).",
    .inputs = {"x", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto dy) {
      auto s = 1 / (1 + exp(-x));
      return dy * (s * (1 + x * (1 - s)));
    }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          return Tensors{grad_of(g, 0,
                                 [&] {
                                   const Tensor s = sigmoid(x), slope = s * (1 - s);
                                   return g.output_grad() * g.input(1) * (slope * (2 + x * (1 - s * 2)));
                                 }),
                         grad_of(g, 1, [&] {
                           const Tensor s = sigmoid(x);
                           return g.output_grad() * (s * (1 + x * (1 - s)));
                         })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 25,
};

const OpDef silu_op{
    .name = "silu",
    .doc = "x * sigmoid(x), elementwise.",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return x / (1 + exp(-x)); }),
    .grad = [](GradContext& g) { return Tensors{apply(silu_grad_op, {g.input(), g.output_grad()})}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 20,
};

const OpDef softplus_op{
    .name = "softplus",
    .doc = "log(1 + exp(x)), elementwise.",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return softplus_of(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * sigmoid(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 48,
};

const OpDef log_sigmoid_op{
    .name = "log_sigmoid",
    .doc = "log(sigmoid(x)) = -softplus(-x), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return -softplus_of(decltype(x)(-x)); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * sigmoid(-g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 48,
};

const OpDef softsign_op{
    .name = "softsign",
    .doc = "x / (1 + |x|), elementwise.",
    .inputs = {"features"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return x / (1 + abs(x)); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / square(abs(g.input()) + 1)}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 6,
};

const OpDef hard_sigmoid_op{
    .name = "hard_sigmoid",
    .doc = "x / 6 + 1/2, but not below 0 and not above 1, elementwise: relu6(x + 3) / 6.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return decltype(x)(lesser(6, greater_of(0, x + 3)) * (1.0 / 6)); }),
    .grad = [](GradContext& g) { return Tensors{apply(hard_sigmoid_grad_op, {g.input(), g.output_grad()})}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 4,
};

const OpDef hard_silu_op{
    .name = "hard_silu",
    .doc = "x * hard_sigmoid(x), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return decltype(x)(x * (lesser(6, greater_of(0, x + 3)) * (1.0 / 6))); }),
    .grad = [](GradContext& g) { return Tensors{apply(hard_silu_grad_op, {g.input(), g.output_grad()})}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 5,
};

const OpDef mish_op{
    .name = "mish",
    .doc = "x * tanh(softplus(x)), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return mish_of(x); }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input();
          const Tensor t = tanh(softplus(x));
          return Tensors{g.output_grad() * (t + x * (1 - t * t) * sigmoid(x))};
        },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 26,
};

}  // namespace

OpGroup more_activation_ops() {
  static constexpr const OpDef* kOps[] = {
      &relu6_op,
      &leaky_relu_op,
      &elu_op,
      &selu_op,
      &silu_op,
      &softplus_op,
      &softsign_op,
      &hard_sigmoid_op,
      &hard_silu_op,
      &mish_op,
      &log_sigmoid_op,
      &silu_grad_op,
      &relu6_grad_op,
      &leaky_relu_grad_op,
      &hard_sigmoid_grad_op,
      &hard_silu_grad_op,
  };
  return kOps;
}

Tensor relu6(const Tensor& x) { return apply(relu6_op, {x}); }
Tensor leaky_relu(const Tensor& features, double alpha) {
  return apply(leaky_relu_op, {features, scalar_like(features, alpha)});
}
Tensor elu(const Tensor& x) { return apply(elu_op, {x}); }
Tensor selu(const Tensor& x) { return apply(selu_op, {x}); }
Tensor silu(const Tensor& x) { return apply(silu_op, {x}); }
Tensor softplus(const Tensor& x) { return apply(softplus_op, {x}); }
Tensor softsign(const Tensor& x) { return apply(softsign_op, {x}); }
Tensor hard_sigmoid(const Tensor& x) { return apply(hard_sigmoid_op, {x}); }
Tensor hard_silu(const Tensor& x) { return apply(hard_silu_op, {x}); }
Tensor mish(const Tensor& x) { return apply(mish_op, {x}); }
Tensor log_sigmoid(const Tensor& x) { return apply(log_sigmoid_op, {x}); }

}  // namespace tandem
