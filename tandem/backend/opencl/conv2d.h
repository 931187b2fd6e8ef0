// What the kernels of 2-D convolutions share: the geometry, as the host and as OpenCL C see it.
#pragma once
#include <array>
#include <memory>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/op/window.h"

namespace tandem::opencl {

enum class ConvKind { forward, input_gradient, filter_gradient };

ConvGeometry conv_geometry(const KernelCall& call, ConvKind kind);

/// The fields of the struct Image.
std::array<std::int64_t, 13> image_words(const ConvGeometry& g);
inline constexpr std::string_view kImageText = R"(
typedef struct { long h, w, c, oh, ow, kh, kw, sy, sx, dy, dx, py, px; } Image;

// Where the patch of output pixel (image, oy, ox) meets the input at (ky, kx); -1 outside.
static long meets(const Image g, long image, long oy, long ox, long ky, long kx) {
  const long y = oy * g.sy + ky * g.dy - g.py, x = ox * g.sx + kx * g.dx - g.px;
  return y < 0 || y >= g.h || x < 0 || x >= g.w ? -1 : ((image * g.h + y) * g.w + x) * g.c;
}
)";

/// Does each result need one channel? Then there is no sum over channels that a matrix product could make.
inline bool is_depthwise(const ConvGeometry& g) {
  return g.groups > 1 && g.group_inputs() == 1 && g.group_outputs() <= 4;
}
Kernel depthwise_conv2d(ConvKind kind);

template <ConvKind kind>
Support not_depthwise(const KernelCall& call) {
  if (is_depthwise(conv_geometry(call, kind))) return no("channel by channel is left to the depthwise kernel");
  return dtypes_supported(call);
}

/// The kernels of a convolution: K, and the depthwise one.
template <class K, ConvKind kind>
KernelList packed_or_depthwise() {
  return {{.name = "opencl packed",
           .supports = not_depthwise<kind>,
           .prepare = [](const KernelCall& call) -> Prepared { return std::make_unique<K>(call); }},
          depthwise_conv2d(kind)};
}

/// Sums of several parts are added in their order: the kernel add_parts, after kForEach, and its launch.
extern const std::string_view kAddPartsText;
void launch_add_parts(Context& context, const KernelFunction& add_parts, const void* sums, void* to, std::int64_t count,
                      std::int64_t parts);
/// Images are divided into so many parts, whatever the device: the same sums everywhere. Filters of many `elements`
/// have fewer.
std::int64_t image_parts(std::int64_t batch, std::int64_t elements);

}  // namespace tandem::opencl
