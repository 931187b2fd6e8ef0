#include "tandem/python/floor_ops.h"

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"

namespace tandem::python {
namespace {

void refuse_zero(const Tensor& y) {
  const Tensor zero = equal(y, 0);
  for (bool is_zero : zero.data<bool>())
    if (is_zero) fail(ErrorCode::invalid_argument, "Integer division by zero");
}

/// Exact for quotients below 2^53: rounded by the division in float64, put right by the remainder.
Tensor integer_floordiv(const Tensor& x, const Tensor& y) {
  refuse_zero(y);
  const DType dtype = x.dtype();
  const Tensor wide_x = cast(x, DType::i64), wide_y = cast(y, DType::i64);
  const Tensor quotient = cast(divide(wide_x, wide_y), DType::i64);  // cut towards zero
  const Tensor rest = wide_x - quotient * wide_y;
  const Tensor zero = Tensor::scalar(std::int64_t{0}, DType::i64);
  const Tensor below = logical_and(not_equal(rest, zero), not_equal(less(rest, zero), less(wide_y, zero)));
  return cast(quotient - cast(below, DType::i64), dtype);
}

Tensor real_floordiv(const Tensor& x, const Tensor& y) {
  const Tensor quotient = stop_gradient(divide(x, y));
  const Tensor magnitude = abs(quotient);
  // Larger floats have no fraction; they, nan and infinity stay as they are.
  const Tensor fits = less(magnitude, x.dtype() == DType::f64 ? 0x1p52 : 0x1p23);
  const Tensor safe = where(fits, quotient, zeros_like(quotient));
  const Tensor cut = cast(cast(safe, DType::i64), x.dtype());
  const Tensor floor = cut - cast(greater(cut, safe), x.dtype());
  return where(fits, floor, quotient);
}

}  // namespace

Tensor floordiv(const Tensor& x, const Tensor& y) {
  static const OpDef* const op = find_op("floordiv");
  if (op) return apply(*op, {x, y});
  if (x.dtype() != y.dtype())
    fail(ErrorCode::dtype_mismatch, "floordiv: x is ", x.dtype(), ", y is ", y.dtype(), "; cast one of them");
  return is_floating(x.dtype()) ? real_floordiv(x, y) : integer_floordiv(x, y);
}

Tensor floormod(const Tensor& x, const Tensor& y) {
  static const OpDef* const op = find_op("floormod");
  if (op) return apply(*op, {x, y});
  return x - floordiv(x, y) * y;
}

Tensor strings_equal(const Tensor& x, const Tensor& y, bool when_equal) {
  if (x.rank() != 0 && y.rank() != 0 && x.shape() != y.shape()) return Tensor(!when_equal);
  const Tensor& longer = x.rank() == 0 ? y : x;
  std::vector<std::uint8_t> result(static_cast<std::size_t>(longer.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool same = x.strings()[x.rank() == 0 ? 0 : i] == y.strings()[y.rank() == 0 ? 0 : i];
    result[i] = same == when_equal;
  }
  return Tensor::from_bytes(result.data(), result.size(), {DType::boolean, longer.shape()});
}

}  // namespace tandem::python
