#include "tandem/nn/channels.h"

#include <cctype>

namespace tandem {
namespace {

/// Axes that images of a class have beside batch, steps and channels: 2 for Conv2D, ConvLSTM2D and Resizing, all for
/// Flatten.
int spatial_axes(const LayerConfig& config, int rank) {
  const std::string& name = config.class_name();
  if (name == "Flatten") return rank - 2;
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(name[i])) && name[i + 1] == 'D') return name[i] - '0';
  return 2;
}

/// Those of images take one alone, without a batch.
bool may_be_alone(const LayerConfig& config) {
  const std::string& name = config.class_name();
  return name.starts_with("Random") || name == "Resizing" || name == "CenterCrop";
}

/// Where the channels stand when they are first; -1 where a value of this rank has no spatial axes.
int channel_axis(const LayerConfig& config, int rank) {
  const int axis = rank - spatial_axes(config, rank) - 1;
  return axis < (may_be_alone(config) ? 0 : 1) || axis >= rank - 1 ? -1 : axis;
}

}  // namespace

bool has_channels_first(const LayerConfig& config) {
  if (!config.has("data_format")) return false;
  const std::string format = config.text("data_format", "");
  if (format != "channels_first" && format != "channels_last")
    config.refuse("data_format must be 'channels_last' or 'channels_first', got '", format, "'");
  return format == "channels_first";
}

Shape with_channels_last(const LayerConfig& config, const Shape& shape) {
  const int axis = channel_axis(config, shape.rank());
  if (axis < 0) return shape;
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  sizes.erase(sizes.begin() + axis);
  sizes.push_back(shape[axis]);
  return Shape(std::span<const std::int64_t>(sizes));
}

Tensor with_channels_last(const LayerConfig& config, const Tensor& value) {
  const int axis = channel_axis(config, value.rank());
  if (axis < 0) return value;
  Ints order;
  for (int i = 0; i < value.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return transpose(value, order);
}

Tensor with_channels_first(const LayerConfig& config, const Tensor& value) {
  if (config.class_name() == "Flatten") return value;
  const int axis = channel_axis(config, value.rank());
  if (axis < 0) return value;
  Ints order;
  for (int i = 0; i < value.rank() - 1; ++i) {
    if (i == axis) order.push_back(value.rank() - 1);
    order.push_back(i);
  }
  return transpose(value, order);
}

}  // namespace tandem
