// Parts that layers of convolutions share.
#pragma once
#include "tandem/nn/layer_config.h"
#include "tandem/op/ops.h"

namespace tandem {

/// [batch, depth, height, width, channels] and a kernel [depth, height, width, channels of a group, filters].
Tensor conv3d(const Tensor& x, const Tensor& kernel, const ConvOptions& options);

/// One axis of a transposed convolution.
struct TransposedAxis {
  int axes;          // of the layer
  std::size_t axis;  // which of them
  std::int64_t length, window, stride;
  std::string_view padding;
};
/// How long it becomes, by the layer's argument output_padding.
std::int64_t transposed_length(const LayerConfig& config, const TransposedAxis& axis);

}  // namespace tandem
