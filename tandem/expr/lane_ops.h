// What each Prim means on one plain number: shared by constant folding, by evaluate() and by the portable interpreter.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/expr/formula.h"

namespace tandem::expr {

/// Calls f(TypeTag<T>{}) with the C++ type of `lane`.
template <class F>
decltype(auto) visit_lane(Lane lane, F&& f) {
  switch (lane) {
    case Lane::f32: return f(TypeTag<float>{});
    case Lane::f64: return f(TypeTag<double>{});
    case Lane::i32: return f(TypeTag<std::int32_t>{});
    case Lane::i64: return f(TypeTag<std::int64_t>{});
    default: return f(TypeTag<bool>{});
  }
}

/// The type that computes elements stored as T.
template <class T>
using LaneType = std::conditional_t<
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float,
    std::conditional_t<
        std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 2, std::int32_t,
        std::conditional_t<std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>, std::int64_t, T>>>;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T lane_div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));  // the smallest integer wraps
  }
  return a / b;
}

template <class T>
T lane_neg(T a) {
  if constexpr (std::is_floating_point_v<T>) return -a;
  else return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
}

template <class T>
T lane_abs(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
  else return a < 0 ? lane_neg(a) : a;
}

template <class T>
T lane_shift_left(T a, int bits) {
  return static_cast<T>(static_cast<BitsOf<T>>(a) << bits);
}
template <class T>
T lane_shift_right(T a, int bits) {
  return static_cast<T>(static_cast<BitsOf<T>>(a) >> bits);
}

inline std::int32_t lane_mul_hi_u32(std::int32_t a, std::int32_t b) {
  const auto product = static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) * static_cast<std::uint32_t>(b);
  return static_cast<std::int32_t>(product >> 32);
}

template <class To, class From>
To lane_convert(From a) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // The bounds are powers of two, hence exact in From; NaN fails both comparisons.
    constexpr From bound = -static_cast<From>(std::numeric_limits<To>::min());
    return a > -bound && a < bound ? static_cast<To>(a) : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(a);
  }
}

/// The operand of a node as a value; the bits beyond the lane are zero.
std::uint64_t value_bits(Lane lane, const ScalarValue& value);
ScalarValue value_from_bits(Lane lane, std::uint64_t bits);

/// The result of `node` whose operands, of lane type `operand` (of a, or of b for select), have the values a, b, c.
/// Not for input, constant and the index: they have no operands.
ScalarValue apply_prim(const Node& node, Lane operand, const ScalarValue& a, const ScalarValue& b,
                       const ScalarValue& c);

}  // namespace tandem::expr
