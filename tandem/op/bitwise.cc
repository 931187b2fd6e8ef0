// Bits of integers.
#include "tandem/expr/functions.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {

using namespace expr;

namespace {

// Formulas are compiled for floats too, where bits mean nothing; the records keep them out.
template <Plain T>
T bits_and(T x, T y) {
  if constexpr (std::is_integral_v<T>) return x & y;
  else return x;
}
template <Plain T>
T bits_or(T x, T y) {
  if constexpr (std::is_integral_v<T>) return x | y;
  else return x;
}
template <Plain T>
T bits_xor(T x, T y) {
  if constexpr (std::is_integral_v<T>) return x ^ y;
  else return x;
}
template <Plain T>
T bits_turned(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(~x);
  else return x;
}
Expr bits_and(Expr x, Expr y) { return x & y; }
Expr bits_or(Expr x, Expr y) { return x | y; }
Expr bits_xor(Expr x, Expr y) { return x ^ y; }
Expr bits_turned(Expr x) { return !x; }

const OpDef bitwise_and_op{
    .name = "bitwise_and",
    .doc = "The bits set in both x and y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return bits_and(x, y); }),
};
const OpDef bitwise_or_op{
    .name = "bitwise_or",
    .doc = "The bits set in x or y, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return bits_or(x, y); }),
};
const OpDef bitwise_xor_op{
    .name = "bitwise_xor",
    .doc = "The bits set in one of x and y only, elementwise.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return bits_xor(x, y); }),
};
const OpDef left_shift_op{
    .name = "left_shift",
    .doc = "x with its bits moved up by y places, elementwise; y is taken as at least 0 and less than the bits of x.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return shift_left_by(x, y); }),
};
const OpDef right_shift_op{
    .name = "right_shift",
    .doc =
        "x with its bits moved down by y places, elementwise, the sign kept; y is taken as at least 0 and less than "
        "the bits of x.",
    .inputs = {"x", "y"},
    .dtypes = kIntegers,
    .infer = broadcast_inputs,
    .scalar = formula([](auto x, auto y) { return shift_right_by(x, y); }),
};
const OpDef invert_op{
    .name = "invert",
    .doc = "Every bit of x turned, elementwise.",
    .inputs = {"x"},
    .dtypes = kIntegers,
    .infer = same_as_first,
    .scalar = formula([](auto x) { return bits_turned(x); }),
};

}  // namespace

OpGroup bitwise_ops() {
  static constexpr const OpDef* kOps[] = {
      &bitwise_and_op, &bitwise_or_op, &bitwise_xor_op, &left_shift_op, &right_shift_op, &invert_op,
  };
  return kOps;
}

Tensor bitwise_and(const Tensor& x, const Tensor& y) { return apply(bitwise_and_op, {x, y}); }
Tensor bitwise_or(const Tensor& x, const Tensor& y) { return apply(bitwise_or_op, {x, y}); }
Tensor bitwise_xor(const Tensor& x, const Tensor& y) { return apply(bitwise_xor_op, {x, y}); }
Tensor left_shift(const Tensor& x, const Tensor& y) { return apply(left_shift_op, {x, y}); }
Tensor right_shift(const Tensor& x, const Tensor& y) { return apply(right_shift_op, {x, y}); }
Tensor invert(const Tensor& x) { return apply(invert_op, {x}); }

}  // namespace tandem
