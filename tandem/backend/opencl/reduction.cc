// Sums, means, products, largest and smallest values over axes, argmax and argmin. The order of operations depends on the shape only.
#include <algorithm>
#include <array>
#include <limits>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/fold_kind.h"
#include "tandem/op/rules.h"

namespace tandem::opencl {
namespace {

constexpr std::int64_t kTile = 4096;     // elements of a row folded at once
constexpr std::int64_t kSegment = 512;   // rows of a column folded at once
constexpr std::int64_t kShortRow = 64;   // rows no longer than this are folded eight at a time,
constexpr std::int64_t kFewRows = 64;    // when there are this many
constexpr std::int64_t kColumns = 64;    // columns a work-item folds side by side

constexpr std::string_view kFinish = R"(
static R_lane finished(R_lane v, int mean, long count) {
#if IS_FLOAT
  return mean ? v / (R_lane)count : v;
#else
  return mean ? (count ? v / (R_lane)count : 0) : v;
#endif
}
)";

/// Element i of a tile goes to lane i % 64; lanes are combined by halving, as on the CPU.
constexpr std::string_view kFoldRows = R"(
KERNEL fold_rows(__global const T_mem* x, __global R_mem* y, const long rows, const long length, const long tiles,
                 const int mean, const long count, const long per_item) {
  FOR_EACH(i, rows * tiles, per_item) {
    const long row = i / tiles, tile = i - row * tiles, from = row * length + tile * TILE;
    const long n = min((long)TILE, length - tile * TILE);
    T_lane8 acc[8];
    for (int u = 0; u < 8; ++u) acc[u] = (T_lane8)(IDENTITY);
    long k = 0;
    for (; k + 64 <= n; k += 64) {
      acc[0] = COMBINE(acc[0], T_load8(x, from + k));
      acc[1] = COMBINE(acc[1], T_load8(x, from + k + 8));
      acc[2] = COMBINE(acc[2], T_load8(x, from + k + 16));
      acc[3] = COMBINE(acc[3], T_load8(x, from + k + 24));
      acc[4] = COMBINE(acc[4], T_load8(x, from + k + 32));
      acc[5] = COMBINE(acc[5], T_load8(x, from + k + 40));
      acc[6] = COMBINE(acc[6], T_load8(x, from + k + 48));
      acc[7] = COMBINE(acc[7], T_load8(x, from + k + 56));
    }
#pragma unroll 1
    for (int u = 0; k < n; k += 8, ++u) acc[u] = COMBINE(acc[u], T_part(x, from + k, 1, (int)min(8l, n - k), IDENTITY));
    for (int half_count = 4; half_count > 0; half_count /= 2)
      for (int u = 0; u < half_count; ++u) acc[u] = COMBINE(acc[u], acc[u + half_count]);
    T_lane v[8];
    vstore8(acc[0], 0, v);
    for (int half_count = 4; half_count > 0; half_count /= 2)
      for (int u = 0; u < half_count; ++u) v[u] = COMBINE(v[u], v[u + half_count]);
    R_store(y, i, finished(v[0], mean, count));
  }
}
)";

/// Rows of at most 64 elements, eight at a time: a lane a row, combined in the same order.
constexpr std::string_view kFoldShort = R"(
KERNEL fold_short(__global const T_mem* x, __global R_mem* y, const long rows, const long length, const int mean,
                  const long count, const long per_item) {
  int half_count = 1;
  while (half_count * 2 < length) half_count *= 2;
  FOR_EACH(i, (rows + 7) / 8, per_item) {
    const int m = (int)min(8l, rows - i * 8);
    T_lane8 acc[64];
    acc[0] = (T_lane8)(IDENTITY);
    for (int k = 0; k < length; ++k) {
      const long from = i * 8 * length + k;
      if (m == 8)
        acc[k] = EIGHT(T_lane8, T_load(x, from), T_load(x, from + length), T_load(x, from + 2 * length),
                       T_load(x, from + 3 * length), T_load(x, from + 4 * length), T_load(x, from + 5 * length),
                       T_load(x, from + 6 * length), T_load(x, from + 7 * length));
      else acc[k] = T_part(x, from, length, m, IDENTITY);
    }
    for (int half_now = half_count; half_now > 0; half_now /= 2)
      for (int u = 0; u < half_now && u + half_now < length; ++u) acc[u] = COMBINE(acc[u], acc[u + half_now]);
    T_lane v[8];
    vstore8(acc[0], 0, v);
    for (int u = 0; u < m; ++u) R_store(y, i * 8 + u, finished(v[u], mean, count));
  }
}
)";

constexpr std::string_view kFoldColumns = R"(
// x is [outer, length, inner], y [outer, segments, inner]; a segment is SEGMENT rows.
KERNEL fold_columns(__global const T_mem* x, __global R_mem* y, const long outer, const long length, const long inner,
                    const long segments, const int mean, const long count, const long per_item) {
  const long columns = (inner + 63) / 64;
  FOR_EACH(i, outer * segments * columns, per_item) {
    const long rest = i / columns, column = (i - rest * columns) * 64, o = rest / segments, s = rest - o * segments;
    const long end = min(length, (s + 1) * SEGMENT);
    T_lane8 acc[8];
    for (int u = 0; u < 8; ++u) acc[u] = (T_lane8)(IDENTITY);
    const int width = (int)min(64l, inner - column);
    for (long r = s * SEGMENT; r < end; ++r) {
      const long from = (o * length + r) * inner + column;
      if (width == 64) {
        acc[0] = COMBINE(acc[0], T_load8(x, from));
        acc[1] = COMBINE(acc[1], T_load8(x, from + 8));
        acc[2] = COMBINE(acc[2], T_load8(x, from + 16));
        acc[3] = COMBINE(acc[3], T_load8(x, from + 24));
        acc[4] = COMBINE(acc[4], T_load8(x, from + 32));
        acc[5] = COMBINE(acc[5], T_load8(x, from + 40));
        acc[6] = COMBINE(acc[6], T_load8(x, from + 48));
        acc[7] = COMBINE(acc[7], T_load8(x, from + 56));
      } else {
#pragma unroll 1
        for (int u = 0; u * 8 < width; ++u) {
          const int m = min(8, width - u * 8);
          acc[u] = COMBINE(acc[u], (m == 8 ? T_load8(x, from + u * 8) : T_part(x, from + u * 8, 1, m, IDENTITY)));
        }
      }
    }
    T_lane v[64];
    for (int u = 0; u < 8; ++u) vstore8(acc[u], u, v);
    const long to = (o * segments + s) * inner + column;
#pragma unroll 1
    for (int c = 0; c < width; ++c) R_store(y, to + c, finished(v[c], mean, count));
  }
}
)";

std::string identity_text(FoldKind kind, DType lane) {
  if (kind == FoldKind::prod) return "1";
  if (kind != FoldKind::max && kind != FoldKind::min) return "0";
  const bool lowest = kind == FoldKind::max;
  if (is_floating(lane)) return lowest ? "(-INFINITY)" : "INFINITY";
  return text(lane == DType::i32 ? "INT_" : "LONG_", lowest ? "MIN" : "MAX");
}

/// The three ways to fold [outer, length, inner].
enum class Fold { short_rows, rows, columns };
constexpr std::string_view kFoldNames[] = {"fold_short", "fold_rows", "fold_columns"};

/// NaN wins, as in maximum. A mask has all bits set or none, so any and all are bits.
std::string fold_text(FoldKind kind, DType lane, bool mask) {
  if (mask && kind == FoldKind::max) return "#define IDENTITY 0\n#define COMBINE(a, b) ((a) | (b))\n";
  if (mask) return "#define IDENTITY -1\n#define COMBINE(a, b) ((a) & (b))\n";
  std::string_view combine = "((a) + (b))";
  if (kind == FoldKind::max) combine = "PICK(((a) != (a)) | ((a) > (b)), a, b)";
  if (kind == FoldKind::min) combine = "PICK(((a) != (a)) | ((a) < (b)), a, b)";
  if (kind == FoldKind::prod) combine = "((a) * (b))";
  return text("#define IDENTITY ", identity_text(kind, lane), "\n#define COMBINE(a, b) ", combine, "\n");
}

std::string fold_source(FoldKind kind, DType from, DType to, bool mask, Fold fold) {
  const DType lane = lane_dtype(from);
  return text(prelude(lane == DType::f64), kForEach, define_dtype("T", from), define_dtype("R", to), "#define TILE ", kTile,
              "\n#define SEGMENT ", kSegment, "\n#define IS_FLOAT ", is_floating(lane) ? 1 : 0, "\n", fold_text(kind, lane, mask),
              kFinish, fold == Fold::short_rows ? kFoldShort : fold == Fold::rows ? kFoldRows : kFoldColumns);
}

/// The input seen as [outer, length, inner], the middle reduced; transposed first when axes alternate more often.
struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;
  bool transpose = false;
};

Layout layout_of(const Shape& shape, AxisSet axes) {
  Layout l;
  int changes = 0, last = -1;  // kept, reduced, kept is as far as it goes
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const int reduced = axes.contains(i);
    if (reduced != last && last != -1) ++changes;
    if (last == -1 && !reduced) changes = 0;
    if (last == -1 && reduced) changes = 1;
    last = reduced;
    (changes == 0 ? l.outer : changes == 1 ? l.length : l.inner) *= shape[i];
  }
  if (changes <= 2) return l;
  Layout t{.transpose = true};
  for (int i = 0; i < shape.rank(); ++i) (axes.contains(i) ? t.length : t.outer) *= shape[i];
  return t;
}

/// Kept axes first, then the reduced ones.
StridedCopy transposition(const KernelCall& call, AxisSet axes) {
  const Shape& shape = call.shape();
  std::vector<std::int64_t> sizes;
  Strides from{};
  for (bool reduced : {false, true})
    for (int i = 0; i < shape.rank(); ++i) {
      if (axes.contains(i) != reduced) continue;
      from[sizes.size()] = call.inputs[0].strides[static_cast<std::size_t>(i)];
      sizes.push_back(shape[i]);
    }
  const Shape moved{std::span<const std::int64_t>(sizes)};
  return {context_of(call), dtype_size(call.dtype()), join_axes(moved, std::array{from, dense_strides(moved)})};
}

/// One launch: [outer, length, inner] to [outer, pieces, inner].
struct Pass {
  KernelFunction kernel;
  std::int64_t outer, length, inner, pieces;
  DType output;
  Fold fold;
  bool finish = false;
};

class ReductionKernel final : public PreparedKernel {
 public:
  explicit ReductionKernel(const KernelCall& call)
      : context_(context_of(call)), mean_(&call.op == &reduce_mean_op), bytes_(call.inputs[0].spec.bytes()) {
    const AxisSet axes = reduced_axes(call.op.name, call.attr().ints("axis"), call.shape().rank());
    Layout l = layout_of(call.shape(), axes);
    if (l.transpose) transpose_.push_back(transposition(call, axes));
    const std::int64_t results = call.outputs[0].shape().elements();
    // An empty axis may hide how many results there are.
    if (l.outer * l.inner != results) l = {.outer = results, .length = 0, .inner = 1};
    count_ = l.length;
    const FoldKind kind = fold_kind(call.op);
    const bool mask = call.dtype() == DType::boolean;
    DType from = call.dtype();
    for (std::int64_t length = l.length;;) {
      const std::int64_t pieces = std::max<std::int64_t>(1, blocks(length, l.inner == 1 ? kTile : kSegment));
      const DType to = pieces == 1 ? call.dtype() : lane_dtype(call.dtype());
      const Fold fold = l.inner > 1 ? Fold::columns : length <= kShortRow && l.outer >= kFewRows ? Fold::short_rows : Fold::rows;
      const auto kernel = context_.kernel(fold_source(kind, from, to, mask, fold), std::string(kFoldNames[static_cast<int>(fold)]));
      passes_.push_back({kernel, l.outer, length, l.inner, pieces, to, fold, pieces == 1});
      if (pieces == 1) break;
      from = to;
      length = pieces;
    }
  }

  void run(const KernelArgs& args) const override {
    const void* from = args.inputs[0];
    std::vector<std::unique_ptr<Scratch>> scratch;
    auto space = [&](std::size_t bytes) {
      scratch.push_back(std::make_unique<Scratch>(context_.pool(), bytes));
      return scratch.back()->get();
    };
    if (!transpose_.empty()) {
      void* moved = space(bytes_);
      transpose_[0].run(from, 0, moved, 0);
      from = moved;
    }
    for (const Pass& pass : passes_) {
      const std::int64_t elements = pass.outer * pass.pieces * pass.inner;
      void* to = pass.finish ? args.outputs[0] : space(static_cast<std::size_t>(elements) * dtype_size(pass.output));
      launch(pass, from, to);
      from = to;
    }
  }

 private:
  void launch(const Pass& pass, const void* from, void* to) const {
    const bool is_short = pass.fold == Fold::short_rows;
    const std::int64_t folds = is_short ? blocks(pass.outer, 8) : pass.outer * pass.pieces * (pass.inner == 1 ? 1 : blocks(pass.inner, kColumns));
    const double work = static_cast<double>(std::min(pass.length, pass.inner == 1 ? kTile : kSegment * kColumns));
    const std::int64_t per_item = context_.elements_per_item(folds, work);
    Launch launch(context_, pass.kernel);
    launch.buffer(from).buffer(to).value(pass.outer).value(pass.length);
    if (pass.inner != 1) launch.value(pass.inner);
    if (!is_short) launch.value(pass.pieces);
    launch.value<cl_int>(pass.finish && mean_).value(count_).value(per_item);
    launch.run(blocks(folds, per_item));
  }

  Context& context_;
  bool mean_;
  std::size_t bytes_;
  std::int64_t count_ = 0;
  std::vector<StridedCopy> transpose_;  // none or one
  std::vector<Pass> passes_;
};

std::string argmax_source(DType dtype, bool least) {
  const bool wide = dtype_size(lane_dtype(dtype)) == 8;
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), "#define NEARER(a, b) ((a) ", least ? "<" : ">",
              " (b))\ntypedef ", wide ? "long8" : "int8", " Where8;\n", R"(
static void put(__global void* y, int wide, long i, long best) {
  if (wide) ((__global long*)y)[i] = best;
  else ((__global int*)y)[i] = (int)best;
}

// x is [outer, length, inner]; the first of equal values, and NaN before all.
KERNEL argmax(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length,
              const long inner, const long per_item) {
  FOR_EACH(i, outer * inner, per_item) {
    const long o = i / inner, from = o * length * inner + (i - o * inner);
    long best = 0;
    T_lane largest = T_load(x, from);
    for (long k = 1; k < length; ++k) {
      const T_lane v = T_load(x, from + k * inner);
      if (NEARER(v, largest) || (v != v && largest == largest)) {
        best = k;
        largest = v;
      }
    }
    put(y, wide, i, best);
  }
}

// Eight neighbours along the inner axis at a time; inner is a multiple of eight.
KERNEL argmax_columns(__global const T_mem* x, __global void* y, const int wide, const long outer, const long length,
                      const long inner, const long per_item) {
  const long groups = inner / 8;
  FOR_EACH(i, outer * groups, per_item) {
    const long o = i / groups, column = (i - o * groups) * 8, from = o * length * inner + column;
    T_lane8 largest = T_load8(x, from);
    Where8 best = (Where8)(0);
    for (long k = 1; k < length; ++k) {
      const T_lane8 v = T_load8(x, from + k * inner);
      const Where8 larger = NEARER(v, largest) | ((v != v) & (largest == largest));
      largest = PICK(larger, v, largest);
      best = PICK(larger, (Where8)(k), best);
    }
    long all[8];
    vstore8(convert_long8(best), 0, all);
    for (int u = 0; u < 8; ++u) put(y, wide, o * inner + column + u, all[u]);
  }
}
)");
}

Prepared prepare_argmax(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape& shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const std::int64_t length = shape[axis];
  const bool columns = inner % 8 == 0 && inner > 0 && length <= std::numeric_limits<std::int32_t>::max();
  const std::int64_t searches = columns ? outer * (inner / 8) : outer * inner;
  const std::int64_t per_item = context.elements_per_item(searches, static_cast<double>(length) * (columns ? 8 : 1));
  const bool wide = call.outputs[0].dtype() == DType::i64;
  const KernelFunction kernel =
      context.kernel(argmax_source(call.dtype(), &call.op == &argmin_op), columns ? "argmax_columns" : "argmax");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.outputs[0]).value<cl_int>(wide).value(outer).value(length)
        .value(inner).value(per_item).run(blocks(searches, per_item));
  });
}

}  // namespace

KernelList reduction_kernels() {
  return {{.name = "opencl fold", .supports = dtypes_supported, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<ReductionKernel>(call);
           }}};
}
KernelList argmax_kernels() { return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare_argmax}}; }

}  // namespace tandem::opencl
