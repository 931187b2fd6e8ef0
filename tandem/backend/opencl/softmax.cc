// Softmax, log_softmax and the cross entropies: one work-item a row, in three passes over it.
#include "tandem/backend/opencl/softmax.h"

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

using Kind = SoftmaxKind;

bool is_sparse(Kind kind) { return kind == Kind::sparse_loss || kind == Kind::sparse_grad; }
bool has_gradient(Kind kind) { return kind == Kind::sparse_grad || kind == Kind::dense_grad; }

/// The largest value and the sum of exponentials of a row of n elements.
constexpr std::string_view kRowText = R"(
static T_lane row_max(__global const T_mem* x, long from, long n) {
  V best = (V)(-INFINITY);
  for (long k = 0; k < n; k += LANES) {
    const V v = piece_or(x, from + k, PIECE(n - k), -INFINITY);
    best = LARGER(best, v);
  }
  T_lane all[8], largest = -INFINITY;
  vstore8(EIGHT_OF(LARGER, best), 0, all);
  for (int u = 0; u < 8; ++u)
    if (!(all[u] <= largest)) largest = all[u];
  return largest;
}
static T_lane row_sum(__global const T_mem* x, long from, long n, T_lane largest) {
  V sum = (V)(0);
  for (long k = 0; k < n; k += LANES) sum += row_exp(piece_or(x, from + k, PIECE(n - k), -INFINITY) - largest);
  return sum_of(sum);
}
)";

/// Of a row whose values are all -infinity the total is -infinity, as in the reference.
constexpr std::string_view kKernelText = R"(
KERNEL rows(__global const T_mem* x, __global T_mem* y, const long rows, const long n, const long per_item
#if LOSS
            , __global const void* labels, const int wide, __global int* error, const int site
#endif
#if GRADIENT
            , __global const T_mem* dy
#endif
            ) {
  FOR_EACH(i, rows, per_item) {
    const long from = i * n;
    const T_lane largest = row_max(x, from, n);
    const T_lane shift = largest == -INFINITY ? 0 : largest;
#if (KIND == SOFTMAX || KIND == SPARSE_GRAD) && KEEPS_LANES
    // The exponentials wait in the result for their sum.
    V sums = (V)(0);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V e = row_exp(piece_or(x, from + k, m, -INFINITY) - shift);
      sums += e;
      T_piece_store(y, from + k, m, e);
    }
    const T_lane sum = sum_of(sums);
#if KIND == SOFTMAX
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_piece_store(y, from + k, m, T_piece(y, from + k, m) / sum);
    }
#endif
#else
    const T_lane sum = row_sum(x, from, n, shift);
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
#if KIND == SOFTMAX && KEEPS_LANES
#elif KIND == SOFTMAX
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_piece_store(y, from + k, m, row_exp(T_piece(x, from + k, m) - shift) / sum);
    }
#elif KIND == LOG_SOFTMAX
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_piece_store(y, from + k, m, T_piece(x, from + k, m) - shift - log_sum);
    }
#elif KIND == SPARSE_LOSS
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    T_store(y, i, bad ? (T_lane)0 : log_sum + (shift - T_load(x, from + label)));
#elif KIND == SPARSE_GRAD && KEEPS_LANES
    const T_lane g = T_load(dy, i), share = bad ? 0 : T_load(y, from + label) / sum;
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_piece_store(y, from + k, m, T_piece(y, from + k, m) / sum * g);
    }
    if (!bad) T_store(y, from + label, (share - 1) * g);
#elif KIND == SPARSE_GRAD
    const T_lane g = T_load(dy, i);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_lane all[LANES];
      SPREAD(row_exp(T_piece(x, from + k, m) - shift) / sum, all);
      if (label >= k && label < k + LANES) all[label - k] -= 1;
      T_piece_store(y, from + k, m, GATHERED(all) * g);
    }
#elif KIND == DENSE_LOSS
    const T_lane log_sum = first(row_log((T_lane8)(sum)));
    V loss = (V)(0);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V label = T_piece((__global const T_mem*)labels, from + k, m);
      // A label of 0 gives 0 even where the logit is infinite.
      loss += PICK(label == (V)(0), (V)(0), label * (log_sum + (shift - T_piece(x, from + k, m))));
    }
    T_store(y, i, sum_of(loss));
#else
    const T_lane g = T_load(dy, i);
    for (long k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      const V label = T_piece((__global const T_mem*)labels, from + k, m);
      T_piece_store(y, from + k, m, (row_exp(T_piece(x, from + k, m) - shift) / sum - label) * g);
    }
#endif
  }
}
)";

constexpr std::string_view kShortText = R"(
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
#if KIND == LOG_SOFTMAX
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
  const std::int64_t groups = blocks(rows, 8),
                     per_item = context.elements_per_item(groups, 320.0 * static_cast<double>(n));
  const KernelFunction kernel = context.kernel(source, "short_rows");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(rows)
        .value<cl_int>(static_cast<cl_int>(n))
        .value(per_item)
        .run(blocks(groups, per_item));
  });
}

std::string source(Kind kind, DType dtype) {
  return text(softmax_text(kind, dtype), "#define LOSS ", is_loss(kind), "\n#define SPARSE ", is_sparse(kind),
              "\n#define GRADIENT ", has_gradient(kind), kRowText, kKernelText,
              is_loss(kind) ? std::string_view() : kShortText);
}

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const Kind kind = softmax_kind(call.op);
  const int logits = softmax_operand(kind);
  const std::int64_t n = around_softmax(call).size, rows = n ? call.shape(logits).elements() / n : 0;
  const std::int64_t per_item = context.elements_per_item(rows, 40.0 * static_cast<double>(n));
  const bool wide = call.dtype(0) == DType::i64;
  const int site = is_sparse(kind) ? context.error_site(std::string(call.op.name)) : 0;
  const std::string text = source(kind, call.dtype(logits));
  if (!is_loss(kind) && n > 0 && n <= kShortRow) return prepare_short(context, text, rows, n);
  const KernelFunction kernel = context.kernel(text, "rows");
  return prepared([=, &context](const KernelArgs& args) {
    Launch launch(context, kernel);
    launch.buffer(args.inputs[logits]).buffer(args.outputs[0]).value(rows).value(n).value(per_item);
    if (is_sparse(kind)) launch.buffer(args.inputs[0]).value<cl_int>(wide).error(site);
    else if (is_loss(kind))
      launch.buffer(args.inputs[0]).value<cl_int>(0).buffer(&context.error_words()).value<cl_int>(0);
    if (has_gradient(kind)) launch.buffer(args.inputs[2]);
    launch.run(blocks(rows, per_item));
  });
}

}  // namespace

KernelList cross_entropy_kernels() {
  return {{.name = "opencl rows", .supports = dtypes_supported, .prepare = prepare}};
}

KernelList softmax_kernels() {
  return {{.name = "opencl rows", .supports = rows_supported, .prepare = prepare},
          {.name = "opencl columns", .supports = dtypes_supported, .prepare = prepare_softmax_columns}};
}

}  // namespace tandem::opencl
