// Bilinear resizing and its gradient: a work-item has rows of the result.
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/network_records.h"

namespace tandem::opencl {
namespace {

// As tandem/kernel/between_pixels.h has it.
constexpr std::string_view kBetween = R"(
typedef struct { long lower, upper; T_lane share; } Between;
static Between between_pixels(long i, long from, long to) {
  const long at = (2 * i + 1) * from - to;
  Between b = { 0, 0, (T_lane)0 };
  if (at <= 0) return b;
  b.lower = at / (2 * to);
  if (b.lower >= from - 1) {
    b.lower = b.upper = from - 1;
    return b;
  }
  b.upper = b.lower + 1;
  b.share = (T_lane)(at - b.lower * 2 * to) / (T_lane)(2 * to);
  return b;
}
)";

// x [., h, w, c] to y [., oh, ow, c].
constexpr std::string_view kForward = R"(
KERNEL resize(__global const T_mem* x, __global T_mem* y, const long h, const long w, const long oh, const long ow, const long channels,
              const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const Between row = between_pixels(line % oh, h, oh);
    const long image = line / oh * h;
    const T_lane down = row.share;
    for (long ox = 0; ox < ow; ++ox) {
      const Between column = between_pixels(ox, w, ow);
      const T_lane right = column.share;
      for (long c = 0; c < channels; c += 8) {
        const int m = (int)min(8l, channels - c);
        const long low = (image + row.lower) * w, high = (image + row.upper) * w, to = (line * ow + ox) * channels + c;
        const long at[4] = { (low + column.lower) * channels + c, (low + column.upper) * channels + c,
                             (high + column.lower) * channels + c, (high + column.upper) * channels + c };
        T_lane8 v[4];
        for (int i = 0; i < 4; ++i) v[i] = m == 8 ? T_load8(x, at[i]) : T_part(x, at[i], 1, m, 0);
        const T_lane8 left = v[0] + (v[2] - v[0]) * down, other = v[1] + (v[3] - v[1]) * down;
        const T_lane8 value = left + (other - left) * right;
        if (m == 8) T_store8(y, to, value);
        else T_store_part(y, to, value, 1, m);
      }
    }
  }
}
)";

// Each pixel adds up its shares of the new pixels around it: those between its neighbours.
constexpr std::string_view kBackward = R"(
// New pixels that may have a share of pixel i: from the first that lies beyond i - 1 to the last before i + 1.
static long first_new(long i, long from, long to) { return i == 0 ? 0 : max(0l, ((2 * i - 1) * to - from) / (2 * from)); }
static long end_new(long i, long from, long to) { return i == from - 1 ? to : min(to, ((2 * i + 3) * to - from) / (2 * from) + 1); }
// What new pixel j has of pixel i. Without a division of integers: this is asked for every pair.
static T_lane share_of(long j, long i, long from, long to) {
  const long step = 2 * to, away = min(max((2 * j + 1) * from - to, 0l), (from - 1) * step) - i * step;
  if (away <= -step || away >= step) return (T_lane)0;
  return away >= 0 ? 1 - (T_lane)away / (T_lane)step : (T_lane)(away + step) / (T_lane)step;
}

// dy [., oh, ow, c] to x [., h, w, c].
KERNEL resize_grad(__global const T_mem* dy, __global T_mem* x, const long h, const long w, const long oh, const long ow, const long channels,
                   const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / h, iy = line - image * h, top = first_new(iy, h, oh), bottom = end_new(iy, h, oh);
    for (long ix = 0; ix < w; ++ix) {
      const long left = first_new(ix, w, ow), right = end_new(ix, w, ow);
      for (long c = 0; c < channels; c += 8) {
        const int m = (int)min(8l, channels - c);
        T_lane8 sum = (T_lane8)(0);
        for (long oy = top; oy < bottom; ++oy) {
          const T_lane down = share_of(oy, iy, h, oh);
          for (long ox = left; ox < right; ++ox) {
            const T_lane weight = down * share_of(ox, ix, w, ow);
            const long from = ((image * oh + oy) * ow + ox) * channels + c;
            sum += (m == 8 ? T_load8(dy, from) : T_part(dy, from, 1, m, 0)) * weight;
          }
        }
        const long to = (line * w + ix) * channels + c;
        if (m == 8) T_store8(x, to, sum);
        else T_store_part(x, to, sum, 1, m);
      }
    }
  }
}
)";

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const bool gradient = &call.op == &resize_bilinear_grad_op;
  const Shape in = call.shape(), out = call.outputs[0].shape(), images = gradient ? out : in, resized = gradient ? in : out;
  const DType dtype = call.dtype();
  const std::int64_t lines = out.elements() ? out[0] * out[1] : 0;
  const std::int64_t per_item = context.elements_per_item(lines, 8.0 * static_cast<double>(out[2] * out[3]));
  const KernelFunction kernel = context.kernel(
      text(prelude(lane_dtype(dtype) == DType::f64), kForEach, define_dtype("T", dtype), gradient ? std::string(kBackward) : text(kBetween, kForward)), gradient ? "resize_grad" : "resize");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.outputs[0]).value(images[1]).value(images[2]).value(resized[1]).value(resized[2])
        .value(images[3]).value(lines).value(per_item).run(blocks(lines, per_item));
  });
}

}  // namespace

KernelList resizing_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare}}; }

}  // namespace tandem::opencl
