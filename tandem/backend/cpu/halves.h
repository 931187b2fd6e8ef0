// The 16-bit floats by way of float32: conversions of rows, and kernels of float32 that serve them.
#pragma once
#include <concepts>
#include <cstdint>

#include "tandem/backend/cpu/epilogue.h"
#include "tandem/core/half.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

void widen(const BFloat16* from, float* to, std::int64_t count);
void widen(const Half* from, float* to, std::int64_t count);
/// To the nearest, halves to even.
void narrow(const float* from, BFloat16* to, std::int64_t count);
void narrow(const float* from, Half* to, std::int64_t count);

inline bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Whether one of `kernels` serves the call with float32 in place of its 16-bit operands.
Support widened_support(const KernelCall& call, const KernelList& kernels);
/// Operands converted, the first of `kernels` that serves float32, results rounded once.
Prepared prepare_widened(const KernelCall& call, const KernelList& kernels);

template <KernelList (*kernels)()>
Kernel widened_kernel() {
  return {.name = "float32",
          .supports = [](const KernelCall& call) { return widened_support(call, kernels()); },
          .prepare = [](const KernelCall& call) { return prepare_widened(call, kernels()); }};
}

/// The list, and after it the same kernels for the 16-bit floats.
template <KernelList (*kernels)()>
KernelList with_halves() {
  KernelList all = kernels();
  all.push_back(widened_kernel<kernels>());
  return all;
}

}  // namespace tandem::cpu
