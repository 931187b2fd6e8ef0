// Sums, means, products, largest and smallest values over axes, of a tensor or of what a fused region
// makes of several. The order of operations depends on the shape only.
#include <algorithm>
#include <array>
#include <optional>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/reduction_job.h"

namespace tandem::opencl {
namespace {

constexpr std::int64_t kTile = 4096;     // elements of a row folded at once
constexpr std::int64_t kSegment = 512;   // rows of a column folded at once
constexpr std::int64_t kShortRow = 64;   // rows no longer than this are folded eight at a time,
constexpr std::int64_t kFewRows = 64;    // when there are this many
constexpr std::int64_t kColumns = 64;    // columns a work-item folds side by side

constexpr std::string_view kFinish = R"(
static V combined(V a, V b) { return COMBINE(a, b); }

static T_lane finished(T_lane v, int mean, long count) {
#if IS_FLOAT
  return mean ? v / (T_lane)count : v;
#else
  return mean ? (count ? v / (T_lane)count : 0) : v;
#endif
}
)";

/// Element i of a tile goes to lane i % 64; lanes are combined by halving, as on the CPU. `eights`: short rows, eight
/// at a time.
constexpr std::string_view kFoldRows = R"(
KERNEL fold_rows(INPUTS, __global R_mem* y, const long rows, const long length, const long tiles, const int eights,
                 const int mean, const long count, const long per_item) {
#ifdef FOLD_EIGHTS
  if (eights) {
    fold_eights(x, y, rows, length, mean, count, per_item);
    return;
  }
#endif
  FOR_EACH(i, rows * tiles, per_item) {
    const long row = i / tiles, tile = i - row * tiles, from = row * length + tile * TILE;
    const long n = min((long)TILE, length - tile * TILE);
    V acc[64 / LANES];
    for (int u = 0; u < 64 / LANES; ++u) acc[u] = (V)(IDENTITY);
    long k = 0;
    for (; k + 64 <= n; k += 64)
#pragma unroll
      for (int u = 0; u < 64 / LANES; ++u) acc[u] = combined(acc[u], MAP(from + k + u * LANES));
#pragma unroll 1
    for (int u = 0; k < n; k += LANES, ++u) acc[u] = combined(acc[u], MAP_PART(from + k, (int)min((long)LANES, n - k)));
    for (int half_count = 32 / LANES; half_count > 0; half_count /= 2)
      for (int u = 0; u < half_count; ++u) acc[u] = COMBINE(acc[u], acc[u + half_count]);
    T_lane v[8];
    vstore8(EIGHT_OF(acc[0]), 0, v);
    for (int half_count = 4; half_count > 0; half_count /= 2)
      for (int u = 0; u < half_count; ++u) v[u] = COMBINE(v[u], v[u + half_count]);
    R_store(y, i, finished(v[0], mean, count));
  }
}
)";

/// Rows of at most 64 elements, eight at a time: a lane a row, combined in the same order.
constexpr std::string_view kFoldEights = R"(
#define FOLD_EIGHTS
static void fold_eights(INPUTS, __global R_mem* y, const long rows, const long length, const int mean, const long count, const long per_item) {
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
// x is [outer, length, inner], y [outer, segments, inner]; a segment is SEGMENT rows. With `at_once` one work-item folds all segments of
// its columns, and what they give in the order in which another launch would: y is [outer, inner].
KERNEL fold_columns(INPUTS, __global R_mem* y, const long outer, const long length, const long inner,
                    const long segments, const int at_once, const int mean, const long count, const long per_item) {
  const long columns = (inner + 63) / 64, parts = at_once ? 1 : segments;
  FOR_EACH(i, outer * parts * columns, per_item) {
    const long rest = i / columns, column = (i - rest * columns) * 64, o = rest / parts, part = rest - o * parts;
    const int width = (int)min(64l, inner - column);
    V total[64 / LANES];
    for (int u = 0; u < 64 / LANES; ++u) total[u] = (V)(IDENTITY);
    for (long s = at_once ? 0 : part; s < (at_once ? segments : part + 1); ++s) {
      V acc[64 / LANES];
      for (int u = 0; u < 64 / LANES; ++u) acc[u] = (V)(IDENTITY);
      const long end = min(length, (s + 1) * SEGMENT);
      if (width == 64) {
        for (long r = s * SEGMENT; r < end; ++r)
#pragma unroll
          for (int u = 0; u < 64 / LANES; ++u) acc[u] = combined(acc[u], MAP((o * length + r) * inner + column + u * LANES));
      } else {
#pragma unroll 1
        for (int u = 0; u * LANES < width; ++u) {
          V one = acc[u];
          for (long r = s * SEGMENT; r < end; ++r) {
            // Whole vectors unless that is beyond the end: lanes beyond the width are not kept.
            const long from = (o * length + r) * inner + column + u * LANES;
            one = combined(one, (from + LANES <= outer * length * inner ? MAP(from) : MAP_PART(from, min(LANES, width - u * LANES))));
          }
          acc[u] = one;
        }
      }
      for (int u = 0; u < 64 / LANES; ++u) total[u] = at_once ? COMBINE(total[u], acc[u]) : acc[u];
    }
    T_lane v[64];
    for (int u = 0; u < 64 / LANES; ++u) SPREAD(total[u], v + u * LANES);
    const long to = (o * parts + part) * inner + column;
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

/// The ways to fold [outer, length, inner].
enum class Fold { rows, columns };
constexpr std::string_view kFoldNames[] = {"fold_rows", "fold_columns"};

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

/// How one launch gets its elements: loaded, or made of the operands of a region.
constexpr std::string_view kPlainInput = R"(
#define INPUTS __global const T_mem* x
#if LANES == 16
#define MAP(e) GET16(V, x + (e))
#define MAP_PART(e, m) JOIN(V, ((m) >= 8 ? T_load8(x, e) : T_part(x, e, 1, m, IDENTITY)), T_part(x, (e) + 8, 1, (m) - 8, IDENTITY))
#define EIGHT_OF(v) COMBINE((v).lo, (v).hi)
#define SPREAD(v, all) vstore16(v, 0, all)
#else
#define MAP(e) T_load8(x, e)
#define MAP_PART(e, m) T_part(x, e, 1, m, IDENTITY)
#define EIGHT_OF(v) (v)
#define SPREAD(v, all) vstore8(v, 0, all)
#endif
)";

/// Of integers of up to 32 bits, of which a mean is the sum in 64.
constexpr std::string_view kWidenedInput = R"(
#define INPUTS __global const S_mem* x
#define MAP(e) convert_long8(S_load8(x, e))
#define MAP_PART(e, m) convert_long8(S_part(x, e, 1, m, IDENTITY))
#define EIGHT_OF(v) (v)
#define SPREAD(v, all) vstore8(v, 0, all)
)";

struct FoldText {
  FoldKind kind;
  DType from, to;
  bool fused;    // made of the operands of a region
  bool widened;  // folded in 64 bits
  bool mask;  // of booleans
  Fold fold;
  int lanes;  // of the vectors
};

std::string fold_source(const FoldText& f, std::string_view input) {
  const DType lane = f.widened ? DType::i64 : lane_dtype(f.from);
  return text(kForEach, f.widened ? define_dtype("S", f.from) : "", define_dtype("T", f.widened ? DType::i64 : f.from),
              define_dtype("R", f.to), "#define TILE ", kTile, "\n#define SEGMENT ", kSegment, "\n#define IS_FLOAT ",
              is_floating(lane) ? 1 : 0, "\n#define LANES ", f.lanes, "\n#define V ", lane_type(expr::lane_of(lane)),
              f.lanes, "\n", fold_text(f.kind, lane, f.mask), input, kFinish,
              f.fold == Fold::rows && !f.fused && !f.widened ? kFoldEights : "",
              f.fold == Fold::rows ? kFoldRows : kFoldColumns);
}

/// The input seen as [outer, length, inner], the middle reduced.
struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;
};

/// Axes that lie side by side, from `first` to before `end`.
struct AxisRun {
  int first, end;
};

/// The last first.
std::vector<AxisRun> reduced_runs(const Shape& shape, AxisSet axes) {
  std::vector<AxisRun> runs;
  for (int i = shape.rank(); i > 0;) {
    if (!axes.contains(i - 1)) {
      --i;
      continue;
    }
    AxisRun run{i, i};
    for (; i > 0 && (axes.contains(i - 1) || shape[i - 1] == 1); --i) run.first = i - 1;
    runs.push_back(run);
  }
  return runs;
}

std::int64_t elements_of(const Ints& sizes, int first, int end) {
  std::int64_t product = 1;
  for (int i = first; i < end; ++i) product *= sizes[static_cast<std::size_t>(i)];
  return product;
}

/// One for each run of reduced axes, each seeing what the one before has left. The last run comes first, unless its
/// rows are so short that joining the lanes at the end of each takes longer than adding up rows of many columns.
std::vector<Layout> layouts_of(const Shape& shape, AxisSet axes) {
  constexpr std::int64_t kShort = 512;
  Ints sizes;
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  const auto length = [&](const AxisRun& run) { return elements_of(sizes, run.first, run.end); };
  std::vector<AxisRun> runs = reduced_runs(shape, axes);
  if (runs.size() > 1 && runs[0].end == shape.rank() && length(runs[0]) < kShort) std::ranges::reverse(runs);
  std::vector<Layout> layouts;
  for (const AxisRun& run : runs) {
    layouts.push_back({elements_of(sizes, 0, run.first), length(run), elements_of(sizes, run.end, shape.rank())});
    std::fill(sizes.begin() + run.first, sizes.begin() + run.end, 1);
  }
  if (layouts.empty()) layouts.push_back({.outer = shape.elements()});
  return layouts;
}

/// Element e of the domain is element e / repeat % period of an operand.
struct Span {
  std::int64_t repeat = 1, period = 1;
  bool dense = false;

  // By their shapes, not by the number of their elements: one row should have the text of many.
  Span(const Shape& operand, const Shape& domain) : dense(operand == domain) {
    bool inside = false;  // behind an axis along which it is not repeated
    for (int d = domain.rank() - 1; d >= 0; --d) {
      const int own = d - (domain.rank() - operand.rank());
      const std::int64_t size = own < 0 ? 1 : operand[own];
      inside |= size != 1;
      if (!inside) repeat *= domain[d];
      period *= size;
    }
  }
};

constexpr std::string_view kSpan = R"(
static D_lane8 D_span(__global const D_mem* x, long e, int m, long repeat, long period) {
  const long at = e / repeat, first = at % period;
  if (repeat == 1 && m == 8 && first + 8 <= period) return D_load8(x, first);
  if (e - at * repeat + m <= repeat) return (D_lane8)(D_load(x, first));
  D_lane v[8];
#pragma unroll 1
  for (int k = 0; k < 8; ++k) v[k] = k < m ? D_load(x, (e + k) / repeat % period) : (D_lane)(0);
  return vload8(0, v);
}
)";

/// The operands of a fused region as text, and as arguments of a launch.
struct RegionInput {
  std::vector<Span> spans;
  bool uses_fp64 = false;
  std::string dtypes, source;

  RegionInput(const KernelCall& call, const ReductionJob& job, bool widened) {
    const expr::Program program = job.region->program(job.inputs, {job.mapped});
    uses_fp64 = opencl::uses_fp64(program);
    dtypes = define_dtypes(program);
    std::vector<DType> spanned;
    std::string parameters, names, loads;
    for (std::size_t i = 0; i < job.inputs.size(); ++i) {
      spans.emplace_back(call.inputs[i].shape(), job.domain);
      const std::string d = slot_of(job.inputs[i]);
      parameters +=
          text(i ? ", " : "", "__global const ", d, "_mem* x", i, ", const long repeat", i, ", const long period", i);
      names += text(", x", i, ", repeat", i, ", period", i);
      loads += text("      const ", d, "_lane8 in", i, " = ",
                    spans[i].dense ? text("m == 8 ? ", d, "_load8(x", i, ", e) : ", d, "_part(x", i, ", e, 1, m, 0)")
                                   : text(d, "_span(x", i, ", e, m, repeat", i, ", period", i, ")"),
                    ";\n");
      if (spans[i].dense || std::find(spanned.begin(), spanned.end(), job.inputs[i]) != spanned.end()) continue;
      spanned.push_back(job.inputs[i]);
      source += with_slot(kSpan, d);
    }
    const bool wide = widened || dtype_size(lane_dtype(job.mapped)) == 8;
    source +=
        text("static T_lane8 mapped(long e, int m, ", parameters, ") {\n", loads, statements(program), "      return ",
             widened ? "convert_long8" : "", "(v", program.outputs[0].node, ");\n}\n#define INPUTS ", parameters,
             "\n#define EIGHT_OF(v) (v)\n#define SPREAD(v, all) vstore8(v, 0, all)\n#define MAP(e) mapped(e, 8", names,
             ")\n#define MAP_PART(e, m) PICK(EIGHT(", wide ? "long8" : "int8", ", 0, 1, 2, 3, 4, 5, 6, 7) < (",
             wide ? "long8" : "int8", ")(m), mapped(e, m", names, "), (T_lane8)(IDENTITY))\n");
  }

  void add_inputs(Launch& launch, const KernelArgs& args) const {
    for (std::size_t i = 0; i < spans.size(); ++i)
      launch.buffer(args.inputs[i]).value(spans[i].repeat).value(spans[i].period);
  }
};

/// One launch: [outer, length, inner] to [outer, pieces, inner].
struct Pass {
  KernelFunction kernel;
  std::int64_t outer, length, inner, pieces;
  std::int64_t segments;  // of `length`; more than there are pieces where one work-item folds all of them
  DType output;
  Fold fold;
  bool eights = false;  // short rows, eight at a time
  bool fused = false;   // reads the operands of the region
  bool finish = false;
};

class ReductionKernel final : public PreparedKernel {
 public:
  explicit ReductionKernel(const KernelCall& call) : ReductionKernel(call, ReductionJob(call)) {}

  void run(const KernelArgs& args) const override {
    const void* from = args.inputs[0];
    std::vector<std::unique_ptr<Scratch>> scratch;
    auto space = [&](std::size_t bytes) {
      scratch.push_back(std::make_unique<Scratch>(context_.pool(), bytes));
      return scratch.back()->get();
    };
    for (const Pass& pass : passes_) {
      const std::int64_t elements = pass.outer * pass.pieces * pass.inner;
      void* to = pass.finish ? args.outputs[0] : space(static_cast<std::size_t>(elements) * dtype_size(pass.output));
      launch(pass, args, from, to);
      from = to;
    }
  }

 private:
  ReductionKernel(const KernelCall& call, const ReductionJob& job)
      : context_(context_of(call)),
        mean_(job.kind == FoldKind::mean),
        widens_(mean_ && lane_dtype(job.mapped) == DType::i32) {
    const std::int64_t results = call.outputs[0].shape().elements();
    // Of nothing, whatever the axes are.
    const auto layouts = job.domain.elements() == 0 ? std::vector<Layout>{{.outer = results, .length = 0}}
                                                    : layouts_of(job.domain, job.axes);
    count_ = results ? job.domain.elements() / results : 0;
    if (job.region) region_.emplace(call, job, widens_);
    for (const Layout& layout : layouts) add_passes(call, job, layout, &layout == &layouts.back());
  }

  /// The passes that fold the middle of `l` to one; the last of the last layout writes the result.
  void add_passes(const KernelCall& call, const ReductionJob& job, const Layout& l, bool last) {
    for (std::int64_t length = l.length;;) {
      const std::int64_t segments = std::max<std::int64_t>(1, blocks(length, l.inner == 1 ? kTile : kSegment)),
                         pieces = folds_all_segments(l, segments) ? 1 : segments;
      const bool fused = region_ && passes_.empty(), widened = widens_ && passes_.empty(), finish = last && pieces == 1;
      const DType from = passes_.empty() ? job.mapped : passes_.back().output;
      const DType to = finish ? call.outputs[0].dtype() : widens_ ? DType::i64 : lane_dtype(job.mapped);
      const bool eights = l.inner <= 1 && length <= kShortRow && l.outer >= kFewRows && !fused && !widened;
      const Fold fold = l.inner > 1 ? Fold::columns : Fold::rows;
      passes_.push_back({kernel(job, from, to, fused, widened, fold), l.outer, length, l.inner, pieces, segments, to,
                         fold, eights, fused, finish});
      if (pieces == 1) break;
      length = pieces;
    }
    if (passes_.size() == 1) prepare_for_more(job, passes_[0]);
  }

  KernelFunction kernel(const ReductionJob& job, DType from, DType to, bool fused, bool widened, Fold fold) const {
    // As wide as the device has registers, where nothing is converted and no region computed in vectors of eight.
    const int lanes =
        from == lane_dtype(from) && dtype_size(from) == 4 && !fused && !widened ? context_.traits().lanes() : kWidth;
    const FoldText parts{job.kind, from, to, fused, widened, job.mapped == DType::boolean, fold, lanes};
    const bool fp64 = lane_dtype(from) == DType::f64 || (fused && region_->uses_fp64);
    const std::string_view input = fused ? std::string_view(region_->source) : widened ? kWidenedInput : kPlainInput;
    const std::string source = text(prelude(fp64), fused ? region_->dtypes : std::string(), fold_source(parts, input));
    return context_.kernel(source, std::string(kFoldNames[static_cast<int>(fold)]));
  }

  /// With more to fold, `only` would leave pieces as lanes for a second pass.
  void prepare_for_more(const ReductionJob& job, const Pass& only) const {
    const DType lane = widens_ ? DType::i64 : lane_dtype(job.mapped);
    const auto nothing = [&](Launch& launch, bool fused) {
      const Buffer* const none = &context_.error_words();
      if (fused)
        for (std::size_t i = 0; i < region_->spans.size(); ++i)
          launch.buffer(none).value(std::int64_t{1}).value(std::int64_t{1});
      else launch.buffer(none);
      launch.buffer(none);
      add_sizes(launch, {.outer = 0, .length = 0, .inner = only.inner, .pieces = 1, .segments = 1, .fold = only.fold},
                1);
    };
    if (lane != only.output)
      context_.warm(kernel(job, job.mapped, lane, only.fused, widens_, only.fold),
                    [&](Launch& launch) { nothing(launch, only.fused); });
    if (only.fused || widens_ || lane != job.mapped)
      context_.warm(kernel(job, lane, only.output, false, false, only.fold),
                    [&](Launch& launch) { nothing(launch, false); });
  }

  /// Are there columns enough for all units of a CPU-type device, so that a second launch for what segments give is not
  /// worth while?
  bool folds_all_segments(const Layout& l, std::int64_t segments) const {
    constexpr std::int64_t kItemsOfUnit = 4;
    return l.inner > 1 && segments <= kSegment && context_.traits().cpu_type &&
           l.outer * blocks(l.inner, kColumns) >= kItemsOfUnit * context_.traits().units;
  }

  void launch(const Pass& pass, const KernelArgs& args, const void* from, void* to) const {
    const std::int64_t folds = pass.eights
                                   ? blocks(pass.outer, 8)
                                   : pass.outer * pass.pieces * (pass.inner == 1 ? 1 : blocks(pass.inner, kColumns));
    const std::int64_t rows = pass.pieces < pass.segments ? pass.length : std::min(pass.length, kSegment);
    const double work = static_cast<double>(pass.inner == 1 ? std::min(pass.length, kTile) : rows * kColumns);
    const std::int64_t per_item = context_.elements_per_item(folds, work);
    Launch launch(context_, pass.kernel);
    if (pass.fused) region_->add_inputs(launch, args);
    else launch.buffer(from);
    launch.buffer(to);
    add_sizes(launch, pass, per_item);
    launch.run(blocks(folds, per_item));
  }

  void add_sizes(Launch& launch, const Pass& pass, std::int64_t per_item) const {
    launch.value(pass.outer).value(pass.length);
    if (pass.fold == Fold::columns) launch.value(pass.inner);
    launch.value(pass.segments).value<cl_int>(pass.fold == Fold::columns ? pass.pieces < pass.segments : pass.eights);
    launch.value<cl_int>(pass.finish && mean_).value(count_).value(per_item);
  }

  Context& context_;
  bool mean_, widens_;
  std::int64_t count_ = 0;
  std::optional<RegionInput> region_;
  std::vector<Pass> passes_;
};

Support supports(const KernelCall& call) {
  const ReductionJob job(call);
  const FoldKind kind = job.kind;
  if (job.domain.elements() == 0 && kind == FoldKind::max && !is_floating(job.mapped))
    return no("there is nothing to reduce");
  return kind == FoldKind::sum || kind == FoldKind::prod ? dtypes_supported(call) : ordered_dtypes_supported(call);
}

}  // namespace

KernelList reduction_kernels() {
  return {{.name = "opencl fold", .supports = supports, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<ReductionKernel>(call);
           }}};
}

}  // namespace tandem::opencl
