#include "tandem/op/window.h"

namespace tandem {

ConvGeometry ConvGeometry::make(const AttrView& attrs, const Shape& input, const Shape& filter) {
  ConvGeometry g{.batch = input[0],
                 .in_channels = input[3],
                 .out_channels = filter[3],
                 .groups = filter[2] > 0 ? std::max<std::int64_t>(input[3] / filter[2], 1) : 1};
  const auto strides = attrs.ints("strides"), dilations = attrs.ints("dilations");
  const auto around = attrs.ints("explicit_paddings");  // top, bottom, left, right
  const std::string_view padding = attrs.choice("padding");
  const auto window = [&](int axis, std::int64_t stride, std::int64_t dilation) {
    if (padding == "explicit")
      return Window::padded(input[axis + 1], filter[axis], stride, dilation, around[2 * axis], around[2 * axis + 1]);
    return Window::make(input[axis + 1], filter[axis], stride, dilation, padding == "same");
  };
  g.rows = window(0, strides.front(), dilations.front());
  g.columns = window(1, strides.back(), dilations.back());
  return g;
}

PoolGeometry PoolGeometry::make(const AttrView& attrs, const Shape& input) {
  const auto ksize = attrs.ints("ksize"), strides = attrs.ints("strides");
  const bool same = attrs.choice("padding") == "same";
  return {.batch = input[0],
          .channels = input[3],
          .rows = Window::make(input[1], ksize.front(), strides.front(), 1, same),
          .columns = Window::make(input[2], ksize.back(), strides.back(), 1, same)};
}

}  // namespace tandem
