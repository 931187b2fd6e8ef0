// The gradient of convolution with respect to its input.
#include <algorithm>

#include "tandem/backend/opencl/convolve.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Elements of packed patches at a time; larger batches are worked off in parts, which stay near the caches.
constexpr std::int64_t kPatchElements = 4 << 20;

struct Geometry : ConvGeometry {
  Geometry(const AttrView& attrs, const Shape& input, const Shape& filter) : ConvGeometry(make(attrs, input, filter)) {}
  std::int64_t patch() const { return rows.kernel * columns.kernel * group_inputs(); }  // what a result of a group is made of
  std::int64_t pixels() const { return rows.output * columns.output; }  // of one output image
  std::int64_t input_pixels() const { return rows.input * columns.input; }
  std::int64_t images_at_once() const {
    return std::clamp<std::int64_t>(kPatchElements / std::max<std::int64_t>(1, pixels() * groups * patch()), 1, std::max<std::int64_t>(batch, 1));
  }
};

std::size_t lane_bytes(std::int64_t elements, DType dtype) { return static_cast<std::size_t>(elements) * packed_bytes(dtype); }

constexpr std::string_view kGatherPatches = R"(
// Each input pixel adds up what the patches that cover it hold: patches[groups][pixels][patch].
KERNEL gather_patches(__global const L_mem* patches, __global T_mem* y, const long first_image, const long count, const Image g,
                      const long groups, const long per_item) {
  const long inputs = g.c / groups, patch = g.kh * g.kw * inputs, pixels = count / (g.h * g.w) * g.oh * g.ow;
  FOR_EACH(i, count, per_item) {
    const long line = i / g.w, px = i - line * g.w, image = line / g.h, py = line - image * g.h;
    const long to = (first_image * g.h * g.w + i) * g.c;
    for (long group = 0, c = 0; group < groups; c = c + 8 < inputs ? c + 8 : (++group, 0)) {
      const int m = (int)min(8l, inputs - c);
      L_lane8 sum = (L_lane8)(0);
      for (long ky = 0; ky < g.kh; ++ky) {
        const long oy = py + g.py - ky * g.dy;
        if (oy < 0 || oy % g.sy != 0 || oy / g.sy >= g.oh) continue;
        for (long kx = 0; kx < g.kw; ++kx) {
          const long ox = px + g.px - kx * g.dx;
          if (ox < 0 || ox % g.sx != 0 || ox / g.sx >= g.ow) continue;
          const long pixel = (group * pixels + (image * g.oh + oy / g.sy) * g.ow + ox / g.sx);
          const long from = pixel * patch + (ky * g.kw + kx) * inputs + c;
          sum += m == 8 ? L_load8(patches, from) : L_part(patches, from, 1, m, 0);
        }
      }
      if (m == 8) T_store8(y, to + group * inputs + c, sum);
      else T_store_part(y, to + group * inputs + c, sum, 1, m);
    }
  }
}
)";

/// With strides: each patch's gradient by a matrix product, then added up where patches overlap.
class ThroughPatches final : public PreparedKernel {
 public:
  explicit ThroughPatches(const KernelCall& call)
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
    const std::int64_t patch = g_.patch(), depth = g_.group_outputs(), all = g_.out_channels, groups = g_.groups, step = g_.images_at_once();
    const Scratch a(context.pool(), lane_bytes(groups * packed_elements(step * g_.pixels(), depth, kTileRows), dtype));
    const Scratch b(context.pool(), lane_bytes(groups * packed_elements(patch, depth, kTileColumns), dtype));
    const Scratch patches(context.pool(), lane_bytes(groups * step * g_.pixels() * patch, dtype));
    const Batch each_group{.count = groups, .words = group_words(groups)};
    // The filter [patch, outputs], transposed by its strides.
    if (depth) packing_.pack_b({args.inputs[0], 0, 1, all}, depth, patch, b.get(), groups, depth);
    for (std::int64_t image = 0; image < g_.batch; image += step) {
      const std::int64_t images = std::min(step, g_.batch - image), pixels = images * g_.pixels();
      if (pixels && depth) packing_.pack_a({args.inputs[1], image * g_.pixels() * all, all, 1}, pixels, depth, a.get(), groups, depth);
      product_.multiply(a.get(), b.get(), patches.get(), 0, pixels, patch, depth, each_group, false);
      const std::int64_t count = images * g_.input_pixels(), per_item = context.elements_per_item(count, static_cast<double>(groups * patch));
      Launch(context, gather_).buffer(patches.get()).buffer(args.outputs[0]).value(image).value(count).value(image_words(g_))
          .value(groups).value(per_item).run(blocks(count, per_item));
    }
  }

 private:
  /// Result i is made of the matrices i of both sides.
  static std::array<std::int64_t, 3 * kMaxRank + 1> group_words(std::int64_t groups) {
    std::array<std::int64_t, 3 * kMaxRank + 1> words{};
    words[0] = 1, words[1] = groups, words[1 + kMaxRank] = 1, words[1 + 2 * kMaxRank] = 1;
    return words;
  }

  Gemm packing_, product_;
  Geometry g_;
  KernelFunction gather_;
  bool empty_;
};

constexpr std::string_view kPackFlipped = R"(
// Filters [taps][n][groups][depth], the last tap first: panels[groups][n/16][taps * depth][16].
KERNEL pack_flipped(__global const T_mem* w, __global P* panels, const long taps, const long n, const long depth, const long groups) {
  const long panel = get_global_id(0), group = get_global_id(1);
  if (panel * 16 >= n) return;
  __global P* to = panels + (group * ((n + 15) / 16) + panel) * taps * depth * 16;
  const int columns = (int)min(16l, n - panel * 16);
  for (long tap = 0; tap < taps; ++tap)
    for (long k = 0; k < depth; ++k, to += 16)
      for (int c = 0; c < 16; ++c) to[c] = c < columns ? (P)T_load(w, (((taps - 1 - tap) * n + panel * 16 + c) * groups + group) * depth + k) : (P)0;
}
)";

/// Without strides: a convolution of the gradient with the filters turned round.
class TurnedRound final : public PreparedKernel {
 public:
  explicit TurnedRound(const KernelCall& call)
      : context_(context_of(call)),
        g_(turned(conv_geometry(call, ConvKind::input_gradient))),
        convolve_(context_, call.dtype(), g_),
        pack_(context_.kernel(text(gemm_prelude(call.dtype()), kPackFlipped), "pack_flipped")),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    const Scratch panels(context_.pool(), convolve_.panel_bytes());
    if (convolve_.patch())
      Launch(context_, pack_).buffer(args.inputs[0]).buffer(panels.get()).value(g_.rows.kernel * g_.columns.kernel)
          .value(g_.group_outputs()).value(g_.group_inputs()).value(g_.groups).run(blocks(g_.group_outputs(), kTileColumns), g_.groups);
    convolve_.run(args.inputs[1], convolve_.packed(panels.get()), args.outputs[0], args);
  }

 private:
  static Window turned(const Window& w) {
    return {.input = w.output, .output = w.input, .kernel = w.kernel, .dilation = w.dilation, .pad_before = (w.kernel - 1) * w.dilation - w.pad_before};
  }
  static ConvGeometry turned(const ConvGeometry& g) {
    return {.batch = g.batch, .in_channels = g.out_channels, .out_channels = g.in_channels, .groups = g.groups, .rows = turned(g.rows), .columns = turned(g.columns)};
  }
  Context& context_;
  ConvGeometry g_;
  Convolve convolve_;
  KernelFunction pack_;
  bool empty_;
};

Support without_strides(const KernelCall& call) {
  const ConvGeometry g = conv_geometry(call, ConvKind::input_gradient);
  if (g.rows.stride != 1 || g.columns.stride != 1) return no("strides are left to the kernel that goes through patches");
  return not_depthwise<ConvKind::input_gradient>(call);
}

}  // namespace

KernelList conv2d_backprop_input_kernels() {
  KernelList all = packed_or_depthwise<ThroughPatches, ConvKind::input_gradient>();
  all.insert(all.begin(), {.name = "opencl turned round", .supports = without_strides, .prepare = [](const KernelCall& call) -> Prepared {
                             return std::make_unique<TurnedRound>(call);
                           }});
  return all;
}

}  // namespace tandem::opencl
