// The arithmetic of sliding windows: output sizes and padding, as TensorFlow defines them.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/op/attrs.h"

namespace tandem {

/// One spatial axis of a convolution or pooling.
struct Window {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_before = 0;
  std::int64_t pad_after = 0;

  static Window make(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, bool same) {
    Window w{.input = input, .kernel = kernel, .stride = stride, .dilation = dilation};
    const std::int64_t reach = (kernel - 1) * dilation + 1;
    if (!same) {
      w.output = input < reach ? 0 : (input - reach) / stride + 1;
      return w;
    }
    w.output = (input + stride - 1) / stride;
    const std::int64_t total = std::max<std::int64_t>((w.output - 1) * stride + reach - input, 0);
    w.pad_before = total / 2;
    w.pad_after = total - w.pad_before;
    return w;
  }
  static Window padded(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t before, std::int64_t after) {
    Window w = make(input + before + after, kernel, stride, dilation, false);
    w.input = input;
    w.pad_before = before;
    w.pad_after = after;
    return w;
  }
};

/// The sizes of a 2-D convolution, the same for the forward op and both gradients: input [batch, rows.input,
/// columns.input, in_channels], filter [rows.kernel, columns.kernel, in_channels / groups, out_channels], output
/// [batch, rows.output, columns.output, out_channels]. Each group of input channels makes a group of output channels.
struct ConvGeometry {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  Window rows, columns;

  /// From `strides`, `padding`, `dilations` and `explicit_paddings`; the shapes must have passed the shape rule.
  static ConvGeometry make(const AttrView& attrs, const Shape& input, const Shape& filter);

  std::int64_t group_inputs() const { return in_channels / groups; }
  std::int64_t group_outputs() const { return out_channels / groups; }
  std::int64_t input_image() const { return rows.input * columns.input * in_channels; }
  std::int64_t output_image() const { return rows.output * columns.output * out_channels; }
  std::int64_t filter_elements() const { return rows.kernel * columns.kernel * group_inputs() * out_channels; }
};

/// The sizes of a 2-D pooling.
struct PoolGeometry {
  std::int64_t batch = 0, channels = 0;
  Window rows, columns;

  /// From `ksize`, `strides` and `padding`.
  static PoolGeometry make(const AttrView& attrs, const Shape& input);

  std::int64_t input_image() const { return rows.input * columns.input * channels; }
  std::int64_t output_image() const { return rows.output * columns.output * channels; }
};

}  // namespace tandem
