// Functions of probability: gamma's logarithm, and the inverses of the error function and the normal distribution.
#include "tandem/expr/special.h"

#include "tandem/op/elementwise.h"
#include "tandem/op/rules.h"
#include "tandem/op/special.h"

namespace tandem {
namespace {

using namespace expr;

/// The derivative of trigamma, -2 zeta(3, x), in ops, so that it has gradients of every order: twelve terms of the sum
/// of 1 / (x + k)^3, and the rest by Euler and Maclaurin.
Tensor tetragamma(const Tensor& x) {
  constexpr int kTerms = 12;
  Tensor sum = reciprocal(x * x * x);
  for (int k = 1; k < kTerms; ++k) {
    const Tensor y = x + k;
    sum = sum + reciprocal(y * y * y);
  }
  const Tensor w = x + kTerms, v = reciprocal(w * w);
  const Tensor small = v * (v * (v * (v * (v * (5.0 / 12) + -0.15) + 1.0 / 12) + -1.0 / 12) + 0.25);
  return (sum + v * (reciprocal(w) * 0.5 + small + 0.5)) * -2;
}

const OpDef trigamma_op{
    .name = "trigamma",
    .doc = "The second derivative of log(gamma(x)), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return trigamma(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * tetragamma(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 60,
    .domain = {0.3, 5},
};

const OpDef digamma_op{
    .name = "digamma",
    .doc = "The derivative of log(gamma(x)), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return digamma(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * apply(trigamma_op, {g.input()})}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 80,
    .domain = {0.3, 5},
};

const OpDef lgamma_op{
    .name = "lgamma",
    .doc = "log(|gamma(x)|), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return lgamma(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * digamma(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 120,
    .domain = {0.3, 12},
};

constexpr double kHalfSqrtPi = 0.886226925452758014, kSqrtTwoPi = 2.50662827463100050;

const OpDef erfinv_op{
    .name = "erfinv",
    .doc = "x of erf(x) = y, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return erfinv(x); }),
    .grad =
        [](GradContext& g) {
          return Tensors{g.output_grad() * (exp(square(g.output())) * scalar_like(g.output(), kHalfSqrtPi))};
        },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 200,
    .domain = {-0.95, 0.95},
};

const OpDef ndtri_op{
    .name = "ndtri",
    .doc = "The number below which the share x of normal numbers lies, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return ndtri(x); }),
    .grad =
        [](GradContext& g) {
          const Tensor half = square(g.output()) * scalar_like(g.output(), 0.5);
          return Tensors{g.output_grad() * (exp(half) * scalar_like(half, kSqrtTwoPi))};
        },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 200,
    .domain = {0.02, 0.98},
};

}  // namespace

OpGroup special_ops() {
  static constexpr const OpDef* kOps[] = {&lgamma_op, &digamma_op, &trigamma_op, &erfinv_op, &ndtri_op};
  return kOps;
}

Tensor lgamma(const Tensor& x) { return apply(lgamma_op, {x}); }
Tensor digamma(const Tensor& x) { return apply(digamma_op, {x}); }
Tensor erfinv(const Tensor& x) { return apply(erfinv_op, {x}); }
Tensor ndtri(const Tensor& x) { return apply(ndtri_op, {x}); }

}  // namespace tandem
