// Attention on CPU-type devices: a work-item takes six rows of queries (or, for the gradients of keys and values, of keys), whose scores
// with the other side are products of packed panels, as in matrix products. Only the scores of the rows at work are kept.
#include "tandem/backend/opencl/attention.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kTiles = R"(
typedef struct { long batch, targets, sources, heads, size, depth, causal, b0, b1, b2, b3; } Sizes;
// Six rows of x, and where their products with the other side are kept: to[6][width].
typedef struct { long at[6]; int rows; long width; } Rows;

static T_lane8 piece(__global const T_mem* x, long at, long stride, int m) { return m == 8 && stride == 1 ? T_load8(x, at) : T_part(x, at, stride, m, 0); }
static T_lane added(T_lane8 v) { return ((v.s0 + v.s4) + (v.s2 + v.s6)) + ((v.s1 + v.s5) + (v.s3 + v.s7)); }
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
  const long panel = get_global_id(0), head = get_global_id(1), b = head / heads, n = head - b * heads;
  if (panel * 16 >= rows) return;
  __global P* to = panels + (head * ((rows + 15) / 16) + panel) * size * 16;
  const long from = ((b * rows + panel * 16) * heads + n) * size, step = heads * size;
  const int columns = (int)min(16l, rows - panel * 16);
  for (long k = 0; k < size; ++k)
    for (int c = 0; c < 16; ++c) to[k * 16 + c] = c < columns ? (P)T_load(x, from + c * step + k) : (P)0;
}

#define ROW(r) (P)T_load(x, rows.at[r] + k)
#define KEEP(r, low, high, A) { PUT8(P8, to + r * rows.width + j, low); PUT8(P8, to + r * rows.width + j + 8, high); }
// Products of the rows with those of the panels from `begin`, a multiple of 16, to `end`.
static void products(__global const T_mem* x, const Rows rows, __global const P* panels, long begin, long end, long size, __global P* to) {
  for (long j = begin; j < end; j += 16) {
    __global const P* pb = panels + j * size;
    TILE
    for (long k = 0; k < size; ++k, pb += 16) {
      const P8 b0 = GET8(P8, pb), b1 = GET8(P8, pb + 8);
      STEP_TILE(ROW)
    }
    EACH_ROW(KEEP, )
  }
}

#define WEIGHT(r) weights[r * rows.width + j]
#define STORE(r, low, high, A) \
  if (r < rows.rows) { \
    if (m == 8) T_store8(y, rows.at[r] + c, low * factor[r]); else T_store_part(y, rows.at[r] + c, low * factor[r], 1, m); \
    if (more == 8) T_store8(y, rows.at[r] + c + 8, high * factor[r]); else T_store_part(y, rows.at[r] + c + 8, high * factor[r], 1, more); \
  }
// The rows of y: rows begin .. end-1 of x, `step` elements apart, by their weights, and by the factor of each row.
static void combine(__global const P* weights, __global const T_mem* x, long from, long step, long begin, long end, long size,
                    __global T_mem* y, const Rows rows, const P* factor) {
  for (long c = 0; c < size; c += 16) {
    const int m = (int)min(8l, size - c), more = (int)max(0l, min(8l, size - c - 8));
    TILE
    for (long j = begin; j < end; ++j) {
      const long at = from + j * step + c;
      const P8 b0 = piece(x, at, 1, m), b1 = more ? piece(x, at + 8, 1, more) : (P8)(0);
      STEP_TILE(WEIGHT)
    }
    EACH_ROW(STORE, )
  }
}

// Products become scores: `count` of one row from `bias_at`, the bias's elements `stride` apart; -infinity from `visible` to `end`.
static void add_bias(__global P* row, __global const T_mem* bias, long bias_at, long stride, T_lane scale, long begin, long visible, long end) {
  for (long j = begin; j < visible; j += 8) {
    const int m = (int)min(8l, visible - j);
    const P8 added_bias = stride == 0 ? (P8)(T_load(bias, bias_at)) : piece(bias, bias_at + j * stride, stride, m);
    PUT8(P8, row + j, GET8(P8, row + j) * (P8)(scale) + added_bias);
  }
  for (long j = visible; j < end; ++j) row[j] = -INFINITY;
}
)";

constexpr std::string_view kForward = R"(
// Scores become shares, but for the sum that is returned; log_sum is its logarithm with the scores as they were.
static P exponentials(__global P* row, long end, P* log_sum) {
  P8 most = (P8)(-INFINITY);
  for (long j = 0; j < end; j += 8) most = PICK(GET8(P8, row + j) > most, GET8(P8, row + j), most);
  const P largest = fmax(fmax(fmax(most.s0, most.s4), fmax(most.s1, most.s5)), fmax(fmax(most.s2, most.s6), fmax(most.s3, most.s7)));
  const P shift = largest == -INFINITY ? 0 : largest;
  P8 sum = (P8)(0);
  for (long j = 0; j < end; j += 8) {
    const P8 e = lane_exp(GET8(P8, row + j) - (P8)(shift));
    PUT8(P8, row + j, e);
    sum += e;
  }
  *log_sum = lane_log((P8)(added(sum))).s0 + shift;
  return added(sum);
}

KERNEL attention_forward(__global const T_mem* q, __global const P* keys, __global const T_mem* v, __global const T_mem* bias,
                         __global T_mem* y, __global T_mem* log_sums, __global P* scratch, const Sizes s, const T_lane scale,
                         const long count, const long per_item) {
  const long tiles = (s.targets + 5) / 6, width = (s.sources + 15) / 16 * 16;
  __global P* scores = scratch + (long)get_global_id(0) * 6 * width;
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
    combine(scores, v, (b * s.sources * s.heads + n) * s.depth, s.heads * s.depth, 0, visible, s.depth, y,
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
    for (long c = 0; c < s.depth; c += 8) sum += piece(dy, at + c, 1, (int)min(8l, s.depth - c)) * piece(y, at + c, 1, (int)min(8l, s.depth - c));
    own[i] = added(sum);
  }
}
KERNEL attention_queries(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const P* keys,
                         __global const P* values, __global const T_mem* bias, __global const T_mem* log_sums, __global const P* own,
                         __global T_mem* dq, __global P* scratch, const Sizes s, const T_lane scale, const long count, const long per_item) {
  const long tiles = (s.targets + 5) / 6, width = (s.sources + 15) / 16 * 16;
  __global P* shares = scratch + (long)get_global_id(0) * 12 * width;
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
      for (long j = 0; j < end; j += 8) {
        const P8 e = lane_exp(GET8(P8, share + j) - (P8)(log_sum));
        PUT8(P8, change + j, log_sum < BLIND ? (P8)(0) : e * (GET8(P8, change + j) - (P8)(mine)));
      }
    }
    P factor[6];
    for (int r = 0; r < 6; ++r) factor[r] = scale;
    combine(changes, k, (b * s.sources * s.heads + n) * s.size, s.heads * s.size, 0, visible, s.size, dq, queries, factor);
  }
}
KERNEL attention_sources(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const T_mem* v,
                         __global const P* queries, __global const P* outputs, __global const T_mem* bias, __global const T_mem* log_sums,
                         __global const P* own, __global T_mem* dk, __global T_mem* dv, __global P* scratch, const Sizes s,
                         const T_lane scale, const long count, const long per_item) {
  const long tiles = (s.sources + 5) / 6, width = (s.targets + 15) / 16 * 16;
  __global P* shares = scratch + (long)get_global_id(0) * 12 * width;
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
      for (long t = from; t < s.targets; t += 8) {
        const int m = (int)min(8l, s.targets - t);
        const P8 log_sum = piece(log_sums, row + t, 1, m);
        P8 e = lane_exp(GET8(P8, share + t) - log_sum);
        PUT8(P8, share + t, e);
        PUT8(P8, change + t, e * (GET8(P8, change + t) - (m == 8 ? GET8(P8, own + row + t) : lanes_part(own, row + t, m))));
        if (!any(log_sum < (P8)(BLIND))) continue;
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
    combine(changes, q, (b * s.targets * s.heads + n) * s.size, s.heads * s.size, begin, s.targets, s.size, dk, keys, factor);
    combine(shares, dy, (b * s.targets * s.heads + n) * s.depth, s.heads * s.depth, begin, s.targets, s.depth, dv, values, whole);
  }
}
)";

/// The first m of eight lanes between kernels.
constexpr std::string_view kLanesPart = R"(
static P8 lanes_part(__global const P* x, long at, int m) {
  P v[8];
#pragma unroll 1
  for (int u = 0; u < 8; ++u) v[u] = u < m ? x[at + u] : 0;
  return vload8(0, v);
}
)";

std::string source(DType dtype, std::string_view kernels) {
  const DType lane = lane_dtype(dtype);
  return text(gemm_prelude(dtype), kForEach, Epilogue().source(), tile_text(kWidth), "#define BLIND ((P)(", AttentionSizes::blind(dtype), "))\n",
              define_function("lane_exp", lane, 1, [](auto& in) { return exp(in[0]); }),
              define_function("lane_log", lane, 1, [](auto& in) { return log(in[0]); }), kLanesPart, kTiles, kernels);
}

/// Panels of one operand.
struct Packing {
  std::int64_t rows, heads, size, batch;

  std::size_t bytes(std::size_t lane) const { return static_cast<std::size_t>(batch * heads * blocks(rows, 16) * 16 * size) * lane; }
  void run(Context& context, const KernelFunction& kernel, const void* x, void* panels) const {
    Launch(context, kernel).buffer(x).buffer(panels).value(rows).value(heads).value(size).run(blocks(rows, 16), batch * heads);
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
  const std::string program = source(call.dtype(), kForward);
  const KernelFunction pack = p.context->kernel(program, "attention_pack"), kernel = p.context->kernel(program, "attention_forward");
  return prepared([=](const KernelArgs& args) {
    const Scratch keys(p.context->pool(), p.keys.bytes(p.lane())), scores(p.context->pool(), p.scratch_bytes(p.s.targets, p.s.sources, 1));
    p.keys.run(*p.context, pack, args.inputs[1], keys.get());
    Launch launch(*p.context, kernel);
    launch.buffer(args.inputs[0]).buffer(static_cast<const void*>(keys.get())).buffer(args.inputs[2]).buffer(args.inputs[3])
        .buffer(args.outputs[0]).buffer(args.outputs[1]).buffer(scores.get());
    p.run(launch, p.s.targets);
  });
}

/// Inputs are dy, query, key, value, bias, y, log_sums.
Prepared prepare_gradient(const KernelCall& call) {
  const TilePlan p(call, 1);
  const std::string program = source(call.dtype(), kGradient);
  const KernelFunction pack = p.context->kernel(program, "attention_pack"), own = p.context->kernel(program, "attention_own"),
                       queries = p.context->kernel(program, "attention_queries"), sources = p.context->kernel(program, "attention_sources");
  return prepared([=](const KernelArgs& args) {
    BufferPool& pool = p.context->pool();
    const std::int64_t rows = p.s.batch * p.s.heads * p.s.targets, per_item = p.context->elements_per_item(rows, static_cast<double>(p.s.depth));
    const Scratch sums(pool, static_cast<std::size_t>(rows) * p.lane());
    {
      Launch launch(*p.context, own);
      launch.buffer(args.inputs[0]).buffer(args.inputs[5]).buffer(sums.get());
      p.add_sizes(launch);
      launch.value(rows).value(per_item).run(blocks(rows, per_item));
    }
    const Scratch first(pool, std::max(p.keys.bytes(p.lane()), p.queries.bytes(p.lane())));
    const Scratch second(pool, std::max(p.values.bytes(p.lane()), p.outputs.bytes(p.lane())));
    const Scratch scores(pool, std::max(p.scratch_bytes(p.s.targets, p.s.sources, 2), p.scratch_bytes(p.s.sources, p.s.targets, 2)));
    const void *x_panels = first.get(), *y_panels = second.get(), *own_sums = sums.get();
    p.keys.run(*p.context, pack, args.inputs[2], first.get());
    p.values.run(*p.context, pack, args.inputs[3], second.get());
    {
      Launch launch(*p.context, queries);
      launch.buffer(args.inputs[0]).buffer(args.inputs[1]).buffer(args.inputs[2]).buffer(x_panels).buffer(y_panels).buffer(args.inputs[4])
          .buffer(args.inputs[6]).buffer(own_sums).buffer(args.outputs[0]).buffer(scores.get());
      p.run(launch, p.s.targets);
    }
    p.queries.run(*p.context, pack, args.inputs[1], first.get());
    p.outputs.run(*p.context, pack, args.inputs[0], second.get());
    Launch launch(*p.context, sources);
    for (int i = 0; i < 4; ++i) launch.buffer(args.inputs[i]);
    launch.buffer(x_panels).buffer(y_panels).buffer(args.inputs[4]).buffer(args.inputs[6]).buffer(own_sums).buffer(args.outputs[1])
        .buffer(args.outputs[2]).buffer(scores.get());
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
