// Elementwise arithmetic: records, gradients, functions.
#include <algorithm>

#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

constexpr DTypeSet kSigned = kFloating | DTypeSet{DType::i8, DType::i16, DType::i32, DType::i64};

/// Division of integers is a float, as in TensorFlow: f32 for the small ones, else f64.
DType quotient_dtype(DType dtype) {
  if (is_floating(dtype)) return dtype;
  return dtype_size(dtype) <= 2 ? DType::f32 : DType::f64;
}

Specs quotient(const InferContext& c) {
  return {{quotient_dtype(c.dtype(0)), broadcast_shapes(c.op.name, c.shape(0), c.shape(1))}};
}

const OpDef subtract_op{
    .name = "subtract",
    .doc = "x - y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return x - y; }),
    .grad =
        [](GradContext& g) {
          return Tensors{unbroadcast(g.output_grad(), g.shape(0)), grad_of(g, 1, [&] { return -g.output_grad(); })};
        },
};

const OpDef multiply_op{
    .name = "multiply",
    .doc = "x * y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return x * y; }),
    .grad =
        [](GradContext& g) {
          return Tensors{grad_of(g, 0, [&] { return g.output_grad() * g.input(1); }),
                         grad_of(g, 1, [&] { return g.output_grad() * g.input(0); })};
        },
    .grad_reads = {.inputs = 0b11},
};

const OpDef divide_op{
    .name = "divide",
    .doc = "x / y, elementwise; integers give a float.",
    .inputs = {"x", "y"},
    .infer = quotient,
    .scalar = formula([](auto x, auto y) { return x / y; }),
    .compute_dtype = quotient_dtype,
    .grad =
        [](GradContext& g) {
          if (!is_floating(g.input_spec(0).dtype())) return Tensors(2);
          return Tensors{grad_of(g, 0, [&] { return g.output_grad() / g.input(1); }),
                         grad_of(g, 1, [&] { return -(g.output_grad() * g.output()) / g.input(1); })};
        },
    .grad_reads = {.inputs = 0b10, .outputs = 1},
    .flops_per_element = 4,
    .domain = {0.5, 3},
};

const OpDef pow_op{
    .name = "pow",
    .doc = "x to the power of y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return pow(x, y); }),
    .grad =
        [](GradContext& g) {
          const Tensor& x = g.input(0);
          const Tensor& y = g.input(1);
          return Tensors{grad_of(g, 0, [&] { return g.output_grad() * (y * pow(x, y - 1)); }), grad_of(g, 1, [&] {
                           // log of what is not positive is taken as 0, as TensorFlow does; where the power is
                           // infinite, that is NaN
                           const Tensor positive = greater(x, 0);
                           return g.output_grad() * g.output() * log(where(positive, x, ones_like(x)));
                         })};
        },
    .grad_reads = {.inputs = 0b11, .outputs = 1},
    .flops_per_element = 40,
    .domain = {0.3, 3},
};

/// The gradient of maximum and minimum: the whole of it goes to x where x was chosen (ties: x), else to y.
Tensors chosen_grad(GradContext& g, const Tensor& x_chosen) {
  const Tensor zero = scalar_like(g.output_grad(), 0);
  return {grad_of(g, 0, [&] { return where(x_chosen, g.output_grad(), zero); }),
          grad_of(g, 1, [&] { return where(x_chosen, zero, g.output_grad()); })};
}

// NaN wins: x != x picks x; otherwise a NaN in y is what greater_of and lesser return.
const OpDef maximum_op{
    .name = "maximum",
    .doc = "The larger of x and y, elementwise; NaN if either is.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(x != x, x, greater_of(x, y)); }),
    .grad = [](GradContext& g) { return chosen_grad(g, greater_equal(g.input(0), g.input(1))); },
    .grad_reads = {.inputs = 0b11},
};

const OpDef minimum_op{
    .name = "minimum",
    .doc = "The smaller of x and y, elementwise; NaN if either is.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return select(x != x, x, lesser(x, y)); }),
    .grad = [](GradContext& g) { return chosen_grad(g, less_equal(g.input(0), g.input(1))); },
    .grad_reads = {.inputs = 0b11},
};

const OpDef negative_op{
    .name = "negative",
    .doc = "-x, elementwise.",
    .inputs = {"x"},
    .dtypes = kSigned,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return -x; }),
    .grad = [](GradContext& g) { return Tensors{-g.output_grad()}; },
};

const OpDef abs_op{
    .name = "abs",
    .doc = "|x|, elementwise.",
    .inputs = {"x"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return abs(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * sign(g.input())}; },
    .grad_reads = {.inputs = 1},
};

const OpDef sign_op{
    .name = "sign",
    .doc = "-1, 0 or 1 as x is negative, zero or positive, elementwise; NaN stays NaN.",
    .inputs = {"x"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return select(x < 0, -1, select(x > 0, 1, x + 0)); }),
    .grad = [](GradContext& g) { return Tensors{zeros_like(g.output_grad())}; },
};

const OpDef square_op{
    .name = "square",
    .doc = "x * x, elementwise.",
    .inputs = {"x"},
    .infer = same_as_first,
    .scalar = formula([](auto x) { return x * x; }),
    .grad =
        [](GradContext& g) {
          return Tensors{g.output_grad() * g.input() * 2};
        },  // x * 2 may be too large where the product is not
    .grad_reads = {.inputs = 1},
};

const OpDef sqrt_op{
    .name = "sqrt",
    .doc = "The square root of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return sqrt(x); }),
    // 0 where nothing comes from above, as in TensorFlow: what `where` left out stays out, though the root is 0 or NaN
    // there.
    .grad = [](GradContext& g) { return Tensors{multiply_no_nan(0.5 / g.output(), g.output_grad())}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 4,
    .domain = {0.1, 4},
};

const OpDef rsqrt_grad_op{
    .name = "rsqrt_grad",
    .doc = "-y * y * y * dy / 2, and 0 where dy is 0: the gradient of y = 1 / sqrt(x).",
    .inputs = {"y", "dy"},
    .dtypes = kFloating,
    .infer = broadcast_inputs,
    .scalar = formula([](auto y, auto dy) { return decltype(y)(select(dy == 0, 0, y * y * y * -0.5f * dy)); }),
    .grad =
        [](GradContext& g) {
          const Tensor& y = g.input(0);
          return Tensors{grad_of(g, 0, [&] { return multiply_no_nan(y * y * -1.5, g.input(1)) * g.output_grad(); }),
                         grad_of(g, 1, [&] { return apply(rsqrt_grad_op, {y, g.output_grad()}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 4,
    .domain = {0.1, 4},
};

const OpDef rsqrt_op{
    .name = "rsqrt",
    .doc = "1 / sqrt(x), elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return 1 / sqrt(x); }),
    .grad = [](GradContext& g) { return Tensors{apply(rsqrt_grad_op, {g.output(), g.output_grad()})}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 8,
    .domain = {0.1, 4},
};

const OpDef exp_op{
    .name = "exp",
    .doc = "e to the power of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return exp(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() * g.output()}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 16,
};

const OpDef log_op{
    .name = "log",
    .doc = "The natural logarithm of x, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return log(x); }),
    .grad = [](GradContext& g) { return Tensors{g.output_grad() / g.input()}; },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 20,
    .domain = {0.1, 4},
};

}  // namespace

const OpDef add_op{
    .name = "add",
    .doc = "x + y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return x + y; }),
    .grad =
        [](GradContext& g) {
          return Tensors{unbroadcast(g.output_grad(), g.shape(0)), unbroadcast(g.output_grad(), g.shape(1))};
        },
};

const OpDef cast_op{
    .name = "cast",
    .doc = "x as another dtype; floats are cut towards zero, a bool is x != 0.",
    .inputs = {"x"},
    .attrs = {{.name = "dtype", .kind = AttrKind::dtype}},
    .dtypes = kFixedSize,
    .infer =
        [](const InferContext& c) {
          if (c.attrs.dtype("dtype") == DType::string)
            fail(ErrorCode::unsupported_dtype, "cast: numbers do not become strings");
          return Specs{{c.attrs.dtype("dtype"), c.shape(0)}};
        },
    .scalar = formula([](auto x) { return x; }),
    .compute_dtype = bool_as_integer,
    .grad =
        [](GradContext& g) {
          const DType from = g.input_spec(0).dtype();
          if (!is_floating(from) || !is_floating(g.attrs().dtype("dtype"))) return Tensors(1);
          return Tensors{cast(g.output_grad(), from)};
        },
};

/// A reciprocal is no integer. What a traced function raises to is known when it runs.
static void refuse_negative(const Tensor& y) {
  if (!is_integer(y.dtype()) || is_unsigned(y.dtype()) || y.is_symbolic()) return;
  const bool negative = visit_dtype(y.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      return std::ranges::any_of(y.data<T>(), [](T value) { return value < 0; });
    else return false;
  });
  if (negative) fail(ErrorCode::invalid_argument, "Integers to negative integer powers are not allowed");
}

OpGroup arithmetic_ops() {
  static constexpr const OpDef* kOps[] = {
      &add_op,  &subtract_op, &multiply_op, &divide_op, &pow_op,        &maximum_op, &minimum_op, &negative_op, &abs_op,
      &sign_op, &square_op,   &sqrt_op,     &rsqrt_op,  &rsqrt_grad_op, &exp_op,     &log_op,     &cast_op};
  return kOps;
}

Tensor add(const Tensor& x, const Tensor& y) { return apply(add_op, {x, y}); }
Tensor subtract(const Tensor& x, const Tensor& y) { return apply(subtract_op, {x, y}); }
Tensor multiply(const Tensor& x, const Tensor& y) { return apply(multiply_op, {x, y}); }
Tensor divide(const Tensor& x, const Tensor& y) { return apply(divide_op, {x, y}); }
Tensor pow(const Tensor& x, const Tensor& y) {
  refuse_negative(y);
  return apply(pow_op, {x, y});
}
Tensor maximum(const Tensor& x, const Tensor& y) { return apply(maximum_op, {x, y}); }
Tensor minimum(const Tensor& x, const Tensor& y) { return apply(minimum_op, {x, y}); }
Tensor negative(const Tensor& x) { return apply(negative_op, {x}); }
Tensor abs(const Tensor& x) { return apply(abs_op, {x}); }
Tensor sign(const Tensor& x) { return apply(sign_op, {x}); }
Tensor square(const Tensor& x) { return apply(square_op, {x}); }
Tensor sqrt(const Tensor& x) { return apply(sqrt_op, {x}); }
Tensor rsqrt(const Tensor& x) { return apply(rsqrt_op, {x}); }
Tensor exp(const Tensor& x) { return apply(exp_op, {x}); }
Tensor log(const Tensor& x) { return apply(log_op, {x}); }
Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : apply(cast_op, {x}, make_attrs(cast_op, dtype));
}

}  // namespace tandem
