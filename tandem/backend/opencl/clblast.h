// CLBlast, the matrix products for GPUs: loaded when a device first wants it, so that other programs do without.
#pragma once
#include <array>

#include "tandem/backend/opencl/context.h"

namespace tandem::opencl {

/// A matrix (rows x columns, or the other way round when `transposed`) whose rows are `stride` elements apart.
struct ClblastMatrix {
  const Buffer* buffer;
  bool transposed = false;
  std::size_t stride = 0;
};

class Clblast {
 public:
  /// Null where the library is not installed.
  static const Clblast* find();

  /// c[m, n] = a[m, k] * b[k, n]; c is dense. Elements are f32.
  void multiply(Context& context, const ClblastMatrix& a, const ClblastMatrix& b, Buffer& c,
                const std::array<std::size_t, 3>& mnk) const;

 private:
  explicit Clblast(void* library);
  void* sgemm_ = nullptr;
};

}  // namespace tandem::opencl
