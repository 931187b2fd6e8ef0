#include "tandem/expr/lane_ops.h"

#include "tandem/base/error.h"

namespace tandem::expr {

std::uint64_t value_bits(Lane lane, const ScalarValue& value) {
  switch (lane) {
    case Lane::f32: return std::bit_cast<std::uint32_t>(value.f32);
    case Lane::f64: return std::bit_cast<std::uint64_t>(value.f64);
    case Lane::i32: return static_cast<std::uint32_t>(value.i32);
    case Lane::i64: return static_cast<std::uint64_t>(value.i64);
    default: return value.mask ? 1 : 0;
  }
}

ScalarValue value_from_bits(Lane lane, std::uint64_t bits) {
  ScalarValue value{.i64 = 0};
  switch (lane) {
    case Lane::f32: value.f32 = std::bit_cast<float>(static_cast<std::uint32_t>(bits)); break;
    case Lane::f64: value.f64 = std::bit_cast<double>(bits); break;
    case Lane::i32: value.i32 = static_cast<std::int32_t>(bits); break;
    case Lane::i64: value.i64 = static_cast<std::int64_t>(bits); break;
    default: value.mask = bits != 0;
  }
  return value;
}

namespace {

template <class T>
ScalarValue wrap(T value) {
  ScalarValue result{.i64 = 0};
  result.set(value);
  return result;
}

[[noreturn]] void no_meaning(const Node& node, Lane operand) {
  TANDEM_CHECK(false, prim_name(node.prim), " has no meaning on lanes of type ", static_cast<int>(operand));
  __builtin_unreachable();
}

template <class T>
ScalarValue apply_float(const Node& node, T a, T b, T c) {
  switch (node.prim) {
    case Prim::fma: return wrap(std::fma(a, b, c));
    case Prim::sqrt: return wrap(std::sqrt(a));
    case Prim::round_even: return wrap(std::nearbyint(a));
    case Prim::floor: return wrap(std::floor(a));
    case Prim::trunc: return wrap(std::trunc(a));
    case Prim::angle_rest: return wrap(angle_rest(a, static_cast<AngleGrid>(node.bits)));
    default: no_meaning(node, std::is_same_v<T, float> ? Lane::f32 : Lane::f64);
  }
}

template <class T>
ScalarValue apply_integer(const Node& node, T a, T b) {
  switch (node.prim) {
    case Prim::bit_and: return wrap(static_cast<T>(a & b));
    case Prim::bit_or: return wrap(static_cast<T>(a | b));
    case Prim::bit_xor: return wrap(static_cast<T>(a ^ b));
    case Prim::bit_not: return wrap(static_cast<T>(~a));
    case Prim::shift_left: return wrap(lane_shift_left(a, static_cast<int>(node.bits)));
    case Prim::shift_right: return wrap(lane_shift_right(a, static_cast<int>(node.bits)));
    case Prim::shift_left_by: return wrap(lane_shift_left(a, static_cast<int>(b)));
    case Prim::shift_right_by: return wrap(lane_shift_right(a, static_cast<int>(b)));
    case Prim::mul_hi_u32: return wrap(lane_mul_hi_u32(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
    default: no_meaning(node, std::is_same_v<T, std::int32_t> ? Lane::i32 : Lane::i64);
  }
}

template <class T>
ScalarValue apply_number(const Node& node, T a, T b, T c) {
  switch (node.prim) {
    case Prim::add: return wrap(static_cast<T>(a + b));
    case Prim::sub: return wrap(static_cast<T>(a - b));
    case Prim::mul: return wrap(static_cast<T>(a * b));
    case Prim::div: return wrap(lane_div(a, b));
    case Prim::neg: return wrap(lane_neg(a));
    case Prim::abs: return wrap(lane_abs(a));
    case Prim::min: return wrap(a < b ? a : b);
    case Prim::max: return wrap(a > b ? a : b);
    case Prim::eq: return wrap(a == b);
    case Prim::lt: return wrap(a < b);
    case Prim::le: return wrap(a <= b);
    case Prim::bitcast: return value_from_bits(node.lane, std::bit_cast<BitsOf<T>>(a));
    case Prim::convert: return visit_lane(node.lane, [&]<class To>(TypeTag<To>) { return wrap(lane_convert<To>(a)); });
    default:
      if constexpr (std::is_floating_point_v<T>) return apply_float(node, a, b, c);
      else return apply_integer(node, a, b);
  }
}

ScalarValue apply_mask(const Node& node, bool a, bool b) {
  switch (node.prim) {
    case Prim::bit_and: return wrap(a && b);
    case Prim::bit_or: return wrap(a || b);
    case Prim::bit_xor: return wrap(a != b);
    case Prim::bit_not: return wrap(!a);
    default: no_meaning(node, Lane::mask);
  }
}

}  // namespace

ScalarValue apply_prim(const Node& node, Lane operand, const ScalarValue& a, const ScalarValue& b,
                       const ScalarValue& c) {
  if (node.prim == Prim::select) return a.mask ? b : c;
  return visit_lane(operand, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, bool>) return apply_mask(node, a.mask, b.mask);
    else return apply_number(node, a.get<T>(), b.get<T>(), c.get<T>());
  });
}

}  // namespace tandem::expr
