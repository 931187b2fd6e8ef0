// Attention on CPU-type devices: a work-item takes six rows of queries (or, for the gradients of keys and values, of
// keys), whose scores with the other side are products of packed panels, as in matrix products. Only the scores of the
// rows at work are kept.
#include "tandem/backend/opencl/attention.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kTiles = R"(
typedef struct { long batch, targets, sources, heads, size, depth, causal, b0, b1, b2, b3; } Sizes;
// Six rows of x, and where their products with the other side are kept: to[6][width].
typedef struct { long at[6]; int rows; long width; } Rows;

static T_lane8 eight(__global const T_mem* x, long at, int m) { return m == 8 ? T_load8(x, at) : T_part(x, at, 1, m, 0); }
static T_lane added8(T_lane8 v) { return ((v.s0 + v.s4) + (v.s2 + v.s6)) + ((v.s1 + v.s5) + (v.s3 + v.s7)); }
static T_lane largest8(T_lane8 v) { return fmax(fmax(fmax(v.s0, v.s4), fmax(v.s1, v.s5)), fmax(fmax(v.s2, v.s6), fmax(v.s3, v.s7))); }
#if SCORES == 16
#define GET_SCORES(p) GET16(S, p)
#define PUT_SCORES(p, v) PUT16(S, p, v)
#define SCORES_OF(x, at, m) JOIN(S, eight(x, at, min(8, m)), eight(x, (at) + 8, max(0, (m) - 8)))
#define ADDED(v) added8((v).lo + (v).hi)
#define LARGEST(v) fmax(largest8((v).lo), largest8((v).hi))
#else
#define GET_SCORES(p) GET8(S, p)
#define PUT_SCORES(p, v) PUT8(S, p, v)
#define SCORES_OF(x, at, m) eight(x, at, m)
#define ADDED(v) added8(v)
#define LARGEST(v) largest8(v)
#endif
static long seen(const Sizes s, long t) { return s.causal ? min(t + 1, s.sources) : s.sources; }

// Rows first .. first+5 of x [batch, count, heads, size]; what is beyond the last one repeats it.
static Rows rows_of(long head, long heads, long first, long count, long size, long width) {
  Rows rows;
  const long b = head / heads, n = head - b * heads;
  for (int r = 0; r < 6; ++r) rows.at[r] = ((b * count + min(first + r, count - 1)) * heads + n) * size;
  rows.rows = (int)min(6l, count - first);
  rows.width = width;
  return rows;
}

// x [batch, rows, heads, size] as panels[batch * heads][rows/16][size][16].
KERNEL attention_pack(__global const T_mem* x, __global P* panels, const long rows, const long heads, const long size) {
  const long panel = ITEM, head = get_global_id(1), b = head / heads, n = head - b * heads;
  if (panel * 16 >= rows) return;
  __global P* to = panels + (head * ((rows + 15) / 16) + panel) * size * 16;
  const long from = ((b * rows + panel * 16) * heads + n) * size, step = heads * size;
  const int columns = (int)min(16l, rows - panel * 16);
  long k = 0;
  if (columns == 16)
    for (; k + 8 <= size; k += 8) {
      take_turned(x, from + k, step, to + k * 16, 16);
      take_turned(x, from + 8 * step + k, step, to + k * 16 + 8, 16);
    }
  for (; k < size; ++k)
    for (int c = 0; c < 16; ++c) to[k * 16 + c] = c < columns ? (P)T_load(x, from + c * step + k) : (P)0;
}

#define ROW(r) (P)T_load(x, rows.at[r] + k)
#define NEXT_LINE ++k, pb += 16
#if TILE_LANES == 16
#define KEEP(r, low, high, A) { \
    PUT16(P16, to + r * rows.width + j, low); \
    if (columns > 16) PUT16(P16, to + r * rows.width + j + 16, high); \
  }
#else
#define KEEP(r, low, high, A) { PUT8(P8, to + r * rows.width + j, low); PUT8(P8, to + r * rows.width + j + 8, high); }
#endif
// Products of the rows with those of the panels from `begin` to `end`, which are multiples of 16.
static void products(__global const T_mem* x, const Rows rows, __global const P* panels, long begin, long end, long size, __global P* to) {
  const long panel = size * 16;
  for (long j = begin; j < end; j += TILE_COLUMNS) {
    const int columns = (int)min((long)TILE_COLUMNS, end - j);
    __global const P* pb = panels + j * size;
    TILE
    TILE_LOOP(long k = 0, k < size, NEXT_LINE, PANEL_COLUMNS, ROW)
    EACH_ROW(KEEP, )
  }
}

#define WEIGHT(r) weights[r * rows.width + j]
#define NEXT_ROW ++j, at += step
// Whole vectors are taken unless that is beyond the end of x: what a column that is not kept adds up does not matter.
#define IN_PLACE(i) (at + ((i) + 1) * TILE_LANES <= x_end ? TAKE(x, at + (i) * TILE_LANES) : TAKE_PART(x, at + (i) * TILE_LANES, columns - (i) * TILE_LANES))
#define STORE(r, low, high, A) \
  if (r < rows.rows) { \
    T_piece_store(y, rows.at[r] + c, min(columns, TILE_LANES), low * factor[r]); \
    if (columns > TILE_LANES) T_piece_store(y, rows.at[r] + c + TILE_LANES, columns - TILE_LANES, high * factor[r]); \
  }
// The rows of y: rows begin .. end-1 of x, which has x_end elements, `step` apart, by their weights, and by the factor of each row.
static void combine(__global const P* weights, __global const T_mem* x, long x_end, long from, long step, long begin, long end, long size,
                    __global T_mem* y, const Rows rows, const P* factor) {
  for (long c = 0; c < size; c += TILE_COLUMNS) {
    const int columns = (int)min((long)TILE_COLUMNS, size - c);
    long at = from + begin * step + c;
    TILE
    TILE_LOOP(long j = begin, j < end, NEXT_ROW, IN_PLACE, WEIGHT)
    EACH_ROW(STORE, )
  }
}

// Products become scores: `count` of one row from `bias_at`, the bias's elements `stride` apart; -infinity from `visible` to `end`.
static void add_bias(__global P* row, __global const T_mem* bias, long bias_at, long stride, T_lane scale, long begin, long visible, long end) {
  if (stride == 0) {
    const S same = (S)(T_load(bias, bias_at));
    for (long j = begin; j < visible; j += SCORES) PUT_SCORES(row + j, GET_SCORES(row + j) * (S)(scale) + same);
  } else if (stride == 1) {
    for (long j = begin; j < visible; j += SCORES) {
      const int m = (int)min((long)SCORES, visible - j);
      PUT_SCORES(row + j, GET_SCORES(row + j) * (S)(scale) + SCORES_OF(bias, bias_at + j, m));
    }
  } else {
    for (long j = begin; j < visible; ++j) row[j] = row[j] * scale + T_load(bias, bias_at + j * stride);
  }
  for (long j = visible; j < end; ++j) row[j] = -INFINITY;
}
)";

constexpr std::string_view kForward = R"(
// Scores become shares, but for the sum that is returned; log_sum is its logarithm with the scores as they were.
static P exponentials(__global P* row, long end, P* log_sum) {
  S most = (S)(-INFINITY);
  for (long j = 0; j < end; j += SCORES) most = PICK(GET_SCORES(row + j) > most, GET_SCORES(row + j), most);
  const P largest = LARGEST(most), shift = largest == -INFINITY ? 0 : largest;
  S sum = (S)(0);
  for (long j = 0; j < end; j += SCORES) {
    const S e = lane_exp(GET_SCORES(row + j) - (S)(shift));
    PUT_SCORES(row + j, e);
    sum += e;
  }
  const P total = ADDED(sum);
  *log_sum = lane_log((P8)(total)).s0 + shift;
  return total;
}

KERNEL attention_forward(__global const T_mem* q, __global const P* keys, __global const T_mem* v, __global const T_mem* bias,
                         __global T_mem* y, __global T_mem* log_sums, __global P* scratch, const Sizes s, const T_lane scale,
                         const long count, const long per_item) {
  const long tiles = (s.targets + 5) / 6, width = (s.sources + 15) / 16 * 16;
  __global P* scores = scratch + ITEM * 6 * width;
  FOR_EACH(i, count, per_item) {
    const long head = i / tiles, first = (i - head * tiles) * 6, b = head / s.heads, n = head - b * s.heads;
    const Rows queries = rows_of(head, s.heads, first, s.targets, s.size, width);
    const long visible = seen(s, first + queries.rows - 1), end = (visible + 15) / 16 * 16;
    products(q, queries, keys + head * width * s.size, 0, end, s.size, scores);
    P factor[6];
    for (int r = 0; r < queries.rows; ++r) {
      const long t = first + r;
      P log_sum;
      add_bias(scores + r * width, bias, b * s.b0 + n * s.b1 + t * s.b2, s.b3, scale, 0, seen(s, t), end);
      factor[r] = (P)1 / exponentials(scores + r * width, end, &log_sum);
      T_store(log_sums, head * s.targets + t, log_sum);
    }
    combine(scores, v, s.batch * s.sources * s.heads * s.depth, (b * s.sources * s.heads + n) * s.depth, s.heads * s.depth, 0, visible, s.depth, y,
            rows_of(head, s.heads, first, s.targets, s.depth, width), factor);
  }
}
)";

constexpr std::string_view kGradient = R"(
// A row that sees nothing has equal shares of what it might see, and no change: see AttentionSizes::blind.
static P equal_share(const Sizes s, long t, long source) { return source < seen(s, t) ? (P)1 / (P)seen(s, t) : 0; }

// The sum of dy * y of each row.
KERNEL attention_own(__global const T_mem* dy, __global const T_mem* y, __global P* own, const Sizes s, const long count,
                     const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long head = i / s.targets, t = i - head * s.targets, b = head / s.heads, n = head - b * s.heads;
    const long at = ((b * s.targets + t) * s.heads + n) * s.depth;
    P8 sum = (P8)(0);
    for (long c = 0; c < s.depth; c += 8) sum += eight(dy, at + c, (int)min(8l, s.depth - c)) * eight(y, at + c, (int)min(8l, s.depth - c));
    own[i] = added8(sum);
  }
}
KERNEL attention_queries(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const P* keys,
                         __global const P* values, __global const T_mem* bias, __global const T_mem* log_sums, __global const P* own,
                         __global T_mem* dq, __global P* scratch, const Sizes s, const T_lane scale, const long count, const long per_item) {
  const long tiles = (s.targets + 5) / 6, width = (s.sources + 15) / 16 * 16;
  __global P* shares = scratch + ITEM * 12 * width;
  __global P* changes = shares + 6 * width;
  FOR_EACH(i, count, per_item) {
    const long head = i / tiles, first = (i - head * tiles) * 6, b = head / s.heads, n = head - b * s.heads;
    const Rows queries = rows_of(head, s.heads, first, s.targets, s.size, width);
    const long visible = seen(s, first + queries.rows - 1), end = (visible + 15) / 16 * 16;
    products(q, queries, keys + head * width * s.size, 0, end, s.size, shares);
    products(dy, rows_of(head, s.heads, first, s.targets, s.depth, width), values + head * width * s.depth, 0, end, s.depth, changes);
    for (int r = 0; r < queries.rows; ++r) {
      const long t = first + r;
      __global P* share = shares + r * width;
      __global P* change = changes + r * width;
      const P log_sum = T_load(log_sums, head * s.targets + t), mine = own[head * s.targets + t];
      add_bias(share, bias, b * s.b0 + n * s.b1 + t * s.b2, s.b3, scale, 0, seen(s, t), end);
      for (long j = 0; j < end; j += SCORES) {
        const S e = lane_exp(GET_SCORES(share + j) - (S)(log_sum));
        PUT_SCORES(change + j, log_sum < BLIND ? (S)(0) : e * (GET_SCORES(change + j) - (S)(mine)));
      }
    }
    P factor[6];
    for (int r = 0; r < 6; ++r) factor[r] = scale;
    combine(changes, k, s.batch * s.sources * s.heads * s.size, (b * s.sources * s.heads + n) * s.size, s.heads * s.size, 0, visible, s.size, dq, queries, factor);
  }
}
KERNEL attention_sources(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const T_mem* v,
                         __global const P* queries, __global const P* outputs, __global const T_mem* bias, __global const T_mem* log_sums,
                         __global const P* own, __global T_mem* dk, __global T_mem* dv, __global P* scratch, const Sizes s,
                         const T_lane scale, const long count, const long per_item) {
  const long tiles = (s.sources + 5) / 6, width = (s.targets + 15) / 16 * 16;
  __global P* shares = scratch + ITEM * 12 * width;
  __global P* changes = shares + 6 * width;
  FOR_EACH(i, count, per_item) {
    const long head = i / tiles, first = (i - head * tiles) * 6, b = head / s.heads, n = head - b * s.heads;
    const Rows keys = rows_of(head, s.heads, first, s.sources, s.size, width), values = rows_of(head, s.heads, first, s.sources, s.depth, width);
    // Targets before the first key do not see it.
    const long begin = s.causal ? min(first, s.targets) : 0, from = begin / 16 * 16, row = head * s.targets;
    products(k, keys, queries + head * width * s.size, from, width, s.size, shares);
    products(v, values, outputs + head * width * s.depth, from, width, s.depth, changes);
    for (int r = 0; r < keys.rows; ++r) {
      const long source = first + r;
      __global P* share = shares + r * width;
      __global P* change = changes + r * width;
      add_bias(share, bias, b * s.b0 + n * s.b1 + source * s.b3, s.b2, scale, from, s.targets, width);
      for (long t = from; t < s.targets; t += SCORES) {
        const int m = (int)min((long)SCORES, s.targets - t);
        const S log_sum = SCORES_OF(log_sums, row + t, m), e = lane_exp(GET_SCORES(share + t) - log_sum);
        PUT_SCORES(share + t, e);
        PUT_SCORES(change + t, e * (GET_SCORES(change + t) - GET_SCORES(own + row + t)));
        if (!any_of(log_sum < (S)(BLIND))) continue;
#pragma unroll 1
        for (int u = 0; u < m; ++u) {
          if (T_load(log_sums, row + t + u) >= BLIND) continue;
          share[t + u] = equal_share(s, t + u, source);
          change[t + u] = 0;
        }
      }
      if (s.causal)
        for (long t = from; t < min(source, s.targets); ++t) share[t] = change[t] = 0;
    }
    P factor[6], whole[6];
    for (int r = 0; r < 6; ++r) factor[r] = scale, whole[r] = 1;
    combine(changes, q, s.batch * s.targets * s.heads * s.size, (b * s.targets * s.heads + n) * s.size, s.heads * s.size, begin, s.targets, s.size, dk, keys, factor);
    combine(shares, dy, s.batch * s.targets * s.heads * s.depth, (b * s.targets * s.heads + n) * s.depth, s.heads * s.depth, begin, s.targets, s.depth, dv, values, whole);
  }
}
)";

/// Scores are worked off in vectors of as many lanes whatever the device has, so that sums of them have one order.
constexpr int kMostScores = 16;
int score_lanes(DType lane) { return dtype_size(lane) == 4 ? kMostScores : kWidth; }

std::string source(const Context& context, DType dtype, std::string_view kernels) {
  const DType lane = lane_dtype(dtype);
  const int lanes = tile_lanes(context, dtype), scores = score_lanes(lane);
  return text(gemm_prelude(dtype), kForEach, Epilogue().source(), tile_text(lanes), pieces_text("T", dtype, lanes),
              kTurnText, "#define BLIND ((P)(", AttentionSizes::blind(dtype), "))\n#define SCORES ", scores,
              "\n#define S ", lane_type(expr::lane_of(dtype)), scores, "\n#define S_anywhere ",
              lane_type(expr::lane_of(dtype)), scores, "_anywhere\n",
              define_function(
                  "lane_exp", lane, 1, [](auto& in) { return exp(in[0]); }, scores),
              define_function("lane_log", lane, 1, [](auto& in) { return log(in[0]); }), kTiles, kernels);
}

/// Panels of one operand.
struct Packing {
  std::int64_t rows, heads, size, batch;

  std::size_t bytes(std::size_t lane) const {
    return static_cast<std::size_t>(batch * heads * blocks(rows, 16) * 16 * size) * lane;
  }
  void run(Context& context, const KernelFunction& kernel, const void* x, void* panels) const {
    Launch(context, kernel)
        .buffer(x)
        .buffer(panels)
        .value(rows)
        .value(heads)
        .value(size)
        .run(blocks(rows, 16), batch * heads);
  }
};

struct TilePlan : AttentionPlan {
  Packing queries, keys, values, outputs;

  TilePlan(const KernelCall& call, int first)
      : AttentionPlan(call, first),
        queries{s.targets, s.heads, s.size, s.batch},
        keys{s.sources, s.heads, s.size, s.batch},
        values{s.sources, s.heads, s.depth, s.batch},
        outputs{s.targets, s.heads, s.depth, s.batch} {}

  std::size_t lane() const { return wide ? 8 : 4; }
  std::int64_t tiles(std::int64_t rows) const { return s.batch * s.heads * blocks(rows, 6); }
  /// Few work-items, because each has scratch of its own.
  std::int64_t per_item(std::int64_t rows) const { return blocks(tiles(rows), 16 * context->traits().units); }
  /// Of `kept` scores a row.
  std::size_t scratch_bytes(std::int64_t rows, std::int64_t others, std::int64_t kept) const {
    return static_cast<std::size_t>(blocks(tiles(rows), per_item(rows)) * 6 * kept * blocks(others, 16) * 16) * lane();
  }
  void run(Launch& launch, std::int64_t rows) const {
    add_sizes(launch);
    add_scale(launch);
    launch.value(tiles(rows)).value(per_item(rows)).run(blocks(tiles(rows), per_item(rows)));
  }
};

Prepared prepare_forward(const KernelCall& call) {
  const TilePlan p(call, 0);
  const std::string program = source(*p.context, call.dtype(), kForward);
  const KernelFunction pack = p.context->kernel(program, "attention_pack"),
                       kernel = p.context->kernel(program, "attention_forward");
  return prepared([=](const KernelArgs& args) {
    const Scratch keys(p.context->pool(), p.keys.bytes(p.lane())),
        scores(p.context->pool(), p.scratch_bytes(p.s.targets, p.s.sources, 1));
    p.keys.run(*p.context, pack, args.inputs[1], keys.get());
    Launch launch(*p.context, kernel);
    launch.buffer(args.inputs[0])
        .buffer(static_cast<const void*>(keys.get()))
        .buffer(args.inputs[2])
        .buffer(args.inputs[3])
        .buffer(args.outputs[0])
        .buffer(args.outputs[1])
        .buffer(scores.get());
    p.run(launch, p.s.targets);
  });
}

/// Inputs are dy, query, key, value, bias, y, log_sums.
Prepared prepare_gradient(const KernelCall& call) {
  const TilePlan p(call, 1);
  const std::string program = source(*p.context, call.dtype(), kGradient);
  const KernelFunction pack = p.context->kernel(program, "attention_pack"),
                       own = p.context->kernel(program, "attention_own"),
                       queries = p.context->kernel(program, "attention_queries"),
                       sources = p.context->kernel(program, "attention_sources");
  return prepared([=](const KernelArgs& args) {
    BufferPool& pool = p.context->pool();
    const std::int64_t rows = p.s.batch * p.s.heads * p.s.targets,
                       per_item = p.context->elements_per_item(rows, static_cast<double>(p.s.depth));
    const Scratch sums(pool,
                       static_cast<std::size_t>(rows + kMostScores) * p.lane());  // whole vectors of them are read
    {
      Launch launch(*p.context, own);
      launch.buffer(args.inputs[0]).buffer(args.inputs[5]).buffer(sums.get());
      p.add_sizes(launch);
      launch.value(rows).value(per_item).run(blocks(rows, per_item));
    }
    const Scratch first(pool, std::max(p.keys.bytes(p.lane()), p.queries.bytes(p.lane())));
    const Scratch second(pool, std::max(p.values.bytes(p.lane()), p.outputs.bytes(p.lane())));
    const Scratch scores(
        pool, std::max(p.scratch_bytes(p.s.targets, p.s.sources, 2), p.scratch_bytes(p.s.sources, p.s.targets, 2)));
    const void *x_panels = first.get(), *y_panels = second.get(), *own_sums = sums.get();
    p.keys.run(*p.context, pack, args.inputs[2], first.get());
    p.values.run(*p.context, pack, args.inputs[3], second.get());
    {
      Launch launch(*p.context, queries);
      launch.buffer(args.inputs[0])
          .buffer(args.inputs[1])
          .buffer(args.inputs[2])
          .buffer(x_panels)
          .buffer(y_panels)
          .buffer(args.inputs[4])
          .buffer(args.inputs[6])
          .buffer(own_sums)
          .buffer(args.outputs[0])
          .buffer(scores.get());
      p.run(launch, p.s.targets);
    }
    p.queries.run(*p.context, pack, args.inputs[1], first.get());
    p.outputs.run(*p.context, pack, args.inputs[0], second.get());
    Launch launch(*p.context, sources);
    for (int i = 0; i < 4; ++i) launch.buffer(args.inputs[i]);
    launch.buffer(x_panels)
        .buffer(y_panels)
        .buffer(args.inputs[4])
        .buffer(args.inputs[6])
        .buffer(own_sums)
        .buffer(args.outputs[1])
        .buffer(args.outputs[2])
        .buffer(scores.get());
    p.run(launch, p.s.sources);
  });
}

Support in_tiles(const KernelCall& call) {
  if (!context_of(call).traits().cpu_type) return no("tiles are for CPU-type devices, whose work-items are long");
  return attention_supported(call);
}

}  // namespace

Kernel tiled_attention() { return {.name = "opencl tiles", .supports = in_tiles, .prepare = prepare_forward}; }
Kernel tiled_attention_grad() { return {.name = "opencl tiles", .supports = in_tiles, .prepare = prepare_gradient}; }

}  // namespace tandem::opencl
