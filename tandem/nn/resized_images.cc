#include "tandem/nn/resized_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tandem/base/nearest.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// One axis, each new pixel the one in which its middle lies.
Tensor nearest_along(const Tensor& x, int axis, std::int64_t size) {
  const std::int64_t from = x.shape()[axis];
  if (size == from) return x;
  std::vector<std::int32_t> places;
  for (std::int64_t i = 0; i < size; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(size);
    places.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(static_cast<std::int64_t>(middle), from - 1)));
  }
  return gather(x, Tensor::from(places, Shape{size}), axis);
}

// --- Interpolations that look at more than two pixels of an axis: a matrix [size, from] ---

double triangle(double x) { return std::max(0.0, 1 - x); }
double keys_cubic(double x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
}
template <int kRadius>
double lanczos(double x) {
  if (x > kRadius) return 0;
  if (x <= 1e-3) return 1;
  const double turn = std::numbers::pi * x;
  return kRadius * std::sin(turn) * std::sin(turn / kRadius) / (turn * turn);
}

struct Kernel {
  std::string_view name;
  double radius;
  double (*weight)(double distance);
};
constexpr std::array kKernels{Kernel{"bilinear", 1, triangle}, Kernel{"bicubic", 2, keys_cubic},
                              Kernel{"lanczos3", 3, lanczos<3>}, Kernel{"lanczos5", 5, lanczos<5>}};

std::vector<float> kernel_weights(std::int64_t from, std::int64_t size, const Kernel& kernel, bool antialias) {
  std::vector<float> weights(static_cast<std::size_t>(size * from), 0.0f);
  const double ratio = static_cast<double>(from) / static_cast<double>(size),
               wide = antialias ? std::max(ratio, 1.0) : 1.0;
  for (std::int64_t i = 0; i < size; ++i) {
    double at = (static_cast<double>(i) + 0.5) * ratio;
    constexpr double kParts = 1024;  // of a pixel: TensorFlow has a table for bicubic
    if (kernel.weight == keys_cubic && !antialias)
      at = std::floor(at - 0.5) + std::nearbyint((at - 0.5 - std::floor(at - 0.5)) * kParts) / kParts + 0.5;
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(at - kernel.radius * wide - 0.5)), 0);
    const auto end =
        std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(at + kernel.radius * wide - 0.5)), from - 1);
    double sum = 0;
    for (std::int64_t j = begin; j <= end; ++j)
      sum += kernel.weight(std::abs(static_cast<double>(j) + 0.5 - at) / wide);
    for (std::int64_t j = begin; j <= end && sum != 0; ++j)
      weights[static_cast<std::size_t>(i * from + j)] =
          static_cast<float>(kernel.weight(std::abs(static_cast<double>(j) + 0.5 - at) / wide) / sum);
  }
  return weights;
}

/// What part of each pixel lies in the new one.
std::vector<float> area_weights(std::int64_t from, std::int64_t size) {
  std::vector<float> weights(static_cast<std::size_t>(size * from), 0.0f);
  const double ratio = static_cast<double>(from) / static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const double begin = static_cast<double>(i) * ratio, end = begin + ratio;
    for (auto j = static_cast<std::int64_t>(begin); static_cast<double>(j) < end; ++j) {
      const double covered = std::min(static_cast<double>(j) + 1, end) - std::max(static_cast<double>(j), begin);
      weights[static_cast<std::size_t>(i * from + std::min(j, from - 1))] += static_cast<float>(covered / ratio);
    }
  }
  return weights;
}

Tensor weighted_axis(const Tensor& x, int axis, std::int64_t size, const ResizeOptions& options) {
  const std::int64_t from = x.shape()[axis];
  std::vector<float> weights;
  if (options.interpolation == "area") weights = area_weights(from, size);
  for (const Kernel& kernel : kKernels)
    if (kernel.name == options.interpolation) weights = kernel_weights(from, size, kernel, options.antialias);
  const Tensor matrix = cast(Tensor::from(weights, Shape{size, from}), x.dtype());
  const Shape& s = x.shape();
  if (axis == 1)
    return reshape(matmul(matrix, reshape(x, Shape{s[0], from, s[2] * s[3]})), Shape{s[0], size, s[2], s[3]});
  return reshape(matmul(matrix, reshape(x, Shape{s[0] * s[1], from, s[3]})), Shape{s[0], s[1], size, s[3]});
}

}  // namespace

void check_interpolation(const LayerConfig& config, std::string_view interpolation) {
  constexpr std::array<std::string_view, 6> kKnown{"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5", "area"};
  if (std::ranges::find(kKnown, interpolation) == kKnown.end())
    config.refuse("unknown interpolation '", interpolation, "'", nearest_hint(interpolation, kKnown),
                  "; the known ones are ", join(kKnown));
}

Tensor resized_images(const Tensor& images, std::int64_t height, std::int64_t width, const ResizeOptions& options) {
  if (options.interpolation == "nearest") return nearest_along(nearest_along(images, 1, height), 2, width);
  const Tensor x = is_floating(images.dtype()) ? images : cast(images, DType::f32);
  if (options.interpolation == "bilinear" && !options.antialias) return resize_bilinear(x, height, width);
  return weighted_axis(weighted_axis(x, 1, height, options), 2, width, options);
}

}  // namespace tandem
