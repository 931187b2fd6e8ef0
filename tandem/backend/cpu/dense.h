// Questions every kernel over plain memory asks first, and the grid its loops are cut by.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tandem/base/cores.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

inline bool is_dense(const Operand& operand) {
  if (operand.shape().elements() == 0) return true;
  std::int64_t step = 1;
  for (int axis = operand.shape().rank() - 1; axis >= 0; --axis) {
    if (operand.shape()[axis] > 1 && operand.strides[axis] != step) return false;
    step *= operand.shape()[axis];
  }
  return true;
}

inline bool all_dense(const KernelCall& call) {
  return std::ranges::all_of(call.inputs, is_dense) && std::ranges::all_of(call.outputs, is_dense);
}

/// For kernels that move elements by their size: anything dense but strings.
inline Support movable(const KernelCall& call) {
  if (dtype_size(call.outputs[0].dtype()) == 0) return no("strings are not plain memory");
  if (!all_dense(call)) return no("needs dense operands");
  return yes();
}

/// Cuts `count` items of `item_bytes` each into slices of at least 64 KiB, at most 64 of them, and calls
/// body(first, last) for each. The cut depends on the two numbers only.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t item_bytes, const Body& body) {
  constexpr std::int64_t kSliceBytes = 64 << 10, kMostSlices = 64;
  if (count <= 0) return;
  const std::int64_t wanted = std::clamp<std::int64_t>(count * std::max<std::int64_t>(item_bytes, 1) / kSliceBytes, 1,
                                                       std::min(kMostSlices, count));
  const std::int64_t each = (count + wanted - 1) / wanted;
  parallel((count + each - 1) / each,
           [&](std::int64_t slice) { body(slice * each, std::min(slice * each + each, count)); });
}

/// As parallel_ranges, for loops that walk all rows in every slice: slices are no narrower than some cache lines.
template <class Body>
void parallel_columns(std::int64_t columns, std::int64_t column_bytes, const Body& body) {
  constexpr std::int64_t kNarrowest = 256;
  const std::int64_t blocks = (columns + kNarrowest - 1) / kNarrowest;
  parallel_ranges(blocks, column_bytes * kNarrowest, [&](std::int64_t first, std::int64_t last) {
    body(first * kNarrowest, std::min(last * kNarrowest, columns));
  });
}

/// Sets bytes to zero, or copies them, on all cores.
inline void parallel_zero(void* to, std::size_t bytes) {
  parallel_ranges(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t first, std::int64_t last) {
    std::memset(static_cast<char*>(to) + first, 0, static_cast<std::size_t>(last - first));
  });
}
inline void parallel_copy(const void* from, void* to, std::size_t bytes) {
  parallel_ranges(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                static_cast<std::size_t>(last - first));
  });
}

/// An attribute's value as an element.
template <class T>
T element_of(double value) {
  if constexpr (std::is_same_v<T, bool>) return value != 0;
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(value));
  else return static_cast<T>(value);
}

/// Calls f with a value whose type has `bytes` bytes: moving elements does not care what they mean.
template <class F>
decltype(auto) visit_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

}  // namespace tandem::cpu
