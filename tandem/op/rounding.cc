// Elementwise arithmetic beyond the basic: exponentials near 0, rounding, quotients and remainders of integers.
#include <algorithm>

#include "tandem/expr/functions.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

/// The quotient rounded down: a float by floor, an integer by one less where it was cut upwards.
template <class T>
T floor_quotient(T quotient, bool cut_up) {
  if constexpr (std::is_floating_point_v<T>) return std::floor(quotient);
  else return static_cast<T>(quotient - cut_up);
}
Expr floor_quotient(Expr quotient, Expr cut_up) {
  return is_float_lane(quotient.lane()) ? floor(quotient) : quotient - convert(cut_up, quotient.lane());
}

const OpDef expm1_op{
    .name = "expm1",
    .doc = "exp(x) - 1, elementwise; accurate near 0.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return expm1(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * (g.output() + 1)}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 18,
};

const OpDef log1p_op{
    .name = "log1p",
    .doc = "log(1 + x), elementwise; accurate near 0.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return log1p(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / (g.input() + 1)}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 30,
    .domain = {-0.8, 3},
};

const OpDef erf_op{
    .name = "erf",
    .doc = "The error function of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return erf(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * (exp(-square(g.input())) * kTwoOverSqrtPi)}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 26,
};

const OpDef erfc_op{
    .name = "erfc",
    .doc = "1 - erf(x), elementwise; accurate where it nears 0.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return erfc(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * (exp(-square(g.input())) * -kTwoOverSqrtPi)}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 45,
};

const OpDef reciprocal_op{
    .name = "reciprocal",
    .doc = "1 / x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return 1 / x; }),
    .grad = [](GradContext& g) { return Tensors{multiply_no_nan(-square(g.output()), g.output_grad())}; },  // as sqrt's
    .grad_reads = {.outputs = 1},
    .flops_per_element = 4,
    .domain = {0.3, 3},
};

const OpDef floor_op{
    .name = "floor",
    .doc = "The largest integer not above x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return floor(x); }),
    .grad = [](GradContext&) { return Tensors(1); },  // none, as in TensorFlow
};

const OpDef ceil_op{
    .name = "ceil",
    .doc = "The smallest integer not below x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return -floor(-x); }),
    .grad = [](GradContext&) { return Tensors(1); },  // none, as in TensorFlow
};

const OpDef round_op{
    .name = "round",
    .doc = "The nearest integer, elementwise; halves go to the even one.",
    .inputs = {"x"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return round_even(x); }),
    .grad = [](GradContext&) { return Tensors(1); },  // none, as in TensorFlow
};

const OpDef rint_op{
    .name = "rint",
    .doc = "The nearest integer, elementwise; halves go to the even one.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return round_even(x); }),
    .grad = [](GradContext& g) { return Tensors{zeros_like(g.output_grad())}; },
};

// Integers divide as in Python, towards minus infinity; x / 0 is 0 here, and refused by floordiv() where y is known.
const OpDef floordiv_op{
    .name = "floordiv",
    .doc = "floor(x / y), elementwise; integers stay integers.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) {
      auto quotient = plain_div(x, y);
      auto rest = x - quotient * y;
      // Of floats only the rounding counts; of integers the truncated quotient is one too high where signs differ.
      return floor_quotient(quotient, (rest != 0) & ((rest < 0) != (y < 0)));
    }),
    .grad = [](GradContext&) { return Tensors(2); },
    .flops_per_element = 8,
    .domain = {0.5, 3},
};

const OpDef floormod_op{
    .name = "floormod",
    .doc = "x - floordiv(x, y) * y, elementwise: the remainder with the sign of y.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return floor_mod(x, y); }),
    .grad =
        [](GradContext& g) {
          if (!is_floating(g.input_spec(0).dtype())) return Tensors(2);
          return Tensors{grad_of(g, 0, [&] { return g.output_grad(); }),
                         grad_of(g, 1, [&] { return -(g.output_grad() * floordiv(g.input(0), g.input(1))); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 8,
    .domain = {0.5, 3},
};

const OpDef truncatediv_op{
    .name = "truncatediv",
    .doc = "x / y cut towards zero, elementwise; for integers.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return plain_div(x, y); }),
    .flops_per_element = 8,
    .domain = {0.5, 3},
};

const OpDef squared_difference_op{
    .name = "squared_difference",
    .doc = "(x - y)^2, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return (x - y) * (x - y); }),
    .grad =
        [](GradContext& g) {
          const Tensor twice = g.output_grad() * ((g.input(0) - g.input(1)) * 2);
          return Tensors{grad_of(g, 0, [&] { return twice; }), grad_of(g, 1, [&] { return -twice; })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 2,
};

const OpDef divide_no_nan_op{
    .name = "divide_no_nan",
    .doc = "x / y, and 0 where y is 0, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(y == 0, 0, x / y); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.input(1);
          return Tensors{grad_of(g, 0, [&] { return divide_no_nan(g.output_grad(), y); }),
                         grad_of(g, 1, [&] { return -(g.output_grad() * divide_no_nan(g.output(), y)); })};
        },
    .grad_reads = {.inputs = 0b10, .outputs = 1},
    .flops_per_element = 4,
    .domain = {0.5, 3},
};

const OpDef multiply_no_nan_op{
    .name = "multiply_no_nan",
    .doc = "x * y, and 0 where y is 0, even if x is infinite or NaN, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(y == 0, 0, x * y); }),
    .grad =
        [](GradContext& g) {
          return Tensors{grad_of(g, 0, [&] { return multiply_no_nan(g.output_grad(), g.input(1)); }),
                         grad_of(g, 1, [&] { return multiply_no_nan(g.input(0), g.output_grad()); })};
        },
    .grad_reads = {.inputs = 0b11},
};

const OpDef xlogy_op{
    .name = "xlogy",
    .doc = "x * log(y), and 0 where x is 0, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(x == 0, 0, x * log(y)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          const Tensor& y = g.input(1);
          return Tensors{
              grad_of(g, 0,
                      [&] { return g.output_grad() * xlogy(cast(not_equal(x, scalar_like(x, 0)), x.dtype()), y); }),
              grad_of(g, 1, [&] { return g.output_grad() * xdivy(x, y); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 22,
    .domain = {0.3, 3},
};

const OpDef xdivy_op{
    .name = "xdivy",
    .doc = "x / y, and 0 where x is 0, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(x == 0, 0, x / y); }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          const Tensor& y = g.input(1);
          return Tensors{
              grad_of(g, 0,
                      [&] { return g.output_grad() * xdivy(cast(not_equal(x, scalar_like(x, 0)), x.dtype()), y); }),
              grad_of(g, 1, [&] { return g.output_grad() * xdivy(-x, square(y)); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 4,
    .domain = {0.5, 3},
};

const OpDef clip_by_value_op{
    .name = "clip_by_value",
    .doc = "t, but not above clip_value_max and then not below clip_value_min, elementwise; NaN if any of them is.",
    .inputs = {"t", "clip_value_min", "clip_value_max"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto t, auto low, auto high) {
      const auto limited = select(high != high, high, lesser(high, t));
      return select(low != low, low, greater_of(low, limited));
    }),
    .grad =
        [](GradContext& g) {
          // As of a maximum of a minimum, which gives the gradient of a NaN to the bound.
          const Tensor zero = scalar_like(g.output_grad(), 0),
                       above_low = greater_equal(minimum(g.input(0), g.input(2)), g.input(1));
          const Tensor below_high = less_equal(g.input(0), g.input(2));
          return Tensors{
              grad_of(g, 0, [&] { return where(logical_and(above_low, below_high), g.output_grad(), zero); }),
              grad_of(g, 1, [&] { return where(above_low, zero, g.output_grad()); }), grad_of(g, 2, [&] {
                return where(logical_and(above_low, logical_not(below_high)), g.output_grad(), zero);
              })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 2,
};

template <class T>
bool has_zero(const Tensor& y) {
  const auto values = y.data<T>();
  return std::find(values.begin(), values.end(), T{0}) != values.end();
}

/// What a traced function divides by is known when it runs. Nothing may be divided by anything.
void refuse_zero(const Tensor& x, const Tensor& y) {
  if (is_floating(y.dtype()) || y.is_symbolic() || x.shape().elements() == 0) return;
  const bool zero = visit_dtype(y.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return has_zero<T>(y);
    else return false;
  });
  if (zero) fail(ErrorCode::invalid_argument, "Integer division by zero");
}

}  // namespace

OpGroup rounding_ops() {
  static constexpr const OpDef* kOps[] = {
      &expm1_op,
      &log1p_op,
      &erf_op,
      &erfc_op,
      &reciprocal_op,
      &floor_op,
      &ceil_op,
      &round_op,
      &rint_op,
      &floordiv_op,
      &floormod_op,
      &truncatediv_op,
      &squared_difference_op,
      &divide_no_nan_op,
      &multiply_no_nan_op,
      &xlogy_op,
      &xdivy_op,
      &clip_by_value_op,
  };
  return kOps;
}

Tensor expm1(const Tensor& x) { return apply(expm1_op, {x}); }
Tensor log1p(const Tensor& x) { return apply(log1p_op, {x}); }
Tensor erf(const Tensor& x) { return apply(erf_op, {x}); }
Tensor erfc(const Tensor& x) { return apply(erfc_op, {x}); }
Tensor reciprocal(const Tensor& x) { return apply(reciprocal_op, {x}); }
Tensor floor(const Tensor& x) { return apply(floor_op, {x}); }
Tensor ceil(const Tensor& x) { return apply(ceil_op, {x}); }
Tensor round(const Tensor& x) { return apply(round_op, {x}); }
Tensor rint(const Tensor& x) { return apply(rint_op, {x}); }
Tensor floordiv(const Tensor& x, const Tensor& y) {
  refuse_zero(x, y);
  return apply(floordiv_op, {x, y});
}
Tensor floormod(const Tensor& x, const Tensor& y) {
  refuse_zero(x, y);
  return apply(floormod_op, {x, y});
}
Tensor truncatediv(const Tensor& x, const Tensor& y) {
  refuse_zero(x, y);
  return apply(truncatediv_op, {x, y});
}
Tensor squared_difference(const Tensor& x, const Tensor& y) { return apply(squared_difference_op, {x, y}); }
Tensor divide_no_nan(const Tensor& x, const Tensor& y) { return apply(divide_no_nan_op, {x, y}); }
Tensor multiply_no_nan(const Tensor& x, const Tensor& y) { return apply(multiply_no_nan_op, {x, y}); }
Tensor xlogy(const Tensor& x, const Tensor& y) { return apply(xlogy_op, {x, y}); }
Tensor xdivy(const Tensor& x, const Tensor& y) { return apply(xdivy_op, {x, y}); }
Tensor clip_by_value(const Tensor& t, const Tensor& clip_value_min, const Tensor& clip_value_max) {
  return apply(clip_by_value_op, {t, clip_value_min, clip_value_max});
}

}  // namespace tandem
