// Convolution and its two gradients as matrix products; patches of the image are packed straight into panels.
#include <algorithm>
#include <array>

#include "tandem/backend/opencl/conv2d.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/window.h"

namespace tandem::opencl {
namespace {

/// Elements of packed patches at a time; larger batches are worked off in parts, which stay near the caches.
constexpr std::int64_t kPatchElements = 4 << 20;

struct Geometry : ConvGeometry {
  Geometry(const AttrView& attrs, const Shape& input, const Shape& filter) : ConvGeometry(make(attrs, input, filter)) {}
  std::int64_t patch() const { return rows.kernel * columns.kernel * in_channels; }
  std::int64_t pixels() const { return rows.output * columns.output; }  // of one output image
  std::int64_t input_pixels() const { return rows.input * columns.input; }
  std::int64_t images_at_once() const {
    return std::clamp<std::int64_t>(kPatchElements / std::max<std::int64_t>(1, pixels() * patch()), 1, std::max<std::int64_t>(batch, 1));
  }
};

constexpr std::string_view kPackPatches = R"(
// Rows are output pixels, columns the elements of a patch: panels[pixels/6][patch][6].
KERNEL pack_patches(__global const T_mem* x, const long first_image, __global P* panels, const long pixels, const Image g) {
  const long panel = get_global_id(0), patch = g.kh * g.kw * g.c;
  if (panel * 6 >= pixels) return;
  long image[6], oy[6], ox[6];
  for (int r = 0; r < 6; ++r) {
    const long pixel = panel * 6 + r, line = pixel / g.ow;
    ox[r] = pixel - line * g.ow;
    image[r] = line / g.oh;
    oy[r] = line - image[r] * g.oh;
  }
  __global P* to = panels + panel * patch * 6;
  for (long ky = 0; ky < g.kh; ++ky)
    for (long kx = 0; kx < g.kw; ++kx) {
      long from[6];
      for (int r = 0; r < 6; ++r)
        from[r] = panel * 6 + r < pixels ? meets(g, first_image + image[r], oy[r], ox[r], ky, kx) : -1;
      long c = 0;
      for (; c + 8 <= g.c; c += 8, to += 48) {
        P part[48];
        for (int r = 0; r < 6; ++r) vstore8(from[r] < 0 ? (P8)(0) : AS_P8(T_load8(x, from[r] + c)), r, part);
        for (int k = 0; k < 8; ++k)
          for (int r = 0; r < 6; ++r) to[k * 6 + r] = part[r * 8 + k];
      }
      for (; c < g.c; ++c, to += 6)
        for (int r = 0; r < 6; ++r) to[r] = from[r] < 0 ? (P)0 : (P)T_load(x, from[r] + c);
    }
}
)";

constexpr std::string_view kPackTransposed = R"(
// Rows are the elements of a patch, columns output pixels: panels[patch/6][pixels][6].
KERNEL pack_transposed(__global const T_mem* x, const long first_image, __global P* panels, const long images, const Image g) {
  const long panel = get_global_id(0), patch = g.kh * g.kw * g.c;
  if (panel * 6 >= patch) return;
  long ky[6], kx[6], c[6];
  for (int r = 0; r < 6; ++r) {
    const long element = min(panel * 6 + r, patch - 1), tap = element / g.c;
    c[r] = element - tap * g.c;
    ky[r] = tap / g.kw;
    kx[r] = tap - ky[r] * g.kw;
  }
  __global P* to = panels + panel * images * g.oh * g.ow * 6;
  for (long image = 0; image < images; ++image)
    for (long oy = 0; oy < g.oh; ++oy) {
      long line[6], shift[6];  // where the input's line begins, or -1 outside; by how much the output's is moved
      for (int r = 0; r < 6; ++r) {
        const long iy = oy * g.sy + ky[r] * g.dy - g.py;
        const int inside = panel * 6 + r < patch && iy >= 0 && iy < g.h;
        line[r] = inside ? ((first_image + image) * g.h + iy) * g.w * g.c + c[r] : -1;
        shift[r] = kx[r] * g.dx - g.px;
      }
      for (long ox = 0; ox < g.ow; ++ox, to += 6)
        for (int r = 0; r < 6; ++r) {
          const long ix = ox * g.sx + shift[r];
          to[r] = line[r] < 0 || ix < 0 || ix >= g.w ? (P)0 : (P)T_load(x, line[r] + ix * g.c);
        }
    }
}
)";

constexpr std::string_view kGatherPatches = R"(
// Each input pixel adds up what the patches that cover it hold: patches[pixels][patch].
KERNEL gather_patches(__global const L_mem* patches, __global T_mem* y, const long first_image, const long count, const Image g,
                      const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long line = i / g.w, px = i - line * g.w, image = line / g.h, py = line - image * g.h;
    const long patch = g.kh * g.kw * g.c, to = (first_image * g.h * g.w + i) * g.c;
    for (long c = 0; c < g.c; c += 8) {
      const int m = (int)min(8l, g.c - c);
      L_lane8 sum = (L_lane8)(0);
      for (long ky = 0; ky < g.kh; ++ky) {
        const long oy = py + g.py - ky * g.dy;
        if (oy < 0 || oy % g.sy != 0 || oy / g.sy >= g.oh) continue;
        for (long kx = 0; kx < g.kw; ++kx) {
          const long ox = px + g.px - kx * g.dx;
          if (ox < 0 || ox % g.sx != 0 || ox / g.sx >= g.ow) continue;
          const long from = ((image * g.oh + oy / g.sy) * g.ow + ox / g.sx) * patch + (ky * g.kw + kx) * g.c + c;
          sum += m == 8 ? L_load8(patches, from) : L_part(patches, from, 1, m, 0);
        }
      }
      if (m == 8) T_store8(y, to + c, sum);
      else T_store_part(y, to + c, sum, 1, m);
    }
  }
}
)";

std::size_t lane_bytes(std::int64_t elements, DType dtype) { return static_cast<std::size_t>(elements) * packed_bytes(dtype); }

class Conv2d final : public PreparedKernel {
 public:
  explicit Conv2d(const KernelCall& call, Epilogue epilogue = {})
      : gemm_(context_of(call), call.dtype(), std::move(epilogue)),
        g_(call.attr(), call.shape(0), call.shape(1)),
        pack_(gemm_.context().kernel(text(gemm_prelude(call.dtype()), kImageText, kPackPatches), "pack_patches")),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    Context& context = gemm_.context();
    const DType dtype = gemm_.dtype();
    const std::int64_t depth = g_.patch(), step = g_.images_at_once();
    const Scratch a(context.pool(), lane_bytes(packed_elements(step * g_.pixels(), depth, kTileRows), dtype));
    const Scratch b(context.pool(), lane_bytes(packed_elements(g_.out_channels, depth, kTileColumns), dtype));
    if (depth) gemm_.pack_b({args.inputs[1], 0, g_.out_channels, 1}, depth, g_.out_channels, b.get());
    for (std::int64_t image = 0; image < g_.batch; image += step) {
      const std::int64_t pixels = std::min(step, g_.batch - image) * g_.pixels();
      Launch(context, pack_).buffer(args.inputs[0]).value(image).buffer(a.get()).value(pixels).value(image_words(g_))
          .run(blocks(pixels, kTileRows));
      gemm_.multiply(a.get(), b.get(), args.outputs[0], image * g_.pixels() * g_.out_channels, pixels, g_.out_channels, depth, {}, false, args);
    }
  }

 private:
  Gemm gemm_;
  Geometry g_;
  KernelFunction pack_;
  bool empty_;
};

class Conv2dBackpropInput final : public PreparedKernel {
 public:
  explicit Conv2dBackpropInput(const KernelCall& call)
      : packing_(context_of(call), call.dtype()),
        product_(context_of(call), lane_dtype(call.dtype())),
        g_(call.attr(), call.outputs[0].shape(), call.shape(0)),
        gather_(packing_.context().kernel(text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()),
                                               define_dtype("L", lane_dtype(call.dtype())), kImageText, kGatherPatches),
                                          "gather_patches")),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    Context& context = packing_.context();
    const DType dtype = packing_.dtype();
    const std::int64_t patch = g_.patch(), depth = g_.out_channels, step = g_.images_at_once();
    const Scratch a(context.pool(), lane_bytes(packed_elements(step * g_.pixels(), depth, kTileRows), dtype));
    const Scratch b(context.pool(), lane_bytes(packed_elements(patch, depth, kTileColumns), dtype));
    const Scratch patches(context.pool(), lane_bytes(step * g_.pixels() * patch, dtype));
    // The filter [patch, outputs], transposed by its strides.
    if (depth) packing_.pack_b({args.inputs[0], 0, 1, g_.out_channels}, depth, patch, b.get());
    for (std::int64_t image = 0; image < g_.batch; image += step) {
      const std::int64_t images = std::min(step, g_.batch - image), pixels = images * g_.pixels();
      if (pixels && depth) packing_.pack_a({args.inputs[1], image * g_.pixels() * depth, depth, 1}, pixels, depth, a.get());
      product_.multiply(a.get(), b.get(), patches.get(), 0, pixels, patch, depth, {}, false);
      const std::int64_t count = images * g_.input_pixels(), per_item = context.elements_per_item(count, static_cast<double>(patch));
      Launch(context, gather_).buffer(patches.get()).buffer(args.outputs[0]).value(image).value(count).value(image_words(g_))
          .value(per_item).run(blocks(count, per_item));
    }
  }

 private:
  Gemm packing_, product_;
  Geometry g_;
  KernelFunction gather_;
  bool empty_;
};

class Conv2dBackpropFilter final : public PreparedKernel {
 public:
  explicit Conv2dBackpropFilter(const KernelCall& call)
      : packing_(context_of(call), call.dtype()),
        product_(context_of(call), lane_dtype(call.dtype())),
        g_(call.attr(), call.shape(0), call.outputs[0].shape()),
        pack_(packing_.context().kernel(text(gemm_prelude(call.dtype()), kImageText, kPackTransposed), "pack_transposed")),
        narrowing_(packing_.context(), call.dtype(), call.outputs[0].shape().elements()),
        elements_(call.outputs[0].shape().elements()) {}

  void run(const KernelArgs& args) const override {
    if (elements_ == 0) return;
    Context& context = packing_.context();
    const DType dtype = packing_.dtype();
    const std::int64_t patch = g_.patch(), n = g_.out_channels, step = g_.images_at_once(), most = step * g_.pixels();
    const Scratch a(context.pool(), lane_bytes(packed_elements(patch, most, kTileRows), dtype));
    const Scratch b(context.pool(), lane_bytes(packed_elements(n, most, kTileColumns), dtype));
    const Scratch sums(context.pool(), narrowing_.needed() ? lane_bytes(elements_, dtype) : 0);
    void* to = narrowing_.needed() ? sums.get() : args.outputs[0];
    for (std::int64_t image = 0; image == 0 || image < g_.batch; image += step) {
      const std::int64_t images = std::min(step, g_.batch - image), depth = images * g_.pixels();
      if (depth) {
        Launch(context, pack_).buffer(args.inputs[0]).value(image).buffer(a.get()).value(images).value(image_words(g_))
            .run(blocks(patch, kTileRows));
        packing_.pack_b({args.inputs[1], image * g_.pixels() * n, n, 1}, depth, n, b.get());
      }
      product_.multiply(a.get(), b.get(), to, 0, patch, n, depth, {}, image > 0);
    }
    if (narrowing_.needed()) narrowing_.run(sums.get(), args.outputs[0]);
  }

 private:
  Gemm packing_, product_;
  Geometry g_;
  KernelFunction pack_;
  Narrowing narrowing_;
  std::int64_t elements_;
};

template <ConvKind kind>
Support one_group(const KernelCall& call) {
  if (conv_geometry(call, kind).groups > 1) return no("groups of channels are left to the direct kernel");
  return dtypes_supported(call);
}

template <class K, ConvKind kind>
KernelList list() {
  return {{.name = "opencl packed", .supports = one_group<kind>, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<K>(call);
           }},
          direct_conv2d(kind)};
}

}  // namespace

ConvGeometry conv_geometry(const KernelCall& call, ConvKind kind) {
  switch (kind) {
    case ConvKind::forward: return ConvGeometry::make(call.attr(), call.shape(0), call.shape(1));
    case ConvKind::input_gradient: return ConvGeometry::make(call.attr(), call.outputs[0].shape(), call.shape(0));
    default: return ConvGeometry::make(call.attr(), call.shape(0), call.outputs[0].shape());
  }
}

std::array<std::int64_t, 13> image_words(const ConvGeometry& g) {
  return {g.rows.input,    g.columns.input,  g.in_channels,   g.rows.output,      g.columns.output,  g.rows.kernel,     g.columns.kernel,
          g.rows.stride,   g.columns.stride, g.rows.dilation, g.columns.dilation, g.rows.pad_before, g.columns.pad_before};
}

KernelList conv2d_kernels() { return list<Conv2d, ConvKind::forward>(); }
KernelList fused_conv2d_kernels() {
  return {{.name = "product, then loop",
           .supports = [](const KernelCall& call) { return product_and_rest_supported(call, conv2d_kernels(), "opencl packed"); },
           .prepare = [](const KernelCall& call) { return prepare_product_and_rest(call, conv2d_kernels()); }},
          {.name = "opencl packed", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<Conv2d>(ProductCall(call).call(), Epilogue(call));
           }}};
}
KernelList conv2d_backprop_input_kernels() { return list<Conv2dBackpropInput, ConvKind::input_gradient>(); }
KernelList conv2d_backprop_filter_kernels() { return list<Conv2dBackpropFilter, ConvKind::filter_gradient>(); }

}  // namespace tandem::opencl
