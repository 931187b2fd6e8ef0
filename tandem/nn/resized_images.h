// Images in other sizes, as TensorFlow resizes them.
#pragma once
#include <string>
#include <string_view>

#include "tandem/nn/layer_config.h"
#include "tandem/op/ops.h"

namespace tandem {

struct ResizeOptions {
  std::string interpolation = "bilinear";  // or "nearest", "bicubic", "lanczos3", "lanczos5", "area"
  bool antialias = false;                  // smaller images: of all pixels, not of the nearest ones
};
/// [batch, height, width, channels] made `height` by `width`.
Tensor resized_images(const Tensor& images, std::int64_t height, std::int64_t width, const ResizeOptions& options = {});
/// Throws in the name of the layer unless there is such an interpolation.
void check_interpolation(const LayerConfig& config, std::string_view interpolation);

}  // namespace tandem
