// One value into many places.
#pragma once
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {

/// Zeros by memset, which knows the machine best; by its bytes, since -0 is none.
template <class T>
void fill_elements(T* begin, T* end, const T& value) {
  const T zero{};
  if (std::memcmp(&value, &zero, sizeof(T)) == 0)
    std::memset(static_cast<void*>(begin), 0, static_cast<std::size_t>(end - begin) * sizeof(T));
  else wide([&]() __attribute__((always_inline)) { std::fill(begin, end, value); });
}

}  // namespace tandem::cpu
