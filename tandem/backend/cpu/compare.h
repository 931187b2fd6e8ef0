// How elements are compared and added where several of them compete: the 16-bit floats as float, a NaN above all.
#pragma once
#include <type_traits>

#include "tandem/core/half.h"

namespace tandem::cpu {

/// A value in the type it is computed in.
template <class T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return static_cast<float>(value);
  else return value;
}
template <class T>
using Comparable = decltype(comparable(T{}));

/// True when the challenger takes the place of the best so far: of equal ones the first stays.
template <class C>
bool beats(C challenger, C best) {
  if constexpr (std::is_floating_point_v<C>) return (challenger > best) | ((challenger != challenger) & (best == best));
  else return challenger > best;
}

}  // namespace tandem::cpu
