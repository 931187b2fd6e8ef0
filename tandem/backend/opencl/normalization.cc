// Normalisation over rows [rows, features]. Sums over rows are taken in segments whose number depends on the shape
// only, eight features a work-item, then the segments are added in their order.
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kPieces = R"(
static T_lane8 piece(__global const T_mem* x, long at, int m) { return m == 8 ? T_load8(x, at) : T_part(x, at, 1, m, 0); }
static void piece_store(__global T_mem* y, long at, int m, T_lane8 v) {
  if (m == 8) T_store8(y, at, v);
  else T_store_part(y, at, v, 1, m);
}
static L_lane8 lanes(__global const L_mem* x, long at, int m) { return m == 8 ? L_load8(x, at) : L_part(x, at, 1, m, 0); }
static void lanes_store(__global L_mem* y, long at, int m, L_lane8 v) {
  if (m == 8) L_store8(y, at, v);
  else L_store_part(y, at, v, 1, m);
}
static T_lane added(T_lane8 v) { return ((v.s0 + v.s4) + (v.s2 + v.s6)) + ((v.s1 + v.s5) + (v.s3 + v.s7)); }
)";

// What is added up: 0 the values, 1 squares of the distance to the mean, 2 and 3 gradients of a batch and of rows.
constexpr std::string_view kColumnSums = R"(
KERNEL column_partials(const int kind, __global const T_mem* x, __global const T_mem* dy, __global const T_mem* mean,
                       __global const T_mem* inverse, __global L_mem* partials, const long rows, const long features,
                       const long segments, const long count, const long per_item) {
  const long columns = (features + 7) / 8, segment_rows = (rows + segments - 1) / segments;
  FOR_EACH(i, count, per_item) {
    const long segment = i / columns, c = (i - segment * columns) * 8;
    const int m = (int)min(8l, features - c);
    T_lane8 a = (T_lane8)(0), b = (T_lane8)(0), middle = (T_lane8)(0);
    if (kind == 1 || kind == 2) middle = piece(mean, c, m);
    for (long row = segment * segment_rows; row < min(rows, (segment + 1) * segment_rows); ++row) {
      const T_lane8 v = piece(x, row * features + c, m);
      if (kind == 0) {
        a += v;
      } else if (kind == 1) {
        a += (v - middle) * (v - middle);
        b += v - middle;
      } else {
        const T_lane8 g = piece(dy, row * features + c, m);
        a += kind == 2 ? g * (v - middle) : g * ((v - T_load(mean, row)) * T_load(inverse, row));
        b += g;
      }
    }
    lanes_store(partials, segment * 2 * features + c, m, a);
    lanes_store(partials, (segment * 2 + 1) * features + c, m, b);
  }
}

KERNEL column_totals(const int kind, __global const L_mem* partials, const long segments, const long rows, const long features,
                     const L_lane epsilon, __global const T_mem* mean, __global const T_mem* variance, __global T_mem* out1,
                     __global T_mem* out2, __global L_mem* stats, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long c = i * 8;
    const int m = (int)min(8l, features - c);
    L_lane8 a = (L_lane8)(0), b = (L_lane8)(0);
    for (long s = 0; s < segments; ++s) {
      a += lanes(partials, s * 2 * features + c, m);
      b += lanes(partials, (s * 2 + 1) * features + c, m);
    }
    const L_lane n = (L_lane)rows;
    if (kind == 0) {
      piece_store(out1, c, m, a / n);
    } else if (kind == 1) {
      const L_lane8 rest = b / n, spread = a / n - rest * rest;  // rest: what rounding the mean left over
      piece_store(out2, c, m, spread);
      lanes_store(stats, c, m, piece(mean, c, m) + rest);
      lanes_store(stats, features + c, m, spread);
    } else if (kind == 2) {
      const L_lane8 inverse = (L_lane8)(1) / sqrt(piece(variance, c, m) + epsilon);
      piece_store(out1, c, m, a * inverse);
      piece_store(out2, c, m, b);
      lanes_store(stats, c, m, b / n);
      lanes_store(stats, features + c, m, a / n * inverse * inverse);
    } else {
      piece_store(out1, c, m, a);
      piece_store(out2, c, m, b);
    }
  }
}
)";

constexpr std::string_view kBatch = R"(
KERNEL batch_forward(__global const T_mem* x, __global const T_mem* scale, __global const T_mem* offset, __global const L_mem* stats,
                     __global T_mem* y, const L_lane epsilon, const long features, const long count, const long per_item) {
  FOR_EACH(row, count, per_item)
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      const L_lane8 factor = piece(scale, c, m) / sqrt(lanes(stats, features + c, m) + epsilon);
      piece_store(y, row * features + c, m, (piece(x, row * features + c, m) - lanes(stats, c, m)) * factor + piece(offset, c, m));
    }
}
KERNEL batch_gradient(__global const T_mem* dy, __global const T_mem* x, __global const T_mem* scale, __global const T_mem* mean,
                      __global const T_mem* variance, __global const L_mem* stats, __global T_mem* dx, const L_lane epsilon,
                      const long features, const long count, const long per_item) {
  FOR_EACH(row, count, per_item)
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      const L_lane8 factor = piece(scale, c, m) / sqrt(piece(variance, c, m) + epsilon);
      const L_lane8 away = piece(x, row * features + c, m) - piece(mean, c, m);
      const L_lane8 rest = piece(dy, row * features + c, m) - lanes(stats, c, m) - away * lanes(stats, features + c, m);
      piece_store(dx, row * features + c, m, factor * rest);
    }
}
)";

constexpr std::string_view kLayer = R"(
KERNEL layer_forward(__global const T_mem* x, __global const T_mem* scale, __global const T_mem* offset, __global T_mem* y,
                     __global T_mem* means, __global T_mem* inverses, const L_lane epsilon, const long features, const long count,
                     const long per_item) {
  FOR_EACH(row, count, per_item) {
    const long from = row * features;
    T_lane8 sum = (T_lane8)(0), squares = (T_lane8)(0);
    for (long c = 0; c < features; c += 8) sum += piece(x, from + c, (int)min(8l, features - c));
    const T_lane mean = added(sum) / (T_lane)features;
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      const T_lane8 away = (m == 8 ? T_load8(x, from + c) : T_part(x, from + c, 1, m, mean)) - mean;
      squares += away * away;
    }
    const T_lane inverse = 1 / sqrt(added(squares) / (T_lane)features + epsilon);
    T_store(means, row, mean);
    T_store(inverses, row, inverse);
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      piece_store(y, from + c, m, (piece(x, from + c, m) - mean) * inverse * piece(scale, c, m) + piece(offset, c, m));
    }
  }
}
KERNEL layer_gradient(__global const T_mem* dy, __global const T_mem* x, __global const T_mem* scale, __global const T_mem* means,
                      __global const T_mem* inverses, __global T_mem* dx, const long features, const long count, const long per_item) {
  FOR_EACH(row, count, per_item) {
    const long from = row * features;
    const T_lane mean = T_load(means, row), inverse = T_load(inverses, row);
    T_lane8 sums = (T_lane8)(0), products = (T_lane8)(0);
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      const T_lane8 g = piece(dy, from + c, m) * piece(scale, c, m);
      sums += g;
      products += g * (piece(x, from + c, m) - mean);
    }
    const T_lane sum = added(sums) / (T_lane)features, product = added(products) * inverse / (T_lane)features;
    for (long c = 0; c < features; c += 8) {
      const int m = (int)min(8l, features - c);
      const T_lane8 g = piece(dy, from + c, m) * piece(scale, c, m);
      piece_store(dx, from + c, m, inverse * (g - sum - (piece(x, from + c, m) - mean) * inverse * product));
    }
  }
}
)";

std::string source(DType dtype) {
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), define_dtype("L", lane_dtype(dtype)),
              kPieces, kColumnSums, kBatch, kLayer);
}

/// What every launch needs: sizes, and epsilon as a lane.
struct Sizes {
  Context* context;
  DType lane;
  std::int64_t rows, features, segments, per_row_item;
  double epsilon;

  Sizes(const KernelCall& call, const Shape& x)
      : context(&context_of(call)),
        lane(lane_dtype(call.dtype())),
        rows(x.elements() / std::max<std::int64_t>(x[-1], 1)),
        features(x[-1]),
        segments(std::clamp<std::int64_t>(rows / 64, 1, 64)),
        per_row_item(context->elements_per_item(rows, 10.0 * static_cast<double>(features))),
        epsilon(call.attr().real("epsilon")) {}

  KernelFunction kernel(DType dtype, const char* name) const { return context->kernel(source(dtype), name); }
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * dtype_size(lane); }
  void add_epsilon(Launch& launch) const {
    if (lane == DType::f64) launch.value(epsilon);
    else launch.value(static_cast<float>(epsilon));
  }
};

/// The two kernels that add rows up.
class ColumnSums {
 public:
  ColumnSums(const Sizes& s, DType dtype)
      : s_(s),
        partials_(s.kernel(dtype, "column_partials")),
        totals_(s.kernel(dtype, "column_totals")),
        count_(s.segments * blocks(s.features, 8)),
        per_item_(s.context->elements_per_item(count_, 4.0 * static_cast<double>(s.rows / s.segments))) {}

  std::size_t scratch_bytes() const { return s_.bytes(s_.segments * 2 * s_.features); }

  /// `inverse_or_variance`: of rows for kind 3, of features for kind 2; buffers that a kind does not read may be any.
  struct Buffers {
    const void *x, *dy, *mean, *inverse_or_variance;
    void *partials, *out1, *out2, *stats;
  };
  void run(int kind, const Buffers& b) const {
    const cl_int word = kind;
    Launch(*s_.context, partials_)
        .value(word)
        .buffer(b.x)
        .buffer(b.dy)
        .buffer(b.mean)
        .buffer(b.inverse_or_variance)
        .buffer(b.partials)
        .value(s_.rows)
        .value(s_.features)
        .value(s_.segments)
        .value(count_)
        .value(per_item_)
        .run(blocks(count_, per_item_));
    const std::int64_t columns = blocks(s_.features, 8), one = 1;
    Launch launch(*s_.context, totals_);
    launch.value(word).buffer(b.partials).value(s_.segments).value(s_.rows).value(s_.features);
    s_.add_epsilon(launch);
    launch.buffer(b.mean)
        .buffer(b.inverse_or_variance)
        .buffer(b.out1)
        .buffer(b.out2)
        .buffer(b.stats)
        .value(columns)
        .value(one)
        .run(columns);
  }

 private:
  Sizes s_;
  KernelFunction partials_, totals_;
  std::int64_t count_, per_item_;
};

void finish(const Sizes& s, Launch& launch) {
  launch.value(s.features).value(s.rows).value(s.per_row_item).run(blocks(s.rows, s.per_row_item));
}

Prepared batch_forward(const KernelCall& call) {
  const Sizes s(call, call.shape(0));
  return prepared([s, sums = ColumnSums(s, call.dtype()),
                   kernel = s.kernel(call.dtype(), "batch_forward")](const KernelArgs& args) {
    const Scratch partials(s.context->pool(), sums.scratch_bytes()), stats(s.context->pool(), s.bytes(2 * s.features));
    void *mean = args.outputs[1], *variance = args.outputs[2];
    const void* x = args.inputs[0];
    sums.run(0, {x, x, x, x, partials.get(), mean, variance, stats.get()});
    sums.run(1, {x, x, mean, x, partials.get(), variance, variance, stats.get()});
    Launch launch(*s.context, kernel);
    launch.buffer(x).buffer(args.inputs[1]).buffer(args.inputs[2]).buffer(stats.get()).buffer(args.outputs[0]);
    s.add_epsilon(launch);
    finish(s, launch);
  });
}

Prepared batch_gradient(const KernelCall& call) {
  const Sizes s(call, call.shape(1));
  return prepared([s, sums = ColumnSums(s, call.dtype()),
                   kernel = s.kernel(call.dtype(), "batch_gradient")](const KernelArgs& args) {
    const Scratch partials(s.context->pool(), sums.scratch_bytes()), stats(s.context->pool(), s.bytes(2 * s.features));
    sums.run(2, {args.inputs[1], args.inputs[0], args.inputs[3], args.inputs[4], partials.get(), args.outputs[1],
                 args.outputs[2], stats.get()});
    Launch launch(*s.context, kernel);
    for (int i = 0; i < 5; ++i) launch.buffer(args.inputs[i]);
    launch.buffer(stats.get()).buffer(args.outputs[0]);
    s.add_epsilon(launch);
    finish(s, launch);
  });
}

Prepared layer_forward(const KernelCall& call) {
  const Sizes s(call, call.shape(0));
  return prepared([s, kernel = s.kernel(call.dtype(), "layer_forward")](const KernelArgs& args) {
    Launch launch(*s.context, kernel);
    for (int i = 0; i < 3; ++i) launch.buffer(args.inputs[i]);
    for (int i = 0; i < 3; ++i) launch.buffer(args.outputs[i]);
    s.add_epsilon(launch);
    finish(s, launch);
  });
}

Prepared layer_gradient(const KernelCall& call) {
  const Sizes s(call, call.shape(1));
  return prepared([s, sums = ColumnSums(s, call.dtype()),
                   kernel = s.kernel(call.dtype(), "layer_gradient")](const KernelArgs& args) {
    const Scratch partials(s.context->pool(), sums.scratch_bytes());
    sums.run(3, {args.inputs[1], args.inputs[0], args.inputs[3], args.inputs[4], partials.get(), args.outputs[1],
                 args.outputs[2], partials.get()});
    Launch launch(*s.context, kernel);
    for (int i = 0; i < 5; ++i) launch.buffer(args.inputs[i]);
    launch.buffer(args.outputs[0]);
    finish(s, launch);
  });
}

Support not_empty(const KernelCall& call) {
  if (call.inputs[call.inputs.size() == 5 ? 1 : 0].shape().elements() == 0) return no("nothing to compute: x is empty");
  return dtypes_supported(call);
}

}  // namespace

KernelList batch_normalization_training_kernels() { return {{"opencl rows", not_empty, batch_forward}}; }
KernelList batch_normalization_grad_kernels() { return {{"opencl rows", not_empty, batch_gradient}}; }
KernelList layer_normalization_kernels() { return {{"opencl rows", not_empty, layer_forward}}; }
KernelList layer_normalization_grad_kernels() { return {{"opencl rows", not_empty, layer_gradient}}; }

}  // namespace tandem::opencl
