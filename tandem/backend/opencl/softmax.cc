// Softmax, log_softmax and the cross entropies: one work-item a row, in three passes over it.
#include <algorithm>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/softmax_kind.h"

namespace tandem::opencl {
namespace {

using Kind = SoftmaxKind;

bool is_sparse(Kind kind) { return kind == Kind::sparse_loss || kind == Kind::sparse_grad; }
bool has_gradient(Kind kind) { return kind == Kind::sparse_grad || kind == Kind::dense_grad; }

/// The largest value and the sum of exponentials of a row of n elements, `stride` apart.
constexpr std::string_view kRowText = R"(
#if LANES == 16
// A half that is whole is moved as one.
static V strided(__global const T_mem* x, long at, long stride, int m, T_lane rest) {
  const T_lane8 low = stride == 1 && m >= 8 ? T_load8(x, at) : T_part(x, at, stride, m, rest);
  return JOIN(V, low, T_part(x, at + 8 * stride, stride, m - 8, rest));
}
static void strided_store(__global T_mem* y, long at, long stride, int m, V v) {
  if (stride == 1 && m >= 8) T_store8(y, at, v.lo);
  else T_store_part(y, at, v.lo, stride, min(m, 8));
  T_store_part(y, at + 8 * stride, v.hi, stride, m - 8);
}
#define EIGHT_OF(OP, v) OP((v).lo, (v).hi)
#define SPREAD(v, all) vstore16(v, 0, all)
#define GATHERED(all) vload16(0, all)
#else
static V strided(__global const T_mem* x, long at, long stride, int m, T_lane rest) { return T_part(x, at, stride, m, rest); }
static void strided_store(__global T_mem* y, long at, long stride, int m, V v) { T_store_part(y, at, v, stride, m); }
#define EIGHT_OF(OP, v) (v)
#define SPREAD(v, all) vstore8(v, 0, all)
#define GATHERED(all) vload8(0, all)
#endif
static V piece(__global const T_mem* x, long at, long stride, int m, T_lane rest) {
  return stride == 1 && m == LANES ? T_whole_piece(x, at) : strided(x, at, stride, m, rest);
}
static void piece_store(__global T_mem* y, long at, long stride, int m, V v) {
  if (stride == 1 && m == LANES) T_store_whole_piece(y, at, v);
  else strided_store(y, at, stride, m, v);
}
#define LARGER(a, b) PICK(((a) != (a)) | ((a) > (b)), a, b)
#define SUM(a, b) ((a) + (b))
static T_lane sum_of(V v) {
  const T_lane8 all = EIGHT_OF(SUM, v);
  const T_lane4 a = all.lo + all.hi;
  const T_lane2 b = a.lo + a.hi;
  return b.x + b.y;
}
static T_lane first(T_lane8 v) { return v.s0; }

static T_lane row_max(__global const T_mem* x, long from, long n, long stride) {
  V best = (V)(-INFINITY);
  for (long k = 0; k < n; k += LANES) {
    const V v = piece(x, from + k * stride, stride, PIECE(n - k), -INFINITY);
    best = LARGER(best, v);
  }
  T_lane all[8], largest = -INFINITY;
  vstore8(EIGHT_OF(LARGER, best), 0, all);
  for (int u = 0; u < 8; ++u)
    if (!(all[u] <= largest)) largest = all[u];
  return largest;
}
static T_lane row_sum(__global const T_mem* x, long from, long n, long stride, T_lane largest) {
  V sum = (V)(0);
  for (long k = 0; k < n; k += LANES) sum += row_exp(piece(x, from + k * stride, stride, PIECE(n - k), -INFINITY) - largest);
  return sum_of(sum);
}
)";

/// Of a row whose values are all -infinity the total is -infinity, as in the reference.
constexpr std::string_view kKernelText = R"(
KERNEL rows(__global const T_mem* x, __global T_mem* y, const long outer, const long n, const long inner, const long per_item
#if LOSS
            , __global const void* labels, const int wide, __global int* error, const int site
#endif
#if GRADIENT
            , __global const T_mem* dy
#endif
            ) {
  FOR_EACH(i, outer * inner, per_item) {
    const long o = i / inner, from = o * n * inner + (i - o * inner), stride = inner;
    const T_lane largest = row_max(x, from, n, stride);
    const T_lane shift = largest == -INFINITY ? 0 : largest;
#if (KIND == 0 || KIND == 3) && KEEPS_LANES
    // The exponentials wait in the result for their sum.
    V sums = (V)(0);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V e = row_exp(piece(x, from + k * stride, stride, m, -INFINITY) - shift);
      sums += e;
      piece_store(y, from + k * stride, stride, m, e);
    }
    const T_lane sum = sum_of(sums);
#if KIND == 0
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      piece_store(y, from + k * stride, stride, m, piece(y, from + k * stride, stride, m, 0) / sum);
    }
#endif
#else
    const T_lane sum = row_sum(x, from, n, stride, shift);
#endif
#if SPARSE
    const long label = wide ? ((__global const long*)labels)[i] : (long)((__global const int*)labels)[i];
    const int bad = label < 0 || label >= n;
    if (bad && atomic_cmpxchg(error, 0, site) == 0) {
      error[1] = (int)label;
      error[2] = (int)i;
      error[3] = (int)n;
    }
#endif
#if KIND == 0 && KEEPS_LANES
#elif KIND == 0
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      piece_store(y, from + k * stride, stride, m, row_exp(piece(x, from + k * stride, stride, m, 0) - shift) / sum);
    }
#elif KIND == 1
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      piece_store(y, from + k * stride, stride, m, piece(x, from + k * stride, stride, m, 0) - shift - log_sum);
    }
#elif KIND == 2
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    T_store(y, i, bad ? (T_lane)0 : log_sum + (shift - T_load(x, from + label)));
#elif KIND == 3 && KEEPS_LANES
    const T_lane g = T_load(dy, i), share = bad ? 0 : T_load(y, from + label) / sum;
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      piece_store(y, from + k, 1, m, piece(y, from + k, 1, m, 0) / sum * g);
    }
    if (!bad) T_store(y, from + label, (share - 1) * g);
#elif KIND == 3
    const T_lane g = T_load(dy, i);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_lane all[LANES];
      SPREAD(row_exp(piece(x, from + k, 1, m, 0) - shift) / sum, all);
      if (label >= k && label < k + LANES) all[label - k] -= 1;
      piece_store(y, from + k, 1, m, GATHERED(all) * g);
    }
#elif KIND == 4
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    V loss = (V)(0);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V label = piece((__global const T_mem*)labels, from + k, 1, m, 0);
      // A label of 0 gives 0 even where the logit is infinite.
      loss += PICK(label == (V)(0), (V)(0), label * (log_sum + (shift - piece(x, from + k, 1, m, 0))));
    }
    T_store(y, i, sum_of(loss));
#else
    const T_lane g = T_load(dy, i);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V label = piece((__global const T_mem*)labels, from + k, 1, m, 0);
      piece_store(y, from + k, 1, m, (row_exp(piece(x, from + k, 1, m, 0) - shift) / sum - label) * g);
    }
#endif
  }
}
)";

/// Rows that are shorter than this are worked off eight side by side.
constexpr std::int64_t kShort = 32;

constexpr std::string_view kShortText = R"(
static T_lane8 column(__global const T_mem* x, long at, long n, int m) {
  if (m < 8) return T_part(x, at, n, m, 0);
  return (T_lane8)(T_load(x, at), T_load(x, at + n), T_load(x, at + 2 * n), T_load(x, at + 3 * n), T_load(x, at + 4 * n),
                   T_load(x, at + 5 * n), T_load(x, at + 6 * n), T_load(x, at + 7 * n));
}

// Lanes are rows: eight of them side by side.
KERNEL short_rows(__global const T_mem* x, __global T_mem* y, const long rows, const int n, const long per_item) {
  FOR_EACH(group, (rows + 7) / 8, per_item) {
    const int m = (int)min(8l, rows - group * 8);
    const long from = group * 8 * n;
    T_lane8 values[SHORT], best = (T_lane8)(-INFINITY), sum = (T_lane8)(0);
    for (int k = 0; k < n; ++k) {
      values[k] = column(x, from + k, n, m);
      best = PICK((best != best) | (best > values[k]), best, values[k]);
    }
    best = PICK(best == (T_lane8)(-INFINITY), (T_lane8)(0), best);
#if KIND == 1
    for (int k = 0; k < n; ++k) sum += row_exp8(values[k] - best);
    const T_lane8 log_sum = row_log(sum);
    for (int k = 0; k < n; ++k) T_store_part(y, from + k, values[k] - best - log_sum, n, m);
#else
    for (int k = 0; k < n; ++k) sum += values[k] = row_exp8(values[k] - best);
    for (int k = 0; k < n; ++k) T_store_part(y, from + k, values[k] / sum, n, m);
#endif
  }
}
)";

Prepared prepare_short(Context& context, const std::string& source, std::int64_t rows, std::int64_t n) {
  const std::int64_t groups = blocks(rows, 8), per_item = context.elements_per_item(groups, 320.0 * static_cast<double>(n));
  const KernelFunction kernel = context.kernel(source, "short_rows");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.outputs[0]).value(rows).value<cl_int>(static_cast<cl_int>(n)).value(per_item)
        .run(blocks(groups, per_item));
  });
}

std::string softmax_source(Kind kind, DType dtype) {
  const DType lane = lane_dtype(dtype);
  const std::string_view type = lane_type(expr::lane_of(dtype));
  const int lanes = dtype_size(lane) == 4 ? 16 : kWidth;  // whatever the device has, so that sums have one order
  return text(prelude(lane == DType::f64), kForEach, define_dtype("T", dtype), "typedef ", type, "4 T_lane4;\ntypedef ", type,
              "2 T_lane2;\n#define KIND ", static_cast<int>(kind), "\n#define LOSS ", is_loss(kind), "\n#define SPARSE ",
              is_sparse(kind), "\n#define GRADIENT ", has_gradient(kind),
              "\n#define KEEPS_LANES ", dtype == lane, "\n",
              pieces_text("T", dtype, lanes), define_function("row_exp", lane, 1, [](auto& in) { return exp(in[0]); }, lanes),
              define_function("row_log", lane, 1, [](auto& in) { return log(in[0]); }), kRowText, kKernelText,
              !is_loss(kind) ? text(define_function("row_exp8", lane, 1, [](auto& in) { return exp(in[0]); }), "#define SHORT ", kShort, kShortText)
                             : std::string());
}

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const Kind kind = softmax_kind(call.op);
  const int logits = is_loss(kind) ? 1 : 0;
  const Shape& shape = call.shape(logits);
  const int axis = is_loss(kind) ? shape.rank() - 1 : normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const AroundAxis at = around_axis(shape, axis);
  const std::int64_t n = at.size, rows = n ? at.outer * at.inner : 0;
  const std::int64_t per_item = context.elements_per_item(rows, 40.0 * static_cast<double>(n));
  const bool wide = call.dtype(0) == DType::i64;
  const int site = is_sparse(kind) ? context.error_site(std::string(call.op.name)) : 0;
  const std::string source = softmax_source(kind, call.dtype(logits));
  if (!is_loss(kind) && at.inner == 1 && n > 0 && n <= kShort) return prepare_short(context, source, rows, n);
  const KernelFunction kernel = context.kernel(source, "rows");
  return prepared([=, &context](const KernelArgs& args) {
    Launch launch(context, kernel);
    launch.buffer(args.inputs[logits]).buffer(args.outputs[0]).value(at.outer).value(n).value(at.inner).value(per_item);
    if (is_sparse(kind)) launch.buffer(args.inputs[0]).value<cl_int>(wide).error(site);
    else if (is_loss(kind)) launch.buffer(args.inputs[0]).value<cl_int>(0).buffer(&context.error_words()).value<cl_int>(0);
    if (has_gradient(kind)) launch.buffer(args.inputs[2]);
    launch.run(blocks(rows, per_item));
  });
}

}  // namespace

KernelList softmax_kernels() { return {{.name = "opencl rows", .supports = dtypes_supported, .prepare = prepare}}; }

}  // namespace tandem::opencl
