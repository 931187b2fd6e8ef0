// Pooling: the largest value of each window, and where its gradient goes.
#include <array>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/window.h"

namespace tandem::opencl {
namespace {

struct Geometry {
  Window rows, columns;
  std::int64_t batch, channels;

  explicit Geometry(const KernelCall& call) : batch(call.shape()[0]), channels(call.shape()[3]) {
    const auto ksize = call.attr().ints("ksize"), strides = call.attr().ints("strides");
    const bool same = call.attr().choice("padding") == "same";
    rows = Window::make(call.shape()[1], ksize.front(), strides.front(), 1, same);
    columns = Window::make(call.shape()[2], ksize.back(), strides.back(), 1, same);
  }
  std::array<std::int64_t, 11> words() const {
    return {rows.input,  columns.input,  channels,        rows.output,       columns.output, rows.kernel, columns.kernel,
            rows.stride, columns.stride, rows.pad_before, columns.pad_before};
  }
};

constexpr std::string_view kWindow = R"(
typedef struct { long h, w, c, oh, ow, kh, kw, sy, sx, py, px; } Image;

// Of eight channels from c: the first largest value of a window and how far from `base` it is; NaN is above all.
static T_lane8 largest(__global const T_mem* x, const Image g, long base, long oy, long ox, long c, int m, int8* where) {
  T_lane8 value = (T_lane8)(0);
  int8 best = (int8)(-1);
  for (long ky = 0; ky < g.kh; ++ky)
    for (long kx = 0; kx < g.kw; ++kx) {
      const long iy = oy * g.sy + ky - g.py, ix = ox * g.sx + kx - g.px;
      if (iy < 0 || iy >= g.h || ix < 0 || ix >= g.w) continue;
      const long at = (iy * g.w + ix) * g.c + c;
      const T_lane8 v = m == 8 ? T_load8(x, base + at) : T_part(x, base + at, 1, m, 0);
      const int8 larger = (best < 0) | TO_MASK(v > value) | TO_MASK((v != v) & (value == value));
      value = TO_LANES(larger) ? v : value;
      best = larger ? (int8)((int)(iy * g.w + ix)) : best;
    }
  *where = best;
  return value;
}
)";

constexpr std::string_view kForward = R"(
KERNEL pool(__global const T_mem* x, __global T_mem* y, const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, base = image * g.h * g.w * g.c;
    for (long ox = 0; ox < g.ow; ++ox)
      for (long c = 0; c < g.c; c += 8) {
        const int m = (int)min(8l, g.c - c);
        const long to = (line * g.ow + ox) * g.c + c;
        int8 where;
        const T_lane8 value = largest(x, g, base, oy, ox, c, m, &where);
        if (m == 8) T_store8(y, to, value);
        else T_store_part(y, to, value, 1, m);
      }
  }
}
)";

// Windows may overlap, so one work-item adds up eight channels of an image, in the order of the windows.
constexpr std::string_view kBackward = R"(
KERNEL pool_grad(__global const T_mem* x, __global const T_mem* dy, __global L_mem* sums, const Image g, const long count,
                 const long per_item) {
  const long columns = (g.c + 7) / 8;
  FOR_EACH(i, count, per_item) {
    const long image = i / columns, c = (i - image * columns) * 8, base = image * g.h * g.w * g.c;
    const int m = (int)min(8l, g.c - c);
    for (long oy = 0; oy < g.oh; ++oy)
      for (long ox = 0; ox < g.ow; ++ox) {
        int8 where;
        largest(x, g, base, oy, ox, c, m, &where);
        const long from = ((image * g.oh + oy) * g.ow + ox) * g.c + c;
        const T_lane8 gradient = m == 8 ? T_load8(dy, from) : T_part(dy, from, 1, m, 0);
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < g.kw; ++kx) {
            const long iy = oy * g.sy + ky - g.py, ix = ox * g.sx + kx - g.px;
            if (iy < 0 || iy >= g.h || ix < 0 || ix >= g.w) continue;
            const long at = base + (iy * g.w + ix) * g.c + c;
            const T_lane8 part = TO_LANES(where == (int8)((int)(iy * g.w + ix))) ? gradient : (T_lane8)(0);
            if (m == 8) L_store8(sums, at, L_load8(sums, at) + part);
            else L_store_part(sums, at, L_part(sums, at, 1, m, 0) + part, 1, m);
          }
      }
  }
}
)";

/// Masks have the width of what was compared; positions are ints.
std::string mask_macros(DType lane) {
  const bool wide = dtype_size(lane) == 8;
  return text("#define TO_MASK ", wide ? "convert_int8" : "", "\n#define TO_LANES ", wide ? "convert_long8" : "", "\n");
}

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const Geometry g(call);
  const std::int64_t count = g.channels ? g.batch * g.rows.output : 0;  // lines
  const auto work = static_cast<double>(g.columns.output * g.channels * g.rows.kernel * g.columns.kernel);
  const std::int64_t per_item = context.elements_per_item(count, work);
  const KernelFunction kernel =
      context.kernel(text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()),
                          mask_macros(lane_dtype(call.dtype())), kWindow, kForward),
                     "pool");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.outputs[0]).value(g.words()).value(count).value(per_item)
        .run(blocks(count, per_item));
  });
}

Prepared prepare_grad(const KernelCall& call) {
  Context& context = context_of(call);
  const Geometry g(call);
  const DType lane = lane_dtype(call.dtype());
  const std::int64_t elements = call.shape().elements();
  const std::int64_t count = call.shape(1).elements() ? g.batch * blocks(g.channels, 8) : 0;
  const std::int64_t per_item = context.elements_per_item(count, static_cast<double>(g.rows.output * g.columns.output * 128));
  const KernelFunction kernel = context.kernel(text(prelude(lane == DType::f64), kForEach, define_dtype("T", call.dtype()),
                                                    define_dtype("L", lane), mask_macros(lane), kWindow, kBackward),
                                               "pool_grad");
  return prepared([=, &context, narrowing = Narrowing(context, call.dtype(), elements)](const KernelArgs& args) {
    if (elements == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_size(lane);
    const Scratch scratch(context.pool(), narrowing.needed() ? bytes : 0);
    Buffer* sums = narrowing.needed() ? scratch.get() : args.output<Buffer>();
    const std::int64_t zero = 0;
    context.fill(*sums, &zero, dtype_size(lane), bytes);
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.inputs[2]).buffer(sums).value(g.words()).value(count)
        .value(per_item).run(blocks(count, per_item));
    if (narrowing.needed()) narrowing.run(sums, args.outputs[0]);
  });
}

}  // namespace

KernelList max_pool2d_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare}}; }
KernelList max_pool2d_grad_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare_grad}}; }

}  // namespace tandem::opencl
