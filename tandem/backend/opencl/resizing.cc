// Bilinear resizing and its gradient: a work-item has rows of the result.
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/network_records.h"

namespace tandem::opencl {
namespace {

// As tandem/kernel/between_pixels.h has it, for one new pixel after the other: dividing costs more than blending a
// pixel.
constexpr std::string_view kWalk = R"(
// A new pixel lies at `lower` and `rest` / (2 * to) of the way to the next one.
typedef struct { long lower, rest, from, step; } Walk;
static Walk settled(Walk at) {
  while (at.rest >= at.step) {
    at.rest -= at.step;
    ++at.lower;
  }
  return at;
}
static Walk first_pixel(long from, long to) {
  Walk at;
  at.lower = 0;
  at.rest = from - to;
  at.from = from;
  at.step = 2 * to;
  return settled(at);
}
static Walk next_pixel(Walk at) {
  at.rest += 2 * at.from;
  return settled(at);
}
// Nearer to the border than its pixel, a new pixel is that one.
static long lower_of(const Walk at) { return min(at.lower, at.from - 1); }
static long upper_of(const Walk at) { return at.rest > 0 || at.lower > 0 ? min(at.lower + 1, at.from - 1) : 0; }
static T_lane share_of(const Walk at) { return at.rest <= 0 || at.lower >= at.from - 1 ? (T_lane)0 : (T_lane)at.rest / (T_lane)at.step; }
)";

// x [., h, w, c] to y [., oh, ow, c]. What two pixels above one another give is kept for the new pixels that lie beside
// it.
constexpr std::string_view kForward = R"(
static V between_rows(__global const T_mem* x, long top, long bottom, int m, T_lane down) {
  const V v = T_piece(x, top, m);
  return v + (T_piece(x, bottom, m) - v) * (V)(down);
}

KERNEL resize(__global const T_mem* x, __global T_mem* y, const long h, const long w, const long oh, const long ow, const long channels,
              const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / oh;
    Walk row = first_pixel(h, oh);
    row.rest += 2 * h * (line - image * oh);
    row.lower += row.rest / row.step;
    row.rest -= row.rest / row.step * row.step;
    const T_lane down = share_of(row);
    for (long c = 0; c < channels; c += LANES) {
      const int m = PIECE(channels - c);
      const long top = (image * h + lower_of(row)) * w * channels + c, bottom = (image * h + upper_of(row)) * w * channels + c;
      Walk column = first_pixel(w, ow);
      V left = (V)(0), right = left;
      long seen = -1;  // the column of `right`
      for (long ox = 0; ox < ow; ++ox, column = next_pixel(column)) {
        const long lower = lower_of(column), upper = upper_of(column);
        if (upper != seen || ox == 0) {
          left = ox && lower == seen ? right : between_rows(x, top + lower * channels, bottom + lower * channels, m, down);
          right = upper == lower ? left : between_rows(x, top + upper * channels, bottom + upper * channels, m, down);
          seen = upper;
        } else if (upper == lower) {
          left = right;
        }
        T_piece_store(y, (line * ow + ox) * channels + c, m, left + (right - left) * (V)(share_of(column)));
      }
    }
  }
}
)";

// dy [., oh, ow, c] to x [., h, w, c]: each pixel adds up its shares of the new pixels around it, first of those below
// one another.
constexpr std::string_view kBackward = R"(
#define ROWS 64  // at a time: enough for most, so that sums of 16 bits are rounded once
// New rows that may have a share of row i: from the first that lies beyond i - 1 to the last before i + 1.
static long first_new(long i, long from, long to) { return i == 0 ? 0 : max(0l, ((2 * i - 1) * to - from) / (2 * from)); }
static long end_new(long i, long from, long to) { return i == from - 1 ? to : min(to, ((2 * i + 3) * to - from) / (2 * from) + 1); }
// What new row j has of row i.
static T_lane weight_of(long j, long i, long from, long to) {
  const long step = 2 * to, away = min(max((2 * j + 1) * from - to, 0l), (from - 1) * step) - i * step;
  if (away <= -step || away >= step) return (T_lane)0;
  return away >= 0 ? 1 - (T_lane)away / (T_lane)step : (T_lane)(away + step) / (T_lane)step;
}
// A pixel of the result: the sum, or what is there and the sum.
static void keep(__global T_mem* x, long at, int m, V sum, int add) { T_piece_store(x, at, m, add ? T_piece(x, at, m) + sum : sum); }

// The line of x from `to`: shares of `rows` lines of dy from `from`, one after another.
static void spread_lines(__global const T_mem* dy, long from, int rows, const T_lane* weight, __global T_mem* x, long to, long w, long ow, long channels, int m,
                         int add) {
  Walk column = first_pixel(w, ow);
  V here = (V)(0), after = here;  // of pixels `at` and the next one
  long at = 0;
  for (long ox = 0; ox < ow; ++ox, column = next_pixel(column)) {
    const long lower = lower_of(column);
    for (; at < lower; ++at) {
      keep(x, to + at * channels, m, here, add);
      here = after;
      after = (V)(0);
    }
    V sum = (V)(0);
    for (int r = 0; r < rows; ++r) sum += T_piece(dy, from + (r * ow + ox) * channels, m) * (V)(weight[r]);
    const T_lane share = share_of(column);
    here += sum * (V)(1 - share);
    if (share != 0) after += sum * (V)(share);
  }
  for (; at < w; ++at) {
    keep(x, to + at * channels, m, here, add);
    here = after;
    after = (V)(0);
  }
}

KERNEL resize_grad(__global const T_mem* dy, __global T_mem* x, const long h, const long w, const long oh, const long ow, const long channels,
                   const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / h, iy = line - image * h;
    long top = first_new(iy, h, oh), bottom = end_new(iy, h, oh);
    while (top < bottom && weight_of(top, iy, h, oh) == 0) ++top;
    while (top < bottom && weight_of(bottom - 1, iy, h, oh) == 0) --bottom;
    long first = top;
    do {  // a line of which no new one has a share is written, too
      const int rows = (int)min((long)ROWS, bottom - first);
      T_lane weight[ROWS];
      for (int r = 0; r < rows; ++r) weight[r] = weight_of(first + r, iy, h, oh);
      for (long c = 0; c < channels; c += LANES)
        spread_lines(dy, (image * oh + first) * ow * channels + c, rows, weight, x, line * w * channels + c, w, ow, channels, PIECE(channels - c), first > top);
      first += ROWS;
    } while (first < bottom);
  }
}
)";

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const bool gradient = &call.op == &resize_bilinear_grad_op;
  const Shape in = call.shape(), out = call.outputs[0].shape(), images = gradient ? out : in,
              resized = gradient ? in : out;
  const DType dtype = call.dtype();
  const std::int64_t lines = out.elements() ? out[0] * out[1] : 0;
  const std::int64_t per_item = context.elements_per_item(lines, 8.0 * static_cast<double>(out[2] * out[3]));
  const KernelFunction kernel =
      context.kernel(text(prelude(lane_dtype(dtype) == DType::f64), kForEach, define_dtype("T", dtype),
                          pieces_text("T", dtype, tile_lanes(context, dtype)), kWalk, gradient ? kBackward : kForward),
                     gradient ? "resize_grad" : "resize");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(images[1])
        .value(images[2])
        .value(resized[1])
        .value(resized[2])
        .value(images[3])
        .value(lines)
        .value(per_item)
        .run(blocks(lines, per_item));
  });
}

}  // namespace

KernelList resizing_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare}}; }

}  // namespace tandem::opencl
