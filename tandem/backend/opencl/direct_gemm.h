// A matrix product that reads both sides where they lie: for products so small that packing would take the longer part.
#pragma once
#include "tandem/backend/opencl/gemm.h"

namespace tandem::opencl {

class DirectGemm {
 public:
  DirectGemm(Context& context, DType dtype, Epilogue epilogue = {});

  /// c[m, n], dense, for each of the batch; the columns of b are neighbours. `args` are those of the fused region when there is
  /// an epilogue.
  void multiply(const Matrix& a, const Matrix& b, void* c, const std::array<std::int64_t, 3>& mnk, const Batch& batch,
                const KernelArgs& args) const;

 private:
  Context* context_;
  int lanes_;  // of a vector of the tiles
  Epilogue epilogue_;
  KernelFunction kernel_;
};

}  // namespace tandem::opencl
