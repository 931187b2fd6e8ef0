#include "tandem/nn/resized_images.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

/// One axis: pixels have their middle at half numbers.
Tensor resized_axis(const Tensor& x, int axis, std::int64_t size, bool bilinear) {
  const std::int64_t from = x.shape()[axis];
  if (size == from) return x;
  std::vector<std::int32_t> lower, upper;
  std::vector<float> share;
  for (std::int64_t i = 0; i < size; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(size);
    const double at = bilinear ? std::max(middle - 0.5, 0.0) : middle;
    const auto below = static_cast<std::int32_t>(std::min<std::int64_t>(static_cast<std::int64_t>(at), from - 1));
    lower.push_back(below);
    upper.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(below + 1, from - 1)));
    share.push_back(static_cast<float>(at - std::floor(at)));
  }
  const Tensor first = gather(x, Tensor::from(lower, Shape{size}), axis);
  if (!bilinear) return first;
  std::vector<std::int64_t> along(static_cast<std::size_t>(x.rank()), 1);
  along[static_cast<std::size_t>(axis)] = size;
  const Tensor weight = reshape(Tensor::from(share, Shape{size}), Shape(std::span<const std::int64_t>(along)));
  return first + (gather(x, Tensor::from(upper, Shape{size}), axis) - first) * weight;
}

}  // namespace

Tensor resized_images(const Tensor& images, std::int64_t height, std::int64_t width, bool bilinear) {
  const Tensor x = bilinear && !is_floating(images.dtype()) ? cast(images, DType::f32) : images;
  return resized_axis(resized_axis(x, 1, height, bilinear), 2, width, bilinear);
}

}  // namespace tandem
