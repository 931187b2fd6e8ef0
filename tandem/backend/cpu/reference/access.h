// Reading and writing elements of any dtype, and walking over all positions of a shape.
#pragma once
#include <cstdint>

#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

/// double for floating dtypes, int64 for the others but uint64.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_floating_point_v<T>,
                                double, std::conditional_t<std::is_same_v<T, std::uint64_t>, T, std::int64_t>>;

template <class T>
Wide<T> widen(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return static_cast<float>(value);
  else return static_cast<Wide<T>>(value);
}

template <class T, class From>
T narrow(From value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(value));
  else return static_cast<T>(value);
}

/// The element's index in memory.
using Position = std::array<std::int64_t, kMaxRank>;
inline std::int64_t offset(const Strides& strides, const Position& position, int rank) {
  std::int64_t at = 0;
  for (int i = 0; i < rank; ++i) at += position[i] * strides[i];
  return at;
}

/// Calls body(position) for all positions in row-major order.
template <class F>
void for_each_position(const Shape& shape, F body) {
  if (shape.elements() == 0) return;
  Position position{};
  for (;;) {
    body(position);
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++position[axis] == shape[axis]) position[axis--] = 0;
    if (axis < 0) return;
  }
}

/// Strides of `operand` seen under the broader shape `target`: 0 where it is broadcast.
inline Strides broadcast_strides(const Operand& operand, const Shape& target) {
  Strides strides{};
  const int extra = target.rank() - operand.shape().rank();
  for (int i = extra; i < target.rank(); ++i)
    strides[i] = operand.shape()[i - extra] == 1 ? 0 : operand.strides[i - extra];
  return strides;
}

/// Calls f with the C++ type of the dtype and returns what it returns: prepared kernels by dtype.
template <class F>
Prepared by_dtype(DType dtype, F f) {
  return visit_dtype(dtype, f);
}

/// Element `i` as an index: i32 or i64 tensors, and u8 for one_hot.
inline std::int64_t index_at(const void* data, DType dtype, std::int64_t i) {
  if (dtype == DType::i32) return static_cast<const std::int32_t*>(data)[i];
  if (dtype == DType::u8) return static_cast<const std::uint8_t*>(data)[i];
  return static_cast<const std::int64_t*>(data)[i];
}

}  // namespace tandem::cpu
