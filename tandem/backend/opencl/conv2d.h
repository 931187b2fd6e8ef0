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

/// For channels in groups: sums product by product, without packing.
Kernel direct_conv2d(ConvKind kind);

template <ConvKind kind>
Support one_group(const KernelCall& call) {
  if (conv_geometry(call, kind).groups > 1) return no("groups of channels are left to the direct kernel");
  return dtypes_supported(call);
}

/// The kernels of a convolution: K, and the direct one for groups.
template <class K, ConvKind kind>
KernelList packed_or_direct() {
  return {{.name = "opencl packed", .supports = one_group<kind>, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<K>(call);
           }},
          direct_conv2d(kind)};
}

}  // namespace tandem::opencl
