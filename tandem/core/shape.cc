#include "tandem/core/shape.h"

#include <ostream>

#include "tandem/base/error.h"
#include "tandem/core/large_shapes.h"
#include "tandem/core/spec.h"

namespace tandem {

bool& large_shapes_allowed() {
  thread_local bool allowed = false;
  return allowed;
}

Shape::Shape(std::span<const std::int64_t> sizes) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 62, kPrime = kMostElements - 57;
  if (sizes.size() > kMaxRank)
    fail(ErrorCode::invalid_shape, "a tensor has at most ", kMaxRank, " axes, got ", sizes.size(), ": [", join(sizes),
         "]; reshape some axes together");
  rank_ = static_cast<int>(sizes.size());
  bool empty = false;
  for (int i = 0; i < rank_; ++i) {
    if (sizes[i] < 0) fail(ErrorCode::invalid_shape, "sizes must not be negative, got [", join(sizes), "]");
    sizes_[i] = sizes[i];
    empty |= sizes[i] == 0;
  }
  for (int i = 0; i < rank_ && !empty; ++i)
    if (__builtin_mul_overflow(elements_, sizes_[i], &elements_) || elements_ > kMostElements) {
      if (large_shapes_allowed()) {
        elements_ = kPrime;
        return;
      }
      fail(ErrorCode::invalid_shape, "a tensor of shape [", join(sizes), "] has more than 2^62 elements");
    }
  if (empty) elements_ = 0;
}

std::string Shape::to_string() const { return text(*this); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << '[' << join(shape) << ']'; }

std::ostream& operator<<(std::ostream& out, const TensorSpec& spec) {
  return out << spec.dtype() << ' ' << spec.shape();
}

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, kMaxRank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[-i] : 1;
    const std::int64_t y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1)
      fail(ErrorCode::shape_mismatch, op, ": shapes ", a, " and ", b, " do not broadcast: axis -", i, " has sizes ", x,
           " and ", y, "; they must be equal or one of them 1");
    sizes[rank - i] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

int normalize_axis(std::string_view op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    fail(ErrorCode::invalid_axis, op, ": axis ", axis, " is outside a tensor of ", rank, " axes; it must be in [",
         -rank, ", ", rank, ")");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tandem
