// The gradient of convolution with respect to its filters.
#include <algorithm>

#include "tandem/backend/opencl/conv2d.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kFilterSums = R"(
static void keep8(__global P* to, P8 sum, int add) { PUT8(P8, to, add ? sum + GET8(P8, to) : sum); }
#if TILE_LANES == 16
#define KEEP_VECTOR(to, sum) keep8(to, (sum).lo, add), keep8((to) + 8, (sum).hi, add)
#else
#define KEEP_VECTOR(to, sum) keep8(to, sum, add)
#endif
#define LINE(r) (P)T_load(x, from[r] + at)
#define EDGE(r) (oy * g.sy + ky[r] >= 0 && oy * g.sy + ky[r] < g.h && ox * g.sx + kx[r] >= 0 && ox * g.sx + kx[r] < g.w \
                     ? (P)T_load(x, from[r] + at) : (P)0)
#define WHOLE const TILE_VECTOR b0 = TAKE(dy, q), b1 = WIDE ? TAKE(dy, q + TILE_LANES) : b0;
// Whole vectors are taken unless that is beyond the end: what a column that is not kept adds up does not matter.
#define COLUMNS const TILE_VECTOR b0 = q + TILE_LANES <= last ? TAKE(dy, q) : TAKE_PART(dy, q, columns); \
                const TILE_VECTOR b1 = !WIDE ? b0 : q + 2 * TILE_LANES <= last ? TAKE(dy, q + TILE_LANES) : TAKE_PART(dy, q + TILE_LANES, columns - TILE_LANES);
#define KEEP(r, low, high, A) \
  if (r < rows) { \
    KEEP_VECTOR(to + r * n, low); \
    if (WIDE) KEEP_VECTOR(to + r * n + TILE_LANES, high); \
  }
static void keep_part(__global P* to, long n, int rows, int columns, const P* all, int add) {
#pragma unroll 1
  for (int r = 0; r < rows; ++r)
#pragma unroll 1
    for (int k = 0; k < columns; ++k) to[r * n + k] = add ? to[r * n + k] + all[r * TILE_COLUMNS + k] : all[r * TILE_COLUMNS + k];
}

// How many steps of `stride` lead from 0 to `a` or beyond it.
static long steps_to(long a, long stride) { return stride == 1 ? a : (a + stride - 1) / stride; }

// A work-item adds up the images of one part for one or two vectors of a group's channels, some lines of an image after others, so
// that what it reads again and again is near: sums[part][patch][n].
KERNEL filter_sums(__global const T_mem* x, __global const T_mem* dy, __global P* sums, const long batch, const long per_part,
                   const long n, const long lines, const Image g, const long groups) {
  const long inputs = g.c / groups, outputs = n / groups, tile = (1 + WIDE) * TILE_LANES, group_tiles = (outputs + tile - 1) / tile;
  const long part = ITEM, group = get_global_id(1) / group_tiles, column = get_global_id(1) - group * group_tiles;
  const long patch = g.kh * g.kw * inputs, channel = group * outputs + column * tile, last = batch * g.oh * g.ow * n;
  const long begin = part * per_part, end = min(batch, begin + per_part), step = g.sx * g.c;
  const long safe = (last + n - tile - channel) / (g.ow * n);  // lines of all images in which no vector ends beyond the buffer
  const int columns = (int)min(tile, outputs - column * tile);
  __global P* mine = sums + part * patch * n;
  for (long image = begin; image < end; ++image)
    for (long y = 0; y < g.oh; y += lines) {
      long tap_y = 0, tap_x = 0, tap_c = 0;  // of the element that comes next
      for (long row = 0; row * TILE_ROWS < patch; ++row) {
        long ky[TILE_ROWS], kx[TILE_ROWS], from[TILE_ROWS], top = y, bottom = min(g.oh, y + lines), low = 0, high = g.ow;
        const long end_line = bottom;
#pragma unroll
        for (int r = 0; r < TILE_ROWS; ++r) {
          ky[r] = tap_y * g.dy - g.py;
          kx[r] = tap_x * g.dx - g.px;
          from[r] = ((image * g.h + ky[r]) * g.w + kx[r]) * g.c + group * inputs + tap_c;
          // Where the whole tile is inside: the pixels that need no look.
          top = max(top, steps_to(-ky[r], g.sy));
          bottom = min(bottom, max(0l, steps_to(g.h - ky[r], g.sy)));
          low = max(low, steps_to(-kx[r], g.sx));
          high = min(high, max(0l, steps_to(g.w - kx[r], g.sx)));
          if (row * TILE_ROWS + r + 1 < patch && ++tap_c == inputs) {  // rows beyond repeat the last one
            tap_c = 0;
            if (++tap_x == g.kw) tap_x = 0, ++tap_y;
          }
        }
        low = min(low, g.ow);
        high = max(high, low);
        TILE
        const long end_inside = min(bottom, safe - image * g.oh);
        long oy = y;
        if (low == 0 && high == g.ow && top == y && end_inside == end_line) {  // no padding: one loop, which does not pause between lines
          long ox = 0, at = y * g.sy * g.w * g.c, q = (image * g.oh + y) * g.ow * n + channel;
          for (long left = (end_line - y) * g.ow; left > 0; --left, q += n) {
            WHOLE STEP_TILE(LINE)
            const int next_line = ++ox == g.ow;
            at += next_line ? step + g.sy * g.w * g.c - g.ow * step : step;
            ox = next_line ? 0 : ox;
          }
          oy = end_line;
        }
        for (; oy < end_line; ++oy) {
          const int inside = oy >= top && oy < end_inside;
          const long from_pixel = inside ? low : g.ow, to_pixel = inside ? high : g.ow;
          long ox = 0, at = oy * g.sy * g.w * g.c, q = (image * g.oh + oy) * g.ow * n + channel;
          for (long stop = from_pixel; ox < g.ow; stop = g.ow) {  // the left edge, the inside, the right edge
            for (; ox < stop; ++ox, at += step, q += n) { COLUMNS STEP_TILE(EDGE) }
            for (; ox < to_pixel; ++ox, at += step, q += n) { WHOLE STEP_TILE(LINE) }
          }
        }
        const int rows = (int)min((long)TILE_ROWS, patch - row * TILE_ROWS), add = image > begin || y > 0;
        __global P* to = mine + row * TILE_ROWS * n + channel;
        if (columns == tile) {
          EACH_ROW(KEEP, )
        } else {
          P all[TILE_ROWS * TILE_COLUMNS];
          EACH_ROW(SPREAD_ROW, )
          keep_part(to, n, rows, columns, all, add);
        }
      }
    }
}
)";

/// Longer vectors pay a quarter; more than that must not be left empty in the last tile of channels.
int filter_lanes(const Context& context, DType dtype, std::int64_t channels) {
  const int most = tile_lanes(context, dtype);
  const auto covered = [&](int lanes) { return static_cast<double>(blocks(channels, 2 * lanes) * 2 * lanes); };
  return covered(most) <= 1.25 * covered(kWidth) ? most : kWidth;
}

class Conv2dBackpropFilter final : public PreparedKernel {
 public:
  explicit Conv2dBackpropFilter(const KernelCall& call)
      : context_(context_of(call)),
        g_(conv_geometry(call, ConvKind::filter_gradient)),
        dtype_(call.dtype()),
        lanes_(filter_lanes(context_, dtype_, g_.group_outputs())),
        vectors_(g_.group_outputs() > lanes_ ? 2 : 1),
        sum_(context_.kernel(source(), "filter_sums")),
        add_(context_.kernel(source(), "add_parts")),
        elements_(call.outputs[0].shape().elements()),
        per_part_(blocks(std::max<std::int64_t>(g_.batch, 1), image_parts(g_.batch, elements_))),
        parts_(blocks(std::max<std::int64_t>(g_.batch, 1), per_part_)),
        filling_(context_, call.outputs[0].spec),
        empty_(call.shape(0).elements() == 0 || call.shape(1).elements() == 0) {}

  void run(const KernelArgs& args) const override {
    if (elements_ == 0) return;
    if (empty_) return filling_.run(args.outputs[0], 0);
    const Scratch sums(context_.pool(), static_cast<std::size_t>(parts_ * elements_) * packed_bytes(dtype_));
    Launch(context_, sum_)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .buffer(sums.get())
        .value(g_.batch)
        .value(per_part_)
        .value(g_.out_channels)
        .value(lines())
        .value(image_words(g_))
        .value(g_.groups)
        .run(parts_, g_.groups * blocks(g_.group_outputs(), vectors_ * lanes_));
    launch_add_parts(context_, add_, sums.get(), args.outputs[0], elements_, parts_);
  }

 private:
  /// Lines of an image that stay near a core with what of the gradient belongs to them, in equal blocks; the same on
  /// every device.
  std::int64_t lines() const {
    constexpr std::int64_t kNear = 48 * 1024 / 4, kColumns = 32;
    const std::int64_t line = g_.columns.output * kColumns + g_.rows.stride * g_.columns.input * g_.group_inputs(),
                       all = std::max<std::int64_t>(g_.rows.output, 1);
    return blocks(all, blocks(all, std::clamp<std::int64_t>(kNear / std::max<std::int64_t>(line, 1), 1, all)));
  }
  /// Where vectors have sixteen lanes there are twice as many registers, of which nine rows leave some.
  int tile_rows() const { return lanes_ == 2 * kWidth ? 9 : kTileRows; }
  std::string source() const {
    return text(gemm_prelude(dtype_), "#define WIDE ", vectors_ - 1, "\n", kForEach, Epilogue().source(),
                tile_text(lanes_, tile_rows()), kImageText, kAddPartsText, kFilterSums);
  }

  Context& context_;
  ConvGeometry g_;
  DType dtype_;
  int lanes_, vectors_;  // of a tile
  KernelFunction sum_, add_;
  std::int64_t elements_, per_part_, parts_;
  Filling filling_;
  bool empty_;  // no pixels to add up
};

}  // namespace

const std::string_view kAddPartsText = R"(
KERNEL add_parts(__global const P* sums, __global T_mem* y, const long count, const long parts, const long per_item) {
  long i = ITEM * per_item;
  const long end = min(count, i + per_item);
  for (; i + 8 <= end; i += 8) {
    P8 sum = GET8(P8, sums + i);
    for (long part = 1; part < parts; ++part) sum += GET8(P8, sums + part * count + i);
    T_store8(y, i, AS_T8(sum));
  }
  for (; i < end; ++i) {
    P sum = sums[i];
    for (long part = 1; part < parts; ++part) sum += sums[part * count + i];
    T_store(y, i, (T_lane)sum);
  }
}
)";

void launch_add_parts(Context& context, const KernelFunction& add_parts, const void* sums, void* to, std::int64_t count,
                      std::int64_t parts) {
  const std::int64_t per_item = blocks(context.elements_per_item(count, static_cast<double>(parts)), kWidth) * kWidth;
  Launch(context, add_parts)
      .buffer(sums)
      .buffer(to)
      .value(count)
      .value(parts)
      .value(per_item)
      .run(blocks(count, per_item));
}

std::int64_t image_parts(std::int64_t batch, std::int64_t elements) {
  constexpr std::int64_t kMost = 16, kMostElements = 4 << 20;
  return std::clamp<std::int64_t>(kMostElements / std::max<std::int64_t>(elements, 1), 1,
                                  std::clamp<std::int64_t>(batch, 1, kMost));
}

KernelList conv2d_backprop_filter_kernels() {
  return packed_or_depthwise<Conv2dBackpropFilter, ConvKind::filter_gradient>();
}

}  // namespace tandem::opencl
