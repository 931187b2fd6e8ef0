// Pooling: the largest value or the mean of each window, and where their gradients go.
#include <array>

#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/window.h"

namespace tandem::opencl {
namespace {

using Geometry = PoolGeometry;

/// The fields of the struct Image.
std::array<std::int64_t, 11> words(const Geometry& g) {
  return {g.rows.input,     g.columns.input, g.channels,       g.rows.output,     g.columns.output,    g.rows.kernel,
          g.columns.kernel, g.rows.stride,   g.columns.stride, g.rows.pad_before, g.columns.pad_before};
}

constexpr std::string_view kImage = R"(
typedef struct { long h, w, c, oh, ow, kh, kw, sy, sx, py, px; } Image;
)";

constexpr std::string_view kWindow = R"(
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
      value = PICK(TO_LANES(larger), v, value);
      best = PICK(larger, (int8)((int)(iy * g.w + ix)), best);
    }
  *where = best;
  return value;
}
)";

constexpr std::string_view kForward = R"(
KERNEL pool(__global const T_mem* x, __global T_mem* y, const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, base = image * g.h * g.w * g.c, y0 = oy * g.sy - g.py;
    const long top = max(y0, 0l), bottom = min(y0 + g.kh, g.h);
    for (long ox = 0; ox < g.ow; ++ox) {
      const long x0 = ox * g.sx - g.px, left = max(x0, 0l), right = min(x0 + g.kw, g.w);
      for (long c = 0; c < g.c; c += LANES) {
        const int m = PIECE(g.c - c);
        V value = (V)(0);
        for (long iy = top; iy < bottom; ++iy)
          for (long ix = left; ix < right; ++ix) {
            const V v = T_piece(x, base + (iy * g.w + ix) * g.c + c, m);
            value = iy == top && ix == left ? v : PICK((v > value) | (v != v), v, value);  // NaN is above all
          }
        T_piece_store(y, (line * g.ow + ox) * g.c + c, m, value);
      }
    }
  }
}
)";

constexpr std::string_view kArgmax = R"(
KERNEL pool_argmax(__global const T_mem* x, __global T_mem* y, __global void* where, const int wide, const int whole_batch,
                   const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, base = image * g.h * g.w * g.c;
    for (long ox = 0; ox < g.ow; ++ox)
      for (long c = 0; c < g.c; c += 8) {
        const int m = (int)min(8l, g.c - c);
        const long to = (line * g.ow + ox) * g.c + c;
        int8 pixels;
        const T_lane8 value = largest(x, g, base, oy, ox, c, m, &pixels);
        if (m == 8) T_store8(y, to, value);
        else T_store_part(y, to, value, 1, m);
        int all[8];
        vstore8(pixels, 0, all);
        for (int u = 0; u < m; ++u) {
          const long at = (whole_batch ? base : 0) + all[u] * g.c + c + u;
          if (wide) ((__global long*)where)[to + u] = at;
          else ((__global int*)where)[to + u] = (int)at;
        }
      }
  }
}
)";

constexpr std::string_view kMean = R"(
KERNEL pool_mean(__global const T_mem* x, __global T_mem* y, const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, y0 = oy * g.sy - g.py;
    for (long ox = 0; ox < g.ow; ++ox) {
      const long x0 = ox * g.sx - g.px;
      const long top = max(y0, 0l), bottom = min(y0 + g.kh, g.h), left = max(x0, 0l), right = min(x0 + g.kw, g.w);
      const T_lane pixels = (T_lane)((bottom - top) * (right - left));
      for (long c = 0; c < g.c; c += LANES) {
        const int m = PIECE(g.c - c);
        V sum = (V)(0);
        for (long iy = top; iy < bottom; ++iy)
          for (long ix = left; ix < right; ++ix) sum += T_piece(x, ((image * g.h + iy) * g.w + ix) * g.c + c, m);
        T_piece_store(y, (line * g.ow + ox) * g.c + c, m, sum / pixels);
      }
    }
  }
}
)";

constexpr std::string_view kMeanGrad = R"(
// How many pixels of a window lie inside an axis of `size`.
static long inside(long start, long kernel_size, long size) { return min(start + kernel_size, size) - max(start, 0l); }

// Each input pixel adds up its shares of the windows that cover it.
KERNEL pool_mean_grad(__global const T_mem* dy, __global T_mem* x, const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.h, iy = line - image * g.h;
    const long top = max(iy + g.py - g.kh + g.sy, 0l) / g.sy, bottom = min(g.oh, (iy + g.py) / g.sy + 1);
    for (long ix = 0; ix < g.w; ++ix) {
      const long left = max(ix + g.px - g.kw + g.sx, 0l) / g.sx, right = min(g.ow, (ix + g.px) / g.sx + 1);
      for (long c = 0; c < g.c; c += LANES) {
        const int m = PIECE(g.c - c);
        V sum = (V)(0);
        for (long oy = top; oy < bottom; ++oy)
          for (long ox = left; ox < right; ++ox) {
            const T_lane pixels = (T_lane)(inside(oy * g.sy - g.py, g.kh, g.h) * inside(ox * g.sx - g.px, g.kw, g.w));
            sum += T_piece(dy, ((image * g.oh + oy) * g.ow + ox) * g.c + c, m) / pixels;
          }
        T_piece_store(x, (line * g.w + ix) * g.c + c, m, sum);
      }
    }
  }
}

// Windows that do not overlap: each pixel belongs to one at most, and is written once.
KERNEL pool_mean_grad_apart(__global const T_mem* dy, __global T_mem* x, const Image g, const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, y0 = oy * g.sy - g.py, top = max(y0, 0l), bottom = min(y0 + g.kh, g.h);
    for (long ox = 0; ox < g.ow; ++ox) {
      const long x0 = ox * g.sx - g.px, left = max(x0, 0l), right = min(x0 + g.kw, g.w);
      const T_lane pixels = (T_lane)((bottom - top) * (right - left));
      for (long c = 0; c < g.c; c += LANES) {
        const int m = PIECE(g.c - c);
        const V share = T_piece(dy, (line * g.ow + ox) * g.c + c, m) / pixels;
        for (long iy = top; iy < bottom; ++iy)
          for (long ix = left; ix < right; ++ix) T_piece_store(x, ((image * g.h + iy) * g.w + ix) * g.c + c, m, share);
      }
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
            const T_lane8 part = PICK(TO_LANES(where == (int8)((int)(iy * g.w + ix))), gradient, (T_lane8)(0));
            if (m == 8) L_store8(sums, at, L_load8(sums, at) + part);
            else L_store_part(sums, at, L_part(sums, at, 1, m, 0) + part, 1, m);
          }
      }
  }
}
)";

// Windows that do not overlap: each pixel belongs to one at most, and is written once.
constexpr std::string_view kBackwardApart = R"(
KERNEL pool_grad_apart(__global const T_mem* x, __global const T_mem* dy, __global T_mem* dx, const Image g, const long count,
                       const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh, base = image * g.h * g.w * g.c, y0 = oy * g.sy - g.py;
    for (long ox = 0; ox < g.ow; ++ox) {
      const long x0 = ox * g.sx - g.px;
      for (long c = 0; c < g.c; c += 8) {
        const int m = (int)min(8l, g.c - c);
        int8 where;
        largest(x, g, base, oy, ox, c, m, &where);
        const long from = (line * g.ow + ox) * g.c + c;
        const T_lane8 gradient = m == 8 ? T_load8(dy, from) : T_part(dy, from, 1, m, 0);
        for (long iy = max(y0, 0l); iy < min(y0 + g.kh, g.h); ++iy)
          for (long ix = max(x0, 0l); ix < min(x0 + g.kw, g.w); ++ix) {
            const long at = base + (iy * g.w + ix) * g.c + c;
            const T_lane8 part = PICK(TO_LANES(where == (int8)((int)(iy * g.w + ix))), gradient, (T_lane8)(0));
            if (m == 8) T_store8(dx, at, part);
            else T_store_part(dx, at, part, 1, m);
          }
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

/// Lines of an image, one after the other: how many, and how many a work-item takes.
struct Lines {
  std::int64_t count, per_item;
  Lines(Context& context, const Geometry& g, const Window& rows, std::int64_t in_a_row, std::int64_t in_a_line)
      : count(g.channels && in_a_row ? g.batch * in_a_line : 0),
        per_item(context.elements_per_item(
            count, static_cast<double>(in_a_row * g.channels * rows.kernel * g.columns.kernel))) {}
};
Lines output_lines(Context& context, const Geometry& g) {
  return {context, g, g.rows, g.columns.output, g.rows.output};
}
Lines input_lines(Context& context, const Geometry& g) { return {context, g, g.rows, g.columns.input, g.rows.input}; }

std::string source(DType dtype, std::string_view text_of_kernel, std::string_view window = {}) {
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), mask_macros(lane_dtype(dtype)), kImage,
              window, text_of_kernel);
}
/// In vectors as wide as the device has them.
std::string wide_source(const Context& context, DType dtype, std::string_view text_of_kernel) {
  return source(dtype, text(pieces_text("T", dtype, tile_lanes(context, dtype)), text_of_kernel));
}

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const Geometry g = Geometry::make(call.attr(), call.shape());
  const Lines lines = output_lines(context, g);
  const KernelFunction kernel = context.kernel(wide_source(context, call.dtype(), kForward), "pool");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(words(g))
        .value(lines.count)
        .value(lines.per_item)
        .run(blocks(lines.count, lines.per_item));
  });
}

Prepared prepare_argmax(const KernelCall& call) {
  Context& context = context_of(call);
  const Geometry g = Geometry::make(call.attr(), call.shape());
  const Lines lines = output_lines(context, g);
  const KernelFunction kernel = context.kernel(source(call.dtype(), kArgmax, kWindow), "pool_argmax");
  const cl_int wide = call.outputs[1].dtype() == DType::i64,
               whole_batch = call.attr().boolean("include_batch_in_index");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .buffer(args.outputs[1])
        .value(wide)
        .value(whole_batch)
        .value(words(g))
        .value(lines.count)
        .value(lines.per_item)
        .run(blocks(lines.count, lines.per_item));
  });
}

bool apart(const Window& w) { return w.stride >= w.kernel; }
/// Every pixel lies in a window, if they lie side by side.
bool covered(const Window& w) { return w.stride == w.kernel && w.output * w.stride - w.pad_before >= w.input; }

/// Is the gradient cleared first, because some pixels lie in no window?
bool cleared(const Geometry& g, const Lines& lines) {
  return lines.count == 0 || !covered(g.rows) || !covered(g.columns);
}

Prepared prepare_mean(const KernelCall& call, const Geometry& g, bool gradient) {
  Context& context = context_of(call);
  const bool spread = gradient && apart(g.rows) && apart(g.columns),
             clear = spread && cleared(g, output_lines(context, g));
  const Lines lines = gradient && !spread ? input_lines(context, g) : output_lines(context, g);
  // One program for all: they are compiled kernel by kernel.
  const KernelFunction kernel =
      context.kernel(wide_source(context, call.dtype(), text(kMean, kMeanGrad)), spread     ? "pool_mean_grad_apart"
                                                                                 : gradient ? "pool_mean_grad"
                                                                                            : "pool_mean");
  return prepared([=, &context, filling = Filling(context, call.outputs[0].spec)](const KernelArgs& args) {
    if (clear) filling.run(args.outputs[0], 0);
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(words(g))
        .value(lines.count)
        .value(lines.per_item)
        .run(blocks(lines.count, lines.per_item));
  });
}

Prepared prepare_grad_apart(const KernelCall& call, const Geometry& g) {
  Context& context = context_of(call);
  const Lines lines = output_lines(context, g);
  const bool clear = cleared(g, lines);
  const KernelFunction kernel = context.kernel(source(call.dtype(), kBackwardApart, kWindow), "pool_grad_apart");
  return prepared([=, &context, filling = Filling(context, call.outputs[0].spec)](const KernelArgs& args) {
    if (clear) filling.run(args.outputs[0], 0);
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[2])
        .buffer(args.outputs[0])
        .value(words(g))
        .value(lines.count)
        .value(lines.per_item)
        .run(blocks(lines.count, lines.per_item));
  });
}

Prepared prepare_grad(const KernelCall& call) {
  if (const Geometry g = Geometry::make(call.attr(), call.shape()); apart(g.rows) && apart(g.columns))
    return prepare_grad_apart(call, g);
  Context& context = context_of(call);
  const Geometry g = Geometry::make(call.attr(), call.shape());
  const DType lane = lane_dtype(call.dtype());
  const std::int64_t elements = call.shape().elements();
  const std::int64_t count = call.shape(1).elements() ? g.batch * blocks(g.channels, 8) : 0;
  const std::int64_t per_item =
      context.elements_per_item(count, static_cast<double>(g.rows.output * g.columns.output * 128));
  const KernelFunction kernel =
      context.kernel(text(prelude(lane == DType::f64), kForEach, define_dtype("T", call.dtype()),
                          define_dtype("L", lane), mask_macros(lane), kImage, kWindow, kBackward),
                     "pool_grad");
  return prepared([=, &context, filling = Filling(context, lane, elements),
                   narrowing = Narrowing(context, call.dtype(), elements)](const KernelArgs& args) {
    if (elements == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_size(lane);
    const Scratch scratch(context.pool(), narrowing.needed() ? bytes : 0);
    Buffer* sums = narrowing.needed() ? scratch.get() : args.output<Buffer>();
    filling.run(sums, 0);
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[2])
        .buffer(sums)
        .value(words(g))
        .value(count)
        .value(per_item)
        .run(blocks(count, per_item));
    if (narrowing.needed()) narrowing.run(sums, args.outputs[0]);
  });
}

}  // namespace

KernelList max_pool2d_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare}};
}
KernelList max_pool2d_grad_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_grad}};
}

KernelList max_pool_with_argmax_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_argmax}};
}
KernelList avg_pool2d_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = [](const KernelCall& call) {
             return prepare_mean(call, Geometry::make(call.attr(), call.shape()), false);
           }}};
}
KernelList avg_pool2d_grad_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = [](const KernelCall& call) {
             return prepare_mean(call, Geometry::make(call.attr(), call.outputs[0].shape()), true);
           }}};
}

}  // namespace tandem::opencl
