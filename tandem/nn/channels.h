// data_format = "channels_first": layers compute with the channels last, what goes in and comes out is transposed.
#pragma once
#include "tandem/nn/layer_config.h"

namespace tandem {

bool has_channels_first(const LayerConfig& config);
/// Between the two orders of axes, by the number of spatial axes of the layer's class; a value without them stays as it
/// is.
Tensor with_channels_last(const LayerConfig& config, const Tensor& value);
Tensor with_channels_first(const LayerConfig& config, const Tensor& value);
Shape with_channels_last(const LayerConfig& config, const Shape& shape);

}  // namespace tandem
