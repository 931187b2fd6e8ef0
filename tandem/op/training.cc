#include "tandem/op/training.h"

#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

using namespace expr;

/// Variable, slots and gradient share a shape; the rest are scalars.
template <int kSameShape>
Specs infer_update(const InferContext& c) {
  for (int i = 1; i < kSameShape; ++i)
    if (c.shape(i) != c.shape(0))
      fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[i], " has shape ", c.shape(i), ", the variable ",
           c.shape(0));
  for (int i = kSameShape; i < c.count(); ++i)
    if (c.shape(i).rank() != 0)
      fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[i], " must be a scalar, got shape ", c.shape(i));
  return Specs(static_cast<std::size_t>(c.op.outputs), c.input(0));
}

}  // namespace

const OpDef apply_sgd_op{
    .name = "apply_sgd",
    .doc = "One step of gradient descent: var - rate * grad.",
    .inputs = {"var", "grad", "rate"},
    .dtypes = kFloating,
    .infer = infer_update<2>,
    .scalar = formula([](auto var, auto grad, auto rate) { return var - rate * grad; }),
    .flops_per_element = 2,
    .in_place = 0b1,
};

const OpDef apply_momentum_op{
    .name = "apply_momentum",
    .doc = "One step of gradient descent with momentum, as Keras' SGD does it.",
    .inputs = {"var", "velocity", "grad", "rate", "momentum"},
    .dtypes = kFloating,
    .outputs = 2,
    .infer = infer_update<3>,
    .scalar = formula([](auto var, auto velocity, auto grad, auto rate, auto momentum) {
      auto moved = momentum * velocity - rate * grad;
      return std::array{var + moved, moved};
    }),
    .flops_per_element = 4,
    .in_place = 0b11,
};

const OpDef apply_adam_op{
    .name = "apply_adam",
    .doc = "One step of Adam, as Keras does it; `rate` already holds the bias correction.",
    .inputs = {"var", "m", "v", "grad", "rate", "beta_1", "beta_2", "epsilon"},
    .dtypes = kFloating,
    .outputs = 3,
    .infer = infer_update<4>,
    .scalar = formula([](auto var, auto m, auto v, auto grad, auto rate, auto beta_1, auto beta_2, auto epsilon) {
      auto mean = m + (grad - m) * (1 - beta_1);
      auto variance = v + (grad * grad - v) * (1 - beta_2);
      return std::array{var - rate * mean / (sqrt(variance) + epsilon), mean, variance};
    }),
    .flops_per_element = 14,
    .in_place = 0b111,
    .domain = {0.1, 0.9},
};

const OpDef apply_nesterov_op{
    .name = "apply_nesterov",
    .doc = "One step of gradient descent with Nesterov's momentum, as Keras' SGD does it.",
    .inputs = {"var", "velocity", "grad", "rate", "momentum"},
    .dtypes = kFloating,
    .outputs = 2,
    .infer = infer_update<3>,
    .scalar = formula([](auto var, auto velocity, auto grad, auto rate, auto momentum) {
      auto step = rate * grad;
      auto moved = momentum * velocity - step;
      return std::array{var + momentum * moved - step, moved};
    }),
    .flops_per_element = 6,
    .in_place = 0b11,
};

const OpDef apply_adamw_op{
    .name = "apply_adamw",
    .doc = "One step of AdamW, as Keras does it: `decay`, the rate times the weight decay, shrinks the variable first.",
    .inputs = {"var", "m", "v", "grad", "rate", "beta_1", "beta_2", "epsilon", "decay"},
    .dtypes = kFloating,
    .outputs = 3,
    .infer = infer_update<4>,
    .scalar =
        formula([](auto var, auto m, auto v, auto grad, auto rate, auto beta_1, auto beta_2, auto epsilon, auto decay) {
          auto mean = m + (grad - m) * (1 - beta_1);
          auto variance = v + (grad * grad - v) * (1 - beta_2);
          return std::array{var - var * decay - rate * mean / (sqrt(variance) + epsilon), mean, variance};
        }),
    .flops_per_element = 16,
    .in_place = 0b111,
    .domain = {0.1, 0.9},
};

const OpDef apply_adam_rows_op{
    .name = "apply_adam_rows",
    .doc =
        "One step of AdamW for a gradient made of rows: `square` is the sum of the squares of the rows, not the square "
        "of their sum.",
    .inputs = {"var", "m", "v", "grad", "square", "rate", "beta_1", "beta_2", "epsilon", "decay"},
    .dtypes = kFloating,
    .outputs = 3,
    .infer = infer_update<5>,
    .scalar = formula([](auto var, auto m, auto v, auto grad, auto square, auto rate, auto beta_1, auto beta_2,
                         auto epsilon, auto decay) {
      auto mean = m + (grad - m) * (1 - beta_1);
      auto variance = v + (square - v) * (1 - beta_2);
      return std::array{var - var * decay - rate * mean / (sqrt(variance) + epsilon), mean, variance};
    }),
    .flops_per_element = 15,
    .in_place = 0b111,
    .domain = {0.1, 0.9},
};

const OpDef apply_rmsprop_op{
    .name = "apply_rmsprop",
    .doc = "One step of RMSprop, as Keras does it; a momentum of 0 leaves the plain step.",
    .inputs = {"var", "v", "velocity", "grad", "rate", "rho", "momentum", "epsilon"},
    .dtypes = kFloating,
    .outputs = 3,
    .infer = infer_update<4>,
    .scalar = formula([](auto var, auto v, auto velocity, auto grad, auto rate, auto rho, auto momentum, auto epsilon) {
      auto square_mean = rho * v + (1 - rho) * grad * grad;
      auto moved = momentum * velocity + rate * grad / sqrt(square_mean + epsilon);
      return std::array{var - moved, square_mean, moved};
    }),
    .flops_per_element = 14,
    .in_place = 0b111,
    .domain = {0.1, 0.9},
};

OpGroup training_ops() {
  static constexpr const OpDef* kOps[] = {&apply_sgd_op,   &apply_momentum_op,  &apply_adam_op,   &apply_nesterov_op,
                                          &apply_adamw_op, &apply_adam_rows_op, &apply_rmsprop_op};
  return kOps;
}

}  // namespace tandem
