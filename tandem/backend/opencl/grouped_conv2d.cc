// Convolutions whose channels form groups, depthwise ones above all: too thin for matrix products, so each result adds
// its products up by itself, eight channels at a time.
#include "tandem/backend/opencl/conv2d.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kGroupText = R"(
typedef struct { long inputs, outputs, all; } Groups;  // channels a group, and output channels of all groups

static T_lane8 piece(__global const T_mem* x, long at, long stride, int m) {
  return stride == 1 && m == 8 ? T_load8(x, at) : T_part(x, at, stride, m, 0);
}
static void piece_store(__global T_mem* y, long at, int m, T_lane8 v) {
  if (m == 8) T_store8(y, at, v);
  else T_store_part(y, at, v, 1, m);
}

// Input channel k of the groups that output channels o .. o+m-1 belong to.
static T_lane8 inputs_of(__global const T_mem* x, long at, const Groups r, long o, long k, int m) {
  if (r.outputs == 1) return piece(x, at + o * r.inputs + k, r.inputs, m);
  if (o / r.outputs == (o + m - 1) / r.outputs) return (T_lane8)(T_load(x, at + o / r.outputs * r.inputs + k));
  T_lane all[8];
  for (int u = 0; u < 8; ++u) all[u] = u < m ? T_load(x, at + (o + u) / r.outputs * r.inputs + k) : 0;
  return vload8(0, all);
}
)";

constexpr std::string_view kForward = R"(
KERNEL grouped_forward(__global const T_mem* x, __global const T_mem* f, __global T_mem* y, const Image g, const Groups r,
                       const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.oh, oy = line - image * g.oh;
    for (long ox = 0; ox < g.ow; ++ox)
      for (long o = 0; o < r.all; o += 8) {
        const int m = (int)min(8l, r.all - o);
        T_lane8 sum = (T_lane8)(0);
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < g.kw; ++kx) {
            const long at = meets(g, image, oy, ox, ky, kx);
            if (at < 0) continue;
            for (long k = 0; k < r.inputs; ++k)
              sum += inputs_of(x, at, r, o, k, m) * piece(f, ((ky * g.kw + kx) * r.inputs + k) * r.all + o, 1, m);
          }
        piece_store(y, (line * g.ow + ox) * r.all + o, m, sum);
      }
  }
}
)";

constexpr std::string_view kInputGradient = R"(
// What output channel q of each group gave to input channels c .. c+m-1, with the filter's elements from `tap`.
static T_lane8 product(__global const T_mem* f, __global const T_mem* dy, long tap, long from, const Groups r, long c, long q, int m) {
  if (r.inputs == 1) return piece(f, tap + c * r.outputs + q, r.outputs, m) * piece(dy, from + c * r.outputs + q, r.outputs, m);
  T_lane all[8];
  for (int u = 0; u < 8; ++u) {
    const long group = (c + u) / r.inputs, k = (c + u) - group * r.inputs, o = group * r.outputs + q;
    all[u] = u < m ? T_load(f, tap + k * r.all + o) * T_load(dy, from + o) : 0;
  }
  return vload8(0, all);
}

KERNEL grouped_input_gradient(__global const T_mem* f, __global const T_mem* dy, __global T_mem* x, const Image g, const Groups r,
                              const long count, const long per_item) {
  FOR_EACH(line, count, per_item) {
    const long image = line / g.h, iy = line - image * g.h;
    for (long ix = 0; ix < g.w; ++ix)
      for (long c = 0; c < g.c; c += 8) {
        const int m = (int)min(8l, g.c - c);
        T_lane8 sum = (T_lane8)(0);
        for (long ky = 0; ky < g.kh; ++ky) {
          const long oy = iy + g.py - ky * g.dy;
          if (oy < 0 || oy % g.sy != 0 || oy / g.sy >= g.oh) continue;
          for (long kx = 0; kx < g.kw; ++kx) {
            const long ox = ix + g.px - kx * g.dx;
            if (ox < 0 || ox % g.sx != 0 || ox / g.sx >= g.ow) continue;
            const long from = ((image * g.oh + oy / g.sy) * g.ow + ox / g.sx) * r.all;
            for (long q = 0; q < r.outputs; ++q) sum += product(f, dy, (ky * g.kw + kx) * r.inputs * r.all, from, r, c, q, m);
          }
        }
        piece_store(x, (line * g.w + ix) * g.c + c, m, sum);
      }
  }
}
)";

constexpr std::string_view kFilterGradient = R"(
KERNEL grouped_filter_gradient(__global const T_mem* x, __global const T_mem* dy, __global T_mem* f, const Image g, const Groups r,
                               const long count, const long per_item, const long images) {
  const long columns = (r.all + 7) / 8;
  FOR_EACH(i, count, per_item) {
    const long row = i / columns, o = (i - row * columns) * 8, tap = row / r.inputs, k = row - tap * r.inputs;
    const long ky = tap / g.kw, kx = tap - ky * g.kw;
    const int m = (int)min(8l, r.all - o);
    T_lane8 sum = (T_lane8)(0);
    for (long image = 0; image < images; ++image)
      for (long oy = 0; oy < g.oh; ++oy) {
        T_lane8 line = (T_lane8)(0);  // sums of sums lose less
        for (long ox = 0; ox < g.ow; ++ox) {
          const long at = meets(g, image, oy, ox, ky, kx);
          if (at < 0) continue;
          line += inputs_of(x, at, r, o, k, m) * piece(dy, ((image * g.oh + oy) * g.ow + ox) * r.all + o, 1, m);
        }
        sum += line;
      }
    piece_store(f, row * r.all + o, m, sum);
  }
}
)";

template <ConvKind kind>
Support in_groups(const KernelCall& call) {
  if (const Support support = dtypes_supported(call); !support) return support;
  if (conv_geometry(call, kind).groups == 1) return no("without groups the packed product is faster");
  return yes();
}

struct Plan {
  std::string_view text, name;
  std::int64_t items;
  double work;  // of one item
};

Plan plan_of(const ConvGeometry& g, ConvKind kind) {
  const auto taps = static_cast<double>(g.rows.kernel * g.columns.kernel);
  const auto line = [&](std::int64_t elements, std::int64_t products) {
    return static_cast<double>(elements) * taps * static_cast<double>(products) / 4;
  };
  switch (kind) {
    case ConvKind::forward:
      return {kForward, "grouped_forward", g.batch * g.rows.output, line(g.columns.output * g.out_channels, g.group_inputs())};
    case ConvKind::input_gradient:
      return {kInputGradient, "grouped_input_gradient", g.batch * g.rows.input,
              line(g.columns.input * g.in_channels, g.group_outputs())};
    default:
      return {kFilterGradient, "grouped_filter_gradient",
              g.rows.kernel * g.columns.kernel * g.group_inputs() * blocks(g.out_channels, 8),
              static_cast<double>(g.batch * g.rows.output * g.columns.output) * 4};
  }
}

template <ConvKind kind>
Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const ConvGeometry g = conv_geometry(call, kind);
  const Plan plan = plan_of(g, kind);
  const std::int64_t count = call.outputs[0].shape().elements() ? plan.items : 0;
  const std::int64_t per_item = context.elements_per_item(count, plan.work);
  const KernelFunction kernel =
      context.kernel(text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()), kImageText, kGroupText, plan.text),
                     std::string(plan.name));
  const std::array<std::int64_t, 3> groups{g.group_inputs(), g.group_outputs(), g.out_channels};
  return prepared([=, &context](const KernelArgs& args) {
    if (count == 0) return;
    Launch launch(context, kernel);
    launch.buffer(args.inputs[0]).buffer(args.inputs[1]).buffer(args.outputs[0]).value(image_words(g)).value(groups).value(count)
        .value(per_item);
    if constexpr (kind == ConvKind::filter_gradient) launch.value(g.batch);
    launch.run(blocks(count, per_item));
  });
}

template <ConvKind kind>
Kernel direct() {
  return {.name = "opencl direct", .supports = in_groups<kind>, .prepare = prepare<kind>};
}

}  // namespace

Kernel direct_conv2d(ConvKind kind) {
  if (kind == ConvKind::forward) return direct<ConvKind::forward>();
  return kind == ConvKind::input_gradient ? direct<ConvKind::input_gradient>() : direct<ConvKind::filter_gradient>();
}

}  // namespace tandem::opencl
