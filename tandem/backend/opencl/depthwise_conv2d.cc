// Convolutions of each channel by itself: no sums over channels, so no matrix products. A vector of channels at a time,
// four pixels side by side, which share what is loaded of the filter.
#include "tandem/backend/opencl/conv2d.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

// `n` output channels, `times` for each of the input's. Those of the filter and of the result lie side by side; the
// input's only where times is 1. WHOLE: times is 1, and n a multiple of a vector's lanes, which most networks have and
// the compiler should know.
constexpr std::string_view kChannels = R"(
#if WHOLE
#define TIMES 1
#define CHANNELS(left) LANES
#else
#define TIMES times
#define CHANNELS(left) PIECE(left)
#endif
// What the pixel at `at` has for output channels o .. o+m-1.
#if WHOLE
#define seen_by(x, at, o, times, m) T_piece(x, (at) + (o), m)
#else
static V seen_by(__global const T_mem* x, long at, long o, long times, int m) {
  if (times == 1) return T_piece(x, at + o, m);
  T_lane all[8];
#pragma unroll 1
  for (int u = 0; u < 8; ++u) all[u] = u < m ? T_load(x, at + (o + u) / times) : (T_lane)0;
  return vload8(0, all);
}
#endif
)";

constexpr std::string_view kForward = R"(
typedef struct { long image, top, first, o, n; int pixels; } Place;

static void forward_tile(__global const T_mem* x, __global const T_mem* f, __global T_mem* y, const Image g, const Place a, const long times,
                         const int m) {
  V s0 = (V)(0), s1 = s0, s2 = s0, s3 = s0;
  for (long ky = 0; ky < g.kh; ++ky) {
    const long iy = a.top + ky * g.dy;
    if (iy < 0 || iy >= g.h) continue;
    for (long kx = 0; kx < g.kw; ++kx) {
      const V w = T_piece(f, (ky * g.kw + kx) * a.n + a.o, m);
      const long ix = a.first * g.sx + kx * g.dx - g.px, at = ((a.image * g.h + iy) * g.w + ix) * g.c, next = g.sx * g.c;
      if (a.pixels == 4 && ix >= 0 && ix + 3 * g.sx < g.w) {
        s0 = MAD_LANES(seen_by(x, at, a.o, times, m), w, s0);
        s1 = MAD_LANES(seen_by(x, at + next, a.o, times, m), w, s1);
        s2 = MAD_LANES(seen_by(x, at + 2 * next, a.o, times, m), w, s2);
        s3 = MAD_LANES(seen_by(x, at + 3 * next, a.o, times, m), w, s3);
        continue;
      }
#define EDGE(p, sum) if (p < a.pixels && ix + p * g.sx >= 0 && ix + p * g.sx < g.w) sum = MAD_LANES(seen_by(x, at + p * next, a.o, times, m), w, sum);
      EDGE(0, s0) EDGE(1, s1) EDGE(2, s2) EDGE(3, s3)
    }
  }
  T_piece_store(y, 0, m, s0);
  if (a.pixels > 1) T_piece_store(y, a.n, m, s1);
  if (a.pixels > 2) T_piece_store(y, 2 * a.n, m, s2);
  if (a.pixels > 3) T_piece_store(y, 3 * a.n, m, s3);
}

KERNEL depthwise_forward(__global const T_mem* x, __global const T_mem* f, __global T_mem* y, const Image g, const long n, const long times,
                         const long count, const long per_item) {
  const long tiles = (g.ow + 3) / 4;
  Place a;
  a.n = n;
  FOR_EACH(i, count, per_item) {
    const long line = i / tiles;
    a.first = (i - line * tiles) * 4;
    a.image = line / g.oh;
    a.top = (line - a.image * g.oh) * g.sy - g.py;
    a.pixels = (int)min(4l, g.ow - a.first);
    for (a.o = 0; a.o < n; a.o += LANES)
      forward_tile(x, f, y + (line * g.ow + a.first) * n + a.o, g, a, TIMES, CHANNELS(n - a.o));
  }
}
)";

constexpr std::string_view kInputGradient = R"(
typedef struct { long image, iy, first, c, n; int pixels; } Place;

// What the output pixel at `at` gave to input channels c .. c+m-1, with the filter's elements from `tap`.
static V given(__global const T_mem* f, __global const T_mem* dy, long tap, long at, long c, long times, int m, V sum) {
  if (times == 1) return MAD_LANES(T_piece(f, tap + c, m), T_piece(dy, at + c, m), sum);
#if !WHOLE
  for (long q = 0; q < times; ++q) sum = MAD_LANES(T_part(f, tap + c * times + q, times, m, 0), T_part(dy, at + c * times + q, times, m, 0), sum);
#endif
  return sum;
}

static void input_tile(__global const T_mem* f, __global const T_mem* dy, __global T_mem* x, const Image g, const Place a, const long times,
                       const int m) {
  V s0 = (V)(0), s1 = s0, s2 = s0, s3 = s0;
  for (long ky = 0; ky < g.kh; ++ky) {
    const long down = a.iy + g.py - ky * g.dy, oy = g.sy == 1 ? down : down / g.sy;
    if (down < 0 || oy * g.sy != down || oy >= g.oh) continue;
    for (long kx = 0; kx < g.kw; ++kx) {
      const long right = a.first + g.px - kx * g.dx, tap = (ky * g.kw + kx) * a.n, row = (a.image * g.oh + oy) * g.ow;
      if (g.sx == 1 && a.pixels == 4 && right >= 0 && right + 3 < g.ow) {
        const long at = (row + right) * a.n;
        s0 = given(f, dy, tap, at, a.c, times, m, s0);
        s1 = given(f, dy, tap, at + a.n, a.c, times, m, s1);
        s2 = given(f, dy, tap, at + 2 * a.n, a.c, times, m, s2);
        s3 = given(f, dy, tap, at + 3 * a.n, a.c, times, m, s3);
        continue;
      }
#define EDGE(p, sum) if (p < a.pixels && right + p >= 0 && (g.sx == 1 || (right + p) % g.sx == 0) && right + p < g.ow * g.sx) \
        sum = given(f, dy, tap, (row + (g.sx == 1 ? right + p : (right + p) / g.sx)) * a.n, a.c, times, m, sum);
      EDGE(0, s0) EDGE(1, s1) EDGE(2, s2) EDGE(3, s3)
    }
  }
  T_piece_store(x, 0, m, s0);
  if (a.pixels > 1) T_piece_store(x, g.c, m, s1);
  if (a.pixels > 2) T_piece_store(x, 2 * g.c, m, s2);
  if (a.pixels > 3) T_piece_store(x, 3 * g.c, m, s3);
}

KERNEL depthwise_input(__global const T_mem* f, __global const T_mem* dy, __global T_mem* x, const Image g, const long n, const long times,
                       const long count, const long per_item) {
  const long tiles = (g.w + 3) / 4;
  Place a;
  a.n = n;
  FOR_EACH(i, count, per_item) {
    const long line = i / tiles;
    a.first = (i - line * tiles) * 4;
    a.image = line / g.h;
    a.iy = line - a.image * g.h;
    a.pixels = (int)min(4l, g.w - a.first);
    for (a.c = 0; a.c < g.c; a.c += LANES)
      input_tile(f, dy, x + (line * g.w + a.first) * g.c + a.c, g, a, TIMES, CHANNELS(g.c - a.c));
  }
}
)";

constexpr std::string_view kFilterGradient = R"(
// One line for one tap: the sums of pixels low .. high-1.
static V line_sum(__global const T_mem* x, __global const T_mem* dy, long next, long n, long low, long high, long o, const long times,
                        const int m) {
  V s0 = (V)(0), s1 = s0, s2 = s0, s3 = s0;
  long ox = low;
  for (; ox + 4 <= high; ox += 4) {
    s0 = MAD_LANES(seen_by(x, ox * next, o, times, m), T_piece(dy, ox * n, m), s0);
    s1 = MAD_LANES(seen_by(x, (ox + 1) * next, o, times, m), T_piece(dy, (ox + 1) * n, m), s1);
    s2 = MAD_LANES(seen_by(x, (ox + 2) * next, o, times, m), T_piece(dy, (ox + 2) * n, m), s2);
    s3 = MAD_LANES(seen_by(x, (ox + 3) * next, o, times, m), T_piece(dy, (ox + 3) * n, m), s3);
  }
  for (; ox < high; ++ox) s0 = MAD_LANES(seen_by(x, ox * next, o, times, m), T_piece(dy, ox * n, m), s0);
  return (s0 + s1) + (s2 + s3);
}

// A work-item adds up the images of one part for a vector of channels, line by line for all taps: sums[part][taps][n].
KERNEL depthwise_filter(__global const T_mem* x, __global const T_mem* dy, __global P* sums, const Image g, const long n, const long times,
                        const long batch, const long per_part) {
  const long part = ITEM, o = get_global_id(1) * LANES, begin = part * per_part, end = min(batch, begin + per_part);
  if (begin >= end) return;
  const int m = CHANNELS(n - o);
  __global P* mine = sums + part * g.kh * g.kw * n + o;
  for (long tap = 0; tap < g.kh * g.kw; ++tap)
    for (int u = 0; u < m; ++u) mine[tap * n + u] = 0;
  for (long line = begin * g.oh; line < end * g.oh; ++line) {
    const long image = line / g.oh, top = (line - image * g.oh) * g.sy - g.py;
    for (long ky = 0; ky < g.kh; ++ky) {
      const long iy = top + ky * g.dy;
      if (iy < 0 || iy >= g.h) continue;
      for (long kx = 0; kx < g.kw; ++kx) {
        // The output pixels for which this tap is inside.
        const long shift = kx * g.dx - g.px, low = shift >= 0 ? 0 : (-shift + g.sx - 1) / g.sx;
        const long high = shift >= g.w ? 0 : min(g.ow, (g.w - 1 - shift) / g.sx + 1), next = g.sx * g.c;
        __global const T_mem* from = x + ((image * g.h + iy) * g.w + shift) * g.c;
        __global const T_mem* given = dy + line * g.ow * n + o;
        __global P* to = mine + (ky * g.kw + kx) * n;
        const V sum = line_sum(from, given, next, n, low, high, o, TIMES, m);
#if LANES == 16
        PUT16(V, to, GET16(V, to) + sum);
#elif WHOLE
        PUT8(P8, to, GET8(P8, to) + AS_P8(sum));
#else
        P all[8];
        vstore8(AS_P8(sum), 0, all);
        for (int u = 0; u < m; ++u) to[u] += all[u];
#endif
      }
    }
  }
}
)";

template <ConvKind kind>
Support channel_by_channel(const KernelCall& call) {
  if (!is_depthwise(conv_geometry(call, kind))) return no("results made of several channels are packed products");
  return dtypes_supported(call);
}

/// Channels of a vector: of sixteen only where all are whole.
int channel_lanes(const Context& context, DType dtype, const ConvGeometry& g) {
  return is_floating(dtype) && g.group_outputs() == 1 && g.out_channels % 16 == 0 ? tile_lanes(context, dtype) : kWidth;
}

std::string source(DType dtype, const ConvGeometry& g, int lanes, std::string_view kernels) {
  const bool whole = g.group_outputs() == 1 && g.out_channels % lanes == 0;
  return text(gemm_prelude(dtype), kForEach, pieces_text("T", dtype, lanes), "#define WHOLE ", whole ? 1 : 0,
              "\n#define MAD_LANES(a, b, c) ",
              is_floating(dtype) ? "fma(a, b, c)" : "AS_T8(AS_P8(a) * AS_P8(b) + AS_P8(c))", "\n", kImageText,
              kChannels, kernels);
}

/// The result of pixels, or the gradient of those of the input.
template <ConvKind kind>
Prepared prepare_pixels(const KernelCall& call) {
  Context& context = context_of(call);
  const ConvGeometry g = conv_geometry(call, kind);
  constexpr bool forward = kind == ConvKind::forward;
  const std::int64_t lines = g.batch * (forward ? g.rows.output : g.rows.input),
                     tiles = blocks(forward ? g.columns.output : g.columns.input, 4);
  const std::int64_t count = call.outputs[0].shape().elements() ? lines * tiles : 0;
  const double work = static_cast<double>(g.rows.kernel * g.columns.kernel * g.out_channels);
  const std::int64_t per_item = context.elements_per_item(count, work);
  const KernelFunction kernel = context.kernel(
      source(call.dtype(), g, channel_lanes(context, call.dtype(), g), forward ? kForward : kInputGradient),
      forward ? "depthwise_forward" : "depthwise_input");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .buffer(args.outputs[0])
        .value(image_words(g))
        .value(g.out_channels)
        .value(g.group_outputs())
        .value(count)
        .value(per_item)
        .run(blocks(count, per_item));
  });
}

Prepared prepare_filter(const KernelCall& call) {
  Context& context = context_of(call);
  const ConvGeometry g = conv_geometry(call, ConvKind::filter_gradient);
  const DType dtype = call.dtype();
  const std::int64_t elements = call.outputs[0].shape().elements(), batch = std::max<std::int64_t>(g.batch, 1);
  const std::int64_t per_part = blocks(batch, image_parts(batch, elements)), parts = blocks(batch, per_part);
  const bool empty = call.shape(0).elements() == 0 || call.shape(1).elements() == 0;
  const int lanes = channel_lanes(context, dtype, g);
  const std::string text_of = source(dtype, g, lanes, text(kAddPartsText, kFilterGradient));
  const KernelFunction sum = context.kernel(text_of, "depthwise_filter"), add = context.kernel(text_of, "add_parts");
  return prepared([=, &context, filling = Filling(context, call.outputs[0].spec)](const KernelArgs& args) {
    if (elements == 0) return;
    if (empty) return filling.run(args.outputs[0], 0);
    const Scratch sums(context.pool(), static_cast<std::size_t>(parts * elements) * packed_bytes(dtype));
    Launch(context, sum)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .buffer(sums.get())
        .value(image_words(g))
        .value(g.out_channels)
        .value(g.group_outputs())
        .value(g.batch)
        .value(per_part)
        .run(parts, blocks(g.out_channels, lanes));
    launch_add_parts(context, add, sums.get(), args.outputs[0], elements, parts);
  });
}

}  // namespace

Kernel depthwise_conv2d(ConvKind kind) {
  constexpr std::string_view name = "opencl depthwise";
  if (kind == ConvKind::forward)
    return {
        .name = name, .supports = channel_by_channel<ConvKind::forward>, .prepare = prepare_pixels<ConvKind::forward>};
  if (kind == ConvKind::input_gradient)
    return {.name = name,
            .supports = channel_by_channel<ConvKind::input_gradient>,
            .prepare = prepare_pixels<ConvKind::input_gradient>};
  return {.name = name, .supports = channel_by_channel<ConvKind::filter_gradient>, .prepare = prepare_filter};
}

}  // namespace tandem::opencl
