// The sizes of a tensor's axes. At most eight axes, held inline; always valid once made.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace tandem {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  /// Throws invalid_shape for negative sizes, more than eight axes, or a product beyond 2^62 elements.
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  /// Size of axis `i`; negative `i` counts from the end. `i` must be in range.
  std::int64_t operator[](int i) const { return sizes_[i < 0 ? i + rank_ : i]; }
  std::int64_t elements() const { return elements_; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }
  std::string to_string() const;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

/// "[32, 784]"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Element strides, one an axis.
using Strides = std::array<std::int64_t, kMaxRank>;

/// Strides of a dense row-major tensor.
Strides dense_strides(const Shape& shape);

/// The shape NumPy broadcasting gives; throws shape_mismatch naming `op` and both shapes.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

/// `axis` in 0..rank-1; throws invalid_axis naming `op`.
int normalize_axis(std::string_view op, std::int64_t axis, int rank);

}  // namespace tandem
