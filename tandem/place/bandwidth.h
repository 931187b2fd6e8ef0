// How long bytes take to move: the first of them at the speed of a cache, what does not fit it at that of memory.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tandem {

/// So many bytes move at this rate; none: there is no cache, or it is not known.
struct CacheFigures {
  std::int64_t bytes = 0;
  double gb_per_s = 0;
  bool operator==(const CacheFigures&) const = default;
};

/// Microseconds by bytes: so much for each, and so much more for each beyond the cache.
template <class Real>
struct MoveTime {
  Real latency_us = 0, us_per_byte = 0, cached_bytes = 0, more_per_byte = 0;
  Real microseconds(Real bytes) const {
    return latency_us + bytes * us_per_byte + std::max(bytes - cached_bytes, Real{0}) * more_per_byte;
  }
};

inline MoveTime<double> move_time(double latency_us, double gb_per_s, const CacheFigures& cache) {
  const double beyond = 1 / (gb_per_s * 1e3);
  if (cache.bytes == 0) return {latency_us, beyond};
  const double within = 1 / (cache.gb_per_s * 1e3);
  return {latency_us, within, static_cast<double>(cache.bytes), beyond - within};
}

}  // namespace tandem
