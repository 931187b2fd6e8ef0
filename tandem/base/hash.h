// Mixing of 64-bit words into hash values.
#pragma once
#include <cstdint>

namespace tandem {

inline std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = (seed ^ value) * 0x9E3779B97F4A7C15ull;
  return x ^ (x >> 32);
}

}  // namespace tandem
