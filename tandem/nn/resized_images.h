// Batches of images in another size, as ops of a model.
#pragma once

#include "tandem/op/ops.h"

namespace tandem {

/// [batch, height, width, channels] made `height` by `width`: between the nearest four pixels, or the nearest one.
Tensor resized_images(const Tensor& images, std::int64_t height, std::int64_t width, bool bilinear);

}  // namespace tandem
