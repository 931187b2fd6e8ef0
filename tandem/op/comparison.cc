// Comparison, logic and choice.
#include <limits>

#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

constexpr DTypeSet kBool{DType::boolean};

const OpDef equal_op{
    .name = "equal",
    .doc = "x == y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFixedSize,
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x == y; }),
    .compute_dtype = bool_as_integer,
};
const OpDef not_equal_op{
    .name = "not_equal",
    .doc = "x != y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kFixedSize,
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x != y; }),
    .compute_dtype = bool_as_integer,
};
const OpDef less_op{
    .name = "less",
    .doc = "x < y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x < y; }),
};
const OpDef less_equal_op{
    .name = "less_equal",
    .doc = "x <= y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x <= y; }),
};
const OpDef greater_op{
    .name = "greater",
    .doc = "x > y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x > y; }),
};
const OpDef greater_equal_op{
    .name = "greater_equal",
    .doc = "x >= y, elementwise.",
    .inputs = {"x", "y"},
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x, auto y) { return x >= y; }),
};
const OpDef logical_and_op{
    .name = "logical_and",
    .doc = "x and y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kBool,
    .infer = broadcast_to_bool,
    .scalar = formula<0b11>([](auto x, auto y) { return x & y; }),
};
const OpDef logical_or_op{
    .name = "logical_or",
    .doc = "x or y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kBool,
    .infer = broadcast_to_bool,
    .scalar = formula<0b11>([](auto x, auto y) { return x | y; }),
};
const OpDef logical_not_op{
    .name = "logical_not",
    .doc = "not x, elementwise.",
    .inputs = {"x"},
    .dtypes = kBool,
    .infer = same_as_first,
    .scalar = formula<0b1>([](auto x) { return !x; }),
};

const OpDef logical_xor_op{
    .name = "logical_xor",
    .doc = "Whether one of x and y holds, but not both, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kBool,
    .infer = broadcast_to_bool,
    .scalar = formula<0b11>([](auto x, auto y) { return x ^ y; }),
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const OpDef is_nan_op{
    .name = "is_nan",
    .doc = "Whether x is not a number, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x) { return x != x; }),
};
const OpDef is_inf_op{
    .name = "is_inf",
    .doc = "Whether x is infinite, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x) { return abs(x) == kInfinity; }),
};
const OpDef is_finite_op{
    .name = "is_finite",
    .doc = "Whether x is neither infinite nor NaN, elementwise.",
    .inputs = {"x"},
    .dtypes = kFloating,
    .infer = broadcast_to_bool,
    .scalar = formula([](auto x) { return abs(x) < kInfinity; }),
};

Specs infer_where(const InferContext& c) {
  if (c.dtype(0) != DType::boolean)
    fail(ErrorCode::dtype_mismatch, "where: the condition must be bool, got ", c.dtype(0), "; compare it first");
  return broadcast_inputs(c);
}

}  // namespace

const OpDef where_op{
    .name = "where",
    .doc = "x where the condition holds, else y, elementwise.",
    .inputs = {"condition", "x", "y"},
    .dtypes = kFixedSize,
    .free_dtypes = 0b001,
    .infer = infer_where,
    .scalar = formula<0b001>([](auto condition, auto x, auto y) { return select(condition, x, y); }),
    .compute_dtype = bool_as_integer,
    .grad =
        [](GradContext& g) {
          const Tensor zero = scalar_like(g.output_grad(), 0);
          return Tensors{
              Tensor(),
              when(g.wants(1), [&] { return unbroadcast(where(g.input(0), g.output_grad(), zero), g.shape(1)); }),
              when(g.wants(2), [&] { return unbroadcast(where(g.input(0), zero, g.output_grad()), g.shape(2)); })};
        },
    .grad_reads = {.inputs = 0b001},
};

OpGroup comparison_ops() {
  static constexpr const OpDef* kOps[] = {
      &equal_op,      &not_equal_op,   &less_op,        &less_equal_op, &greater_op, &greater_equal_op, &logical_and_op,
      &logical_or_op, &logical_not_op, &logical_xor_op, &is_nan_op,     &is_inf_op,  &is_finite_op,     &where_op};
  return kOps;
}

Tensor equal(const Tensor& x, const Tensor& y) { return apply(equal_op, {x, y}); }
Tensor not_equal(const Tensor& x, const Tensor& y) { return apply(not_equal_op, {x, y}); }
Tensor less(const Tensor& x, const Tensor& y) { return apply(less_op, {x, y}); }
Tensor less_equal(const Tensor& x, const Tensor& y) { return apply(less_equal_op, {x, y}); }
Tensor greater(const Tensor& x, const Tensor& y) { return apply(greater_op, {x, y}); }
Tensor greater_equal(const Tensor& x, const Tensor& y) { return apply(greater_equal_op, {x, y}); }
Tensor logical_and(const Tensor& x, const Tensor& y) { return apply(logical_and_op, {x, y}); }
Tensor logical_or(const Tensor& x, const Tensor& y) { return apply(logical_or_op, {x, y}); }
Tensor logical_not(const Tensor& x) { return apply(logical_not_op, {x}); }
Tensor logical_xor(const Tensor& x, const Tensor& y) { return apply(logical_xor_op, {x, y}); }
Tensor is_nan(const Tensor& x) { return apply(is_nan_op, {x}); }
Tensor is_inf(const Tensor& x) { return apply(is_inf_op, {x}); }
Tensor is_finite(const Tensor& x) { return apply(is_finite_op, {x}); }
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) { return apply(where_op, {condition, x, y}); }

}  // namespace tandem
