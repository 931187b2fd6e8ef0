// Trigonometric and hyperbolic functions and their inverses.
#include "tandem/expr/functions.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

const OpDef sin_op{
    .name = "sin",
    .doc = "The sine of x, elementwise; x in radians.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return sin(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * cos(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 24,
};

const OpDef cos_op{
    .name = "cos",
    .doc = "The cosine of x, elementwise; x in radians.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return cos(x); }),
    .grad = [](GradContext& g) { return Tensors{-(g.output_grad() * sin(g.input()))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 24,
};

const OpDef tan_op{
    .name = "tan",
    .doc = "The tangent of x, elementwise; x in radians.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return tan(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * (1 + square(g.output()))}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 28,
    .domain = {-1.4, 1.4},
};

const OpDef asin_op{
    .name = "asin",
    .doc = "The arc sine of x, elementwise; NaN outside [-1, 1].",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return asin(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * rsqrt(1 - square(g.input()))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 24,
    .domain = {-0.9, 0.9},
};

const OpDef acos_op{
    .name = "acos",
    .doc = "The arc cosine of x, elementwise; NaN outside [-1, 1].",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return acos(x); }),
    .grad = [](GradContext& g) { return Tensors{-(g.output_grad() * rsqrt(1 - square(g.input())))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 24,
    .domain = {-0.9, 0.9},
};

const OpDef atan_op{
    .name = "atan",
    .doc = "The arc tangent of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return atan(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / (1 + square(g.input()))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 26,
};

const OpDef sinh_op{
    .name = "sinh",
    .doc = "The hyperbolic sine of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return sinh(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * cosh(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 32,
};

const OpDef cosh_op{
    .name = "cosh",
    .doc = "The hyperbolic cosine of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return cosh(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * sinh(g.input())}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 26,
};

const OpDef asinh_op{
    .name = "asinh",
    .doc = "The inverse hyperbolic sine of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return asinh(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * rsqrt(1 + square(g.input()))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 50,
};

const OpDef acosh_op{
    .name = "acosh",
    .doc = "The inverse hyperbolic cosine of x, elementwise; NaN below 1.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return acosh(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / sinh(g.output())}; },  // NaN below 1, as acosh is
    .grad_reads = {.outputs = 1},
    .flops_per_element = 50,
    .domain = {1.2, 4},
};

const OpDef atanh_op{
    .name = "atanh",
    .doc = "The inverse hyperbolic tangent of x, elementwise; NaN outside [-1, 1].",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return atanh(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / (1 - square(g.input()))}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 45,
    .domain = {-0.9, 0.9},
};

const OpDef atan2_op{
    .name = "atan2",
    .doc = "The angle of the point (x, y), elementwise, in [-pi, pi].",
    .inputs = {"y", "x"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto y, auto x) { return atan2(y, x); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.input(0);
          const Tensor& x = g.input(1);
          const Tensor scaled = g.output_grad() / (square(x) + square(y));
          return Tensors{grad_of(g, 0, [&] { return x * scaled; }), grad_of(g, 1, [&] { return -(y * scaled); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 40,
    .domain = {0.2, 3},
};

}  // namespace

OpGroup trigonometric_ops() {
  static constexpr const OpDef* kOps[] = {
      &sin_op,  &cos_op,  &tan_op,   &asin_op,  &acos_op,  &atan_op,
      &sinh_op, &cosh_op, &asinh_op, &acosh_op, &atanh_op, &atan2_op,
  };
  return kOps;
}

Tensor sin(const Tensor& x) { return apply(sin_op, {x}); }
Tensor cos(const Tensor& x) { return apply(cos_op, {x}); }
Tensor tan(const Tensor& x) { return apply(tan_op, {x}); }
Tensor asin(const Tensor& x) { return apply(asin_op, {x}); }
Tensor acos(const Tensor& x) { return apply(acos_op, {x}); }
Tensor atan(const Tensor& x) { return apply(atan_op, {x}); }
Tensor sinh(const Tensor& x) { return apply(sinh_op, {x}); }
Tensor cosh(const Tensor& x) { return apply(cosh_op, {x}); }
Tensor asinh(const Tensor& x) { return apply(asinh_op, {x}); }
Tensor acosh(const Tensor& x) { return apply(acosh_op, {x}); }
Tensor atanh(const Tensor& x) { return apply(atanh_op, {x}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return apply(atan2_op, {y, x}); }

}  // namespace tandem
