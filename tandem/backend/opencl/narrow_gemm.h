// A matrix product with at most sixteen columns: every element of the left side is needed once, so it is read where it lies;
// packing it would move as many bytes again. The right side is packed.
#pragma once
#include "tandem/backend/opencl/gemm.h"

namespace tandem::opencl {

class NarrowGemm {
 public:
  NarrowGemm(Context& context, DType dtype, Epilogue epilogue = {});

  /// c[m, n], dense, for each of the batch, n <= 16; `b_count` matrices b lie side by side. `args` are those of the fused region when
  /// there is an epilogue.
  void multiply(const Matrix& a, const Matrix& b, std::int64_t b_count, void* c, const std::array<std::int64_t, 3>& mnk, const Batch& batch,
                const KernelArgs& args) const;

 private:
  Context* context_;
  std::size_t lane_;  // bytes
  Epilogue epilogue_;
  KernelFunction pack_b_, multiply_;
};

}  // namespace tandem::opencl
