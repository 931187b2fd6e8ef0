// Attention: a work-item takes a row of queries (or, for the gradients of keys and values, a row of keys) and walks
// over the other side, eight scores at a time. Scores are made again where they are needed; none is kept.
#include "tandem/backend/opencl/attention.h"

#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kScores = R"(
typedef struct { long batch, targets, sources, heads, size, depth, causal, b0, b1, b2, b3; } Sizes;

static T_lane8 piece(__global const T_mem* x, long at, int m) { return m == 8 ? T_load8(x, at) : T_part(x, at, 1, m, 0); }
static void piece_store(__global T_mem* y, long at, int m, T_lane8 v) {
  if (m == 8) T_store8(y, at, v);
  else T_store_part(y, at, v, 1, m);
}
static T_lane added(T_lane8 v) { return ((v.s0 + v.s4) + (v.s2 + v.s6)) + ((v.s1 + v.s5) + (v.s3 + v.s7)); }
static T_lane dot_of(__global const T_mem* x, long at, __global const T_mem* y, long to, long n) {
  T_lane8 sum = (T_lane8)(0);
  for (long i = 0; i < n; i += 8) sum += piece(x, at + i, (int)min(8l, n - i)) * piece(y, to + i, (int)min(8l, n - i));
  return added(sum);
}
static long query_at(const Sizes s, long b, long t, long n) { return ((b * s.targets + t) * s.heads + n) * s.size; }
static long key_at(const Sizes s, long b, long k, long n) { return ((b * s.sources + k) * s.heads + n) * s.size; }
static long value_at(const Sizes s, long b, long k, long n) { return ((b * s.sources + k) * s.heads + n) * s.depth; }
static long output_at(const Sizes s, long b, long t, long n) { return ((b * s.targets + t) * s.heads + n) * s.depth; }

// The score of target t and source k.
static T_lane score(const Sizes s, __global const T_mem* q, __global const T_mem* k, __global const T_mem* bias, T_lane scale, long b,
                    long n, long t, long source) {
  if (s.causal && source > t) return -INFINITY;
  const T_lane product = dot_of(q, query_at(s, b, t, n), k, key_at(s, b, source, n), s.size);
  return product * scale + T_load(bias, b * s.b0 + n * s.b1 + t * s.b2 + source * s.b3);
}
// Of sources k .. k+7 for target t; -infinity beyond the last.
static T_lane8 scores(const Sizes s, __global const T_mem* q, __global const T_mem* k, __global const T_mem* bias, T_lane scale, long b,
                      long n, long t, long first) {
  T_lane all[8];
  for (int u = 0; u < 8; ++u) all[u] = first + u < s.sources ? score(s, q, k, bias, scale, b, n, t, first + u) : -INFINITY;
  return vload8(0, all);
}
static long seen(const Sizes s, long t) { return s.causal ? min(t + 1, s.sources) : s.sources; }
// The logarithm of source k's share in target t, and whether that moves with the score: see AttentionSizes::blind.
static T_lane log_share(const Sizes s, T_lane value, T_lane log_sum, long t, long k) {
  if (log_sum >= BLIND) return value - log_sum;
  return k < seen(s, t) ? -lane_log((T_lane8)((T_lane)seen(s, t))).s0 : -INFINITY;
}
)";

constexpr std::string_view kForward = R"(
KERNEL attention_forward(__global const T_mem* q, __global const T_mem* k, __global const T_mem* v, __global const T_mem* bias,
                         __global T_mem* y, __global T_mem* log_sums, const Sizes s, const T_lane scale, const long count,
                         const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long b = i / (s.heads * s.targets), n = i / s.targets - b * s.heads, t = i - (b * s.heads + n) * s.targets;
    T_lane largest = -INFINITY;
    for (long j = 0; j < seen(s, t); ++j) largest = fmax(largest, score(s, q, k, bias, scale, b, n, t, j));
    const T_lane shift = largest == -INFINITY ? 0 : largest;
    T_lane sum = 0;
    for (long c = 0; c < s.depth; c += 64) {  // so many columns of the values at a time
      T_lane8 total[8];
      for (int u = 0; u < 8; ++u) total[u] = (T_lane8)(0);
      sum = 0;
      for (long j = 0; j < seen(s, t); j += 8) {
        T_lane share[8];
        const T_lane8 e = lane_exp(scores(s, q, k, bias, scale, b, n, t, j) - shift);
        vstore8(e, 0, share);
        sum += added(e);
        for (int w = 0; w < 8 && j + w < s.sources; ++w)
          for (int u = 0; u < 8 && c + u * 8 < s.depth; ++u)
            total[u] += share[w] * piece(v, value_at(s, b, j + w, n) + c + u * 8, (int)min(8l, s.depth - c - u * 8));
      }
      for (int u = 0; u < 8 && c + u * 8 < s.depth; ++u)
        piece_store(y, output_at(s, b, t, n) + c + u * 8, (int)min(8l, s.depth - c - u * 8), total[u] / sum);
    }
    T_store(log_sums, i, lane_log((T_lane8)(sum)).s0 + shift);
  }
}
)";

constexpr std::string_view kGradient = R"(
// The sum of dy * y of each row.
KERNEL attention_own(__global const T_mem* dy, __global const T_mem* y, __global L_mem* own, const Sizes s, const long count,
                     const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long b = i / (s.heads * s.targets), n = i / s.targets - b * s.heads, t = i - (b * s.heads + n) * s.targets;
    L_store(own, i, dot_of(dy, output_at(s, b, t, n), y, output_at(s, b, t, n), s.depth));
  }
}
KERNEL attention_queries(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const T_mem* v,
                         __global const T_mem* bias, __global const T_mem* log_sums, __global const L_mem* own, __global T_mem* dq,
                         const Sizes s, const T_lane scale, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long b = i / (s.heads * s.targets), n = i / s.targets - b * s.heads, t = i - (b * s.heads + n) * s.targets;
    for (long c = 0; c < s.size; c += 64) {
      T_lane8 total[8];
      for (int u = 0; u < 8; ++u) total[u] = (T_lane8)(0);
      for (long j = 0; j < seen(s, t); j += 8) {
        T_lane share[8];
        const T_lane log_sum = T_load(log_sums, i);
        for (int w = 0; w < 8; ++w)
          share[w] = j + w < s.sources ? log_share(s, score(s, q, k, bias, scale, b, n, t, j + w), log_sum, t, j + w) : -INFINITY;
        vstore8(lane_exp(vload8(0, share)), 0, share);
        for (int w = 0; w < 8 && j + w < s.sources; ++w) {
          const T_lane product = dot_of(dy, output_at(s, b, t, n), v, value_at(s, b, j + w, n), s.depth);
          const T_lane change = log_sum < BLIND ? 0 : share[w] * (product - L_load(own, i)) * scale;
          for (int u = 0; u < 8 && c + u * 8 < s.size; ++u)
            total[u] += change * piece(k, key_at(s, b, j + w, n) + c + u * 8, (int)min(8l, s.size - c - u * 8));
        }
      }
      for (int u = 0; u < 8 && c + u * 8 < s.size; ++u)
        piece_store(dq, query_at(s, b, t, n) + c + u * 8, (int)min(8l, s.size - c - u * 8), total[u]);
    }
  }
}
KERNEL attention_sources(__global const T_mem* dy, __global const T_mem* q, __global const T_mem* k, __global const T_mem* v,
                         __global const T_mem* bias, __global const T_mem* log_sums, __global const L_mem* own, __global T_mem* dk,
                         __global T_mem* dv, const Sizes s, const T_lane scale, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long b = i / (s.heads * s.sources), n = i / s.sources - b * s.heads, j = i - (b * s.heads + n) * s.sources;
    const long rows = (b * s.heads + n) * s.targets;
    for (long c = 0; c < max(s.size, s.depth); c += 64) {
      T_lane8 keys[8], values[8];
      for (int u = 0; u < 8; ++u) keys[u] = values[u] = (T_lane8)(0);
      for (long first = s.causal ? j / 8 * 8 : 0; first < s.targets; first += 8) {
        T_lane share[8];
        for (int w = 0; w < 8; ++w)
          share[w] = first + w < s.targets
                         ? log_share(s, score(s, q, k, bias, scale, b, n, first + w, j), T_load(log_sums, rows + first + w), first + w, j)
                         : -INFINITY;
        vstore8(lane_exp(vload8(0, share)), 0, share);
        for (int w = 0; w < 8 && first + w < s.targets; ++w) {
          const long t = first + w;
          const T_lane product = dot_of(dy, output_at(s, b, t, n), v, value_at(s, b, j, n), s.depth);
          const T_lane change = T_load(log_sums, rows + t) < BLIND ? 0 : share[w] * (product - L_load(own, rows + t)) * scale;
          for (int u = 0; u < 8; ++u) {
            const long at = c + u * 8;
            if (at < s.size) keys[u] += change * piece(q, query_at(s, b, t, n) + at, (int)min(8l, s.size - at));
            if (at < s.depth) values[u] += share[w] * piece(dy, output_at(s, b, t, n) + at, (int)min(8l, s.depth - at));
          }
        }
      }
      for (int u = 0; u < 8; ++u) {
        const long at = c + u * 8;
        if (at < s.size) piece_store(dk, key_at(s, b, j, n) + at, (int)min(8l, s.size - at), keys[u]);
        if (at < s.depth) piece_store(dv, value_at(s, b, j, n) + at, (int)min(8l, s.depth - at), values[u]);
      }
    }
  }
}
)";

std::string source(DType dtype) {
  const DType lane = lane_dtype(dtype);
  return text(prelude(lane == DType::f64), kForEach, define_dtype("T", dtype), define_dtype("L", lane),
              "#define BLIND ((T_lane)(", AttentionSizes::blind(dtype), "))\n",
              define_function("lane_exp", lane, 1, [](auto& in) { return exp(in[0]); }),
              define_function("lane_log", lane, 1, [](auto& in) { return log(in[0]); }), kScores, kForward, kGradient);
}

/// How the rows of one side are dealt out.
struct Plan : AttentionPlan {
  using AttentionPlan::AttentionPlan;

  void run(Launch& launch, std::int64_t rows, std::int64_t others) const {
    const std::int64_t count = s.batch * s.heads * rows;
    const std::int64_t per_item = context->elements_per_item(count, static_cast<double>(others * (s.size + s.depth)));
    launch.value(count).value(per_item).run(blocks(count, per_item));
  }
};

Prepared prepare_forward(const KernelCall& call) {
  const Plan p(call, 0);
  const KernelFunction kernel = p.context->kernel(source(call.dtype()), "attention_forward");
  return prepared([=](const KernelArgs& args) {
    Launch launch(*p.context, kernel);
    for (int i = 0; i < 4; ++i) launch.buffer(args.inputs[i]);
    launch.buffer(args.outputs[0]).buffer(args.outputs[1]);
    p.add_sizes(launch);
    p.add_scale(launch);
    p.run(launch, p.s.targets, p.s.sources);
  });
}

Prepared prepare_gradient(const KernelCall& call) {
  const Plan p(call, 1);
  const std::string program = source(call.dtype());
  const KernelFunction own = p.context->kernel(program, "attention_own"),
                       queries = p.context->kernel(program, "attention_queries"),
                       sources = p.context->kernel(program, "attention_sources");
  return prepared([=](const KernelArgs& args) {
    const std::size_t rows = static_cast<std::size_t>(p.s.batch * p.s.heads * p.s.targets) * (p.wide ? 8 : 4);
    const Scratch sums(p.context->pool(), rows);
    {
      Launch launch(*p.context, own);
      launch.buffer(args.inputs[0]).buffer(args.inputs[5]).buffer(sums.get());
      p.add_sizes(launch);
      p.run(launch, p.s.targets, 1);
    }
    const auto shared = [&](Launch& launch) {
      for (int i = 0; i < 5; ++i) launch.buffer(args.inputs[i]);
      launch.buffer(args.inputs[6]).buffer(sums.get());
    };
    {
      Launch launch(*p.context, queries);
      shared(launch);
      launch.buffer(args.outputs[0]);
      p.add_sizes(launch);
      p.add_scale(launch);
      p.run(launch, p.s.targets, 2 * p.s.sources);
    }
    Launch launch(*p.context, sources);
    shared(launch);
    launch.buffer(args.outputs[1]).buffer(args.outputs[2]);
    p.add_sizes(launch);
    p.add_scale(launch);
    p.run(launch, p.s.sources, 2 * p.s.targets);
  });
}

}  // namespace

AttentionPlan::AttentionPlan(const KernelCall& call, int first)
    : context(&context_of(call)),
      s(call, first),
      wide(lane_dtype(call.dtype()) == DType::f64) {}

void AttentionPlan::add_sizes(Launch& launch) const {
  launch.value(std::array<std::int64_t, 11>{s.batch, s.targets, s.sources, s.heads, s.size, s.depth, s.causal,
                                            s.bias[0], s.bias[1], s.bias[2], s.bias[3]});
}

void AttentionPlan::add_scale(Launch& launch) const {
  if (wide) launch.value(s.scale);
  else launch.value(static_cast<float>(s.scale));
}

Support attention_supported(const KernelCall& call) {
  for (const Operand& input : call.inputs)
    if (input.shape().elements() == 0) return no("nothing to compute: an operand is empty");
  return dtypes_supported(call);
}

KernelList dot_product_attention_kernels() {
  return {tiled_attention(), {"opencl rows", attention_supported, prepare_forward}};
}
KernelList dot_product_attention_grad_kernels() {
  return {tiled_attention_grad(), {"opencl rows", attention_supported, prepare_gradient}};
}

}  // namespace tandem::opencl
