// The gradient of convolution with respect to its input.
#include <algorithm>
#include <numeric>

#include "tandem/backend/opencl/convolve.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Elements of patches at a time; larger batches are worked off in parts, which stay near the caches.
constexpr std::int64_t kPatchElements = 1 << 20;
constexpr std::int64_t kMostLanes = 16;

constexpr std::string_view kGatherPatches = R"(
// Elements of an axis's kernel through which patches hold pixel `at`: `k` and, while below the size, every `period`-th after
// it; the patch of k is `from`, and those of the others begin `step` lower each.
typedef struct { long k, from; } Taps;
// Those whose patch exists.
static Taps existing(Taps taps, long size, long period, long step, long count) {
  for (; taps.k < size && taps.from >= count; taps.k += period) taps.from -= step;
  return taps;
}
static Taps taps_of(long at, long size, long stride, long dilation, long period, long step, long count) {
  Taps taps;
  taps.k = 0;
  taps.from = at;
  if (stride != 1) {
    while (taps.k < period && (at - taps.k * dilation) % stride != 0) ++taps.k;
    if (taps.k == period) taps.k = size;
    taps.from = (at - taps.k * dilation) / stride;
  }
  return existing(taps, size, period, step, count);
}

// Each input pixel adds up what the patches that cover it hold: patches[pixels][groups][patch]. `width` pixels of a line at a time.
KERNEL gather_patches(__global const L_mem* patches, __global T_mem* y, const long first_image, const long count, const Image g,
                      const long groups, const long period_y, const long step_y, const long period_x, const long step_x, const long width, const long per_item) {
  const long inputs = g.c / groups, patch = g.kh * g.kw * inputs, pixel = groups * patch, next = period_x * inputs - step_x * pixel;
  const long chunks = (g.w + width - 1) / width;
  FOR_EACH(i, count, per_item) {
    const long line = i / chunks, begin = (i - line * chunks) * width, image = line / g.h, py = line - image * g.h;
    const Taps rows = taps_of(py + g.py, g.kh, g.sy, g.dy, period_y, step_y, g.oh);
    // Of pixel px, without dilation: dividing costs more than adding up a pixel.
    long patch_of = (begin + g.px) / g.sx, k_of = begin + g.px - patch_of * g.sx;
    for (long px = begin; px < min(g.w, begin + width); ++px) {
      Taps columns;
      columns.k = min(k_of, g.kw);
      columns.from = patch_of;
      columns = g.dx == 1 ? existing(columns, g.kw, period_x, step_x, g.ow) : taps_of(px + g.px, g.kw, g.sx, g.dx, period_x, step_x, g.ow);
      if (++k_of == g.sx) k_of = 0, ++patch_of;
      const long to = ((first_image * g.h + line) * g.w + px) * g.c;
      for (long group = 0, c = 0; group < groups; c = c + LANES < inputs ? c + LANES : (++group, 0)) {
        V sum = (V)(0);
        for (long ky = rows.k, oy = rows.from; ky < g.kh && oy >= 0; ky += period_y, oy -= step_y) {
          long from = ((image * g.oh + oy) * g.ow + columns.from) * pixel + group * patch + (ky * g.kw + columns.k) * inputs + c;
          // Whole vectors, of which some lanes count: behind the last patch there is room.
          for (long kx = columns.k, ox = columns.from; kx < g.kw && ox >= 0; kx += period_x, ox -= step_x, from += next) sum += L_whole_piece(patches, from);
        }
        T_piece_store(y, to + group * inputs + c, PIECE(inputs - c), sum);
      }
    }
  }
}
)";

/// Each patch's gradient by a matrix product, then added up where patches overlap: with strides, or where the image has
/// so few channels that most lanes of a tile would be empty.
class ThroughPatches final : public PreparedKernel {
 public:
  explicit ThroughPatches(const KernelCall& call)
      : context_(context_of(call)),
        dtype_(call.dtype()),
        g_(conv_geometry(call, ConvKind::input_gradient)),
        pack_(context_.kernel(packing_source(dtype_), "pack_b")),
        product_(context_, dtype_, product_geometry(g_), {}, lane_dtype(dtype_)),
        gather_(
            context_.kernel(text(prelude(dtype_ == DType::f64), kForEach, define_dtype("T", dtype_),
                                 define_dtype("L", lane_dtype(dtype_)), gather_pieces(), kImageText, kGatherPatches),
                            "gather_patches")),
        empty_(call.outputs[0].shape().elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (empty_) return;
    const std::int64_t patch = g_.rows.kernel * g_.columns.kernel * g_.group_inputs(), depth = g_.group_outputs();
    const std::int64_t pixels = g_.rows.output * g_.columns.output;
    const std::int64_t at_once = std::clamp<std::int64_t>(
        kPatchElements / std::max<std::int64_t>(1, pixels * g_.groups * patch), 1, std::max<std::int64_t>(g_.batch, 1));
    const Scratch panels(context_.pool(), product_.panel_bytes());
    const Scratch patches(context_.pool(), static_cast<std::size_t>(at_once * pixels * g_.groups * patch + kMostLanes) *
                                               packed_bytes(dtype_));
    // The filter [patch, outputs], transposed by its strides.
    if (depth)
      launch_pack_b(context_, pack_, {args.inputs[0], 0, 1, g_.out_channels}, depth, patch, panels.get(), g_.groups,
                    depth);
    for (std::int64_t image = 0; image < g_.batch; image += at_once) {
      const std::int64_t images = std::min(at_once, g_.batch - image);
      product_.run(args.inputs[1], product_.packed(panels.get()), patches.get(), args, {image, images});
      const std::int64_t width = context_.traits().cpu_type ? g_.columns.input : 1,
                         count = images * g_.rows.input * blocks(g_.columns.input, width);
      const std::int64_t per_item = context_.elements_per_item(count, static_cast<double>(width * g_.groups * patch));
      Launch(context_, gather_)
          .buffer(static_cast<const void*>(patches.get()))
          .buffer(args.outputs[0])
          .value(image)
          .value(count)
          .value(image_words(g_))
          .value(g_.groups)
          .value(period(g_.rows))
          .value(step_of(g_.rows))
          .value(period(g_.columns))
          .value(step_of(g_.columns))
          .value(width)
          .value(per_item)
          .run(blocks(count, per_item));
    }
  }

 private:
  std::string gather_pieces() const {
    const int lanes = g_.group_inputs() > kWidth ? tile_lanes(context_, dtype_) : kWidth;
    return text(pieces_text("T", dtype_, lanes), pieces_text("L", lane_dtype(dtype_), lanes));
  }
  /// After how many elements of the kernel a pixel is met again, and how many patches lie between.
  static std::int64_t period(const Window& w) { return w.stride / std::gcd(w.stride, w.dilation); }
  static std::int64_t step_of(const Window& w) { return w.dilation / std::gcd(w.stride, w.dilation); }
  /// The product of each output pixel's channels with the filters is a convolution of single pixels.
  static ConvGeometry product_geometry(const ConvGeometry& g) {
    const Window rows{.input = g.rows.output, .output = g.rows.output, .kernel = 1},
        columns{.input = g.columns.output, .output = g.columns.output, .kernel = 1};
    return {.batch = g.batch,
            .in_channels = g.out_channels,
            .out_channels = g.groups * g.rows.kernel * g.columns.kernel * g.group_inputs(),
            .groups = g.groups,
            .rows = rows,
            .columns = columns};
  }

  Context& context_;
  DType dtype_;
  ConvGeometry g_;
  KernelFunction pack_;
  Convolve product_;
  KernelFunction gather_;
  bool empty_;
};

constexpr std::string_view kPackFlipped = R"(
// Filters [taps][n][groups][depth], the last tap first: panels[groups][n/16][taps * depth][16].
KERNEL pack_flipped(__global const T_mem* w, __global P* panels, const long taps, const long n, const long depth, const long groups) {
  const long panel = ITEM, group = get_global_id(1);
  if (panel * 16 >= n) return;
  __global P* to = panels + (group * ((n + 15) / 16) + panel) * taps * depth * 16;
  const int columns = (int)min(16l, n - panel * 16);
  for (long tap = 0; tap < taps; ++tap)
    for (long k = 0; k < depth; ++k, to += 16)
      for (int c = 0; c < 16; ++c) to[c] = c < columns ? (P)T_load(w, (((taps - 1 - tap) * n + panel * 16 + c) * groups + group) * depth + k) : (P)0;
}
)";

/// A convolution of the gradient with the filters turned round.
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
      Launch(context_, pack_)
          .buffer(args.inputs[0])
          .buffer(panels.get())
          .value(g_.rows.kernel * g_.columns.kernel)
          .value(g_.group_outputs())
          .value(g_.group_inputs())
          .value(g_.groups)
          .run(blocks(g_.group_outputs(), kPanelColumns), g_.groups);
    convolve_.run(args.inputs[1], convolve_.packed(panels.get()), args.outputs[0], args);
  }

 private:
  static Window turned(const Window& w) {
    return {.input = w.output,
            .output = w.input,
            .kernel = w.kernel,
            .dilation = w.dilation,
            .pad_before = (w.kernel - 1) * w.dilation - w.pad_before};
  }
  static ConvGeometry turned(const ConvGeometry& g) {
    return {.batch = g.batch,
            .in_channels = g.out_channels,
            .out_channels = g.in_channels,
            .groups = g.groups,
            .rows = turned(g.rows),
            .columns = turned(g.columns)};
  }
  Context& context_;
  ConvGeometry g_;
  Convolve convolve_;
  KernelFunction pack_;
  bool empty_;
};

/// Channels of a group up to which most lanes would be empty, and outputs from which that is worth a second launch.
constexpr std::int64_t kFewChannels = 8, kManyOutputs = 16;

Support turned_round_supported(const KernelCall& call) {
  const ConvGeometry g = conv_geometry(call, ConvKind::input_gradient);
  if (g.rows.stride != 1 || g.columns.stride != 1)
    return no("strides are left to the kernel that goes through patches");
  if (g.group_inputs() <= kFewChannels && g.group_outputs() >= kManyOutputs && g.rows.kernel * g.columns.kernel > 1)
    return no("images of few channels are left to the kernel that goes through patches");
  return not_depthwise<ConvKind::input_gradient>(call);
}

}  // namespace

KernelList conv2d_backprop_input_kernels() {
  KernelList all = packed_or_depthwise<ThroughPatches, ConvKind::input_gradient>();
  all.insert(all.begin(),
             {.name = "opencl turned round",
              .supports = turned_round_supported,
              .prepare = [](const KernelCall& call) -> Prepared { return std::make_unique<TurnedRound>(call); }});
  return all;
}

}  // namespace tandem::opencl
