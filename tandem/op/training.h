// Optimizer steps as ops: one pass over a variable and its slots.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

extern const OpDef apply_sgd_op;       // var, grad, rate -> var
extern const OpDef apply_momentum_op;  // var, velocity, grad, rate, momentum -> var, velocity
extern const OpDef apply_adam_op;      // var, m, v, grad, rate, beta_1, beta_2, epsilon -> var, m, v
extern const OpDef apply_nesterov_op;  // var, velocity, grad, rate, momentum -> var, velocity
extern const OpDef apply_adam_rows_op; // var, m, v, grad, square, rate, beta_1, beta_2, epsilon, decay -> var, m, v
extern const OpDef apply_adamw_op;     // var, m, v, grad, rate, beta_1, beta_2, epsilon, decay -> var, m, v
extern const OpDef apply_rmsprop_op;   // var, v, velocity, grad, rate, rho, momentum, epsilon -> var, v, velocity

}  // namespace tandem
