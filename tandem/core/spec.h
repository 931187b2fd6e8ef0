// What is known of a tensor without its values: dtype and shape.
#pragma once
#include <cstdint>
#include <iosfwd>

#include "tandem/base/hash.h"
#include "tandem/core/dtype.h"
#include "tandem/core/shape.h"

namespace tandem {

class TensorSpec {
 public:
  TensorSpec() = default;
  TensorSpec(DType dtype, const Shape& shape) : shape_(shape), dtype_(dtype) {
    hash_ = mix(static_cast<std::uint64_t>(dtype) + 1, static_cast<std::uint64_t>(shape.rank()));
    for (std::int64_t size : shape) hash_ = mix(hash_, static_cast<std::uint64_t>(size));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t bytes() const { return static_cast<std::size_t>(shape_.elements()) * dtype_size(dtype_); }
  /// Kept with the spec, because every op looks its prepared call up by it.
  std::uint64_t hash() const { return hash_; }

  friend bool operator==(const TensorSpec& a, const TensorSpec& b) {
    return a.hash_ == b.hash_ && a.dtype_ == b.dtype_ && a.shape_ == b.shape_;
  }

 private:
  Shape shape_;
  std::uint64_t hash_ = 0;
  DType dtype_ = DType::f32;
};

/// "float32 [32, 784]"
std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

}  // namespace tandem
