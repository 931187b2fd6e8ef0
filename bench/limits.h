// What the machine can do at most, measured by plain loops on all cores.
#pragma once
#include <cstdint>

namespace tandem::bench {

/// Fused multiply-adds in registers, both operands at hand: GFLOPS of f32.
double fma_peak_gflops();

/// Bytes a second, in GB, that copying `bytes` reaches: read + written.
double copy_gb_per_s(std::int64_t bytes);

}  // namespace tandem::bench
