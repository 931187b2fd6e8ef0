// Softmax, log_softmax and their gradients where axes follow that of the softmax: the tensor is [outer, n, inner], and
// a work-item takes neighbouring columns of one [n, inner].
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/softmax.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Vectors of columns that a work-item of a CPU-type device takes: rows that lie a power of two apart meet in few
/// places of its caches, and more is used of each line and page this way.
constexpr int kWide = 8;

/// AT: the columns from c * LANES on, in row k; `whole`, where all WIDE vectors are.
constexpr std::string_view kTileText = R"(
#define EACH_ROW for (long k = 0; k < n; ++k)
#define EACH_VECTOR for (int c = 0; c < WIDE; ++c)
#define PLACE(k, c) (from + (k) * inner + (c) * LANES)
#define REST(c) PIECE(left - (c) * LANES)
#define AT(x, k, c) (whole ? T_whole_piece(x, PLACE(k, c)) : T_piece(x, PLACE(k, c), REST(c)))
#define PUT(y, k, c, v) { const V put = v; if (whole) T_store_whole_piece(y, PLACE(k, c), put); else T_piece_store(y, PLACE(k, c), REST(c), put); }
)";

/// Of columns that are all -infinity the largest value counts as 0, as it does of rows.
constexpr std::string_view kForwardText = R"(
static inline void columns_of(__global const T_mem* x, __global T_mem* y, long from, long n, long inner, long left, const int whole) {
  V largest[WIDE], sum[WIDE];
  EACH_VECTOR { largest[c] = (V)(-INFINITY); sum[c] = (V)(0); }
  EACH_ROW EACH_VECTOR {
    const V v = AT(x, k, c);
    largest[c] = LARGER(largest[c], v);
  }
  EACH_VECTOR largest[c] = PICK(largest[c] == (V)(-INFINITY), (V)(0), largest[c]);
#if KIND == SOFTMAX && KEEPS_LANES
  // The exponentials wait in the result for their sum.
  EACH_ROW EACH_VECTOR {
    const V e = row_exp(AT(x, k, c) - largest[c]);
    sum[c] += e;
    PUT(y, k, c, e)
  }
  EACH_ROW EACH_VECTOR PUT(y, k, c, AT(y, k, c) / sum[c])
#else
  EACH_ROW EACH_VECTOR sum[c] += row_exp(AT(x, k, c) - largest[c]);
#if KIND == SOFTMAX
  EACH_ROW EACH_VECTOR PUT(y, k, c, row_exp(AT(x, k, c) - largest[c]) / sum[c])
#else
  EACH_VECTOR sum[c] = piece_log(sum[c]);
  EACH_ROW EACH_VECTOR PUT(y, k, c, AT(x, k, c) - largest[c] - sum[c])
#endif
#endif
}

KERNEL columns(__global const T_mem* x, __global T_mem* y, const long outer, const long n, const long inner, const long per_item) {
  const long across = (inner + WIDE * LANES - 1) / (WIDE * LANES);
  FOR_EACH(i, outer * across, per_item) {
    const long column = i % across * (WIDE * LANES), from = i / across * n * inner + column, left = inner - column;
    if (left >= WIDE * LANES) columns_of(x, y, from, n, inner, left, 1);
    else columns_of(x, y, from, n, inner, left, 0);
  }
}
)";

constexpr std::string_view kGradientText = R"(
static inline void columns_of(__global const T_mem* y, __global const T_mem* dy, __global T_mem* dx, long from, long n, long inner, long left, const int whole) {
  V sum[WIDE];
  EACH_VECTOR sum[c] = (V)(0);
  EACH_ROW EACH_VECTOR sum[c] += TERM(AT(y, k, c), AT(dy, k, c));
  EACH_ROW EACH_VECTOR PUT(dx, k, c, RESULT(row_exp, AT(y, k, c), AT(dy, k, c), sum[c]))
}

KERNEL columns(__global const T_mem* y, __global const T_mem* dy, __global T_mem* dx, const long outer, const long n, const long inner, const long per_item) {
  const long across = (inner + WIDE * LANES - 1) / (WIDE * LANES);
  FOR_EACH(i, outer * across, per_item) {
    const long column = i % across * (WIDE * LANES), from = i / across * n * inner + column, left = inner - column;
    if (left >= WIDE * LANES) columns_of(y, dy, dx, from, n, inner, left, 1);
    else columns_of(y, dy, dx, from, n, inner, left, 0);
  }
}
)";

}  // namespace

Prepared prepare_softmax_columns(const KernelCall& call) {
  Context& context = context_of(call);
  const SoftmaxKind kind = softmax_kind(call.op);
  const bool gradient = is_softmax_grad(kind);
  const AroundAxis at = around_softmax(call);
  const std::int64_t lanes = softmax_lanes(call.dtype()),
                     wide = context.traits().cpu_type && at.inner >= kWide * lanes ? kWide : 1;
  const std::int64_t items = call.shape().elements() ? at.outer * blocks(at.inner, wide * lanes) : 0;
  const std::int64_t per_item =
      context.elements_per_item(items, static_cast<double>((gradient ? 10 : 40) * wide * lanes * at.size));
  const std::string source =
      text(softmax_text(kind, call.dtype()), "#define WIDE ", wide, kTileText, gradient ? kGradientText : kForwardText);
  const KernelFunction kernel = context.kernel(source, "columns");
  return prepared([=, &context](const KernelArgs& args) {
    Launch launch(context, kernel);
    launch.buffer(args.inputs[0]);
    if (gradient) launch.buffer(args.inputs[1]);
    launch.buffer(args.outputs[0])
        .value(at.outer)
        .value(at.size)
        .value(at.inner)
        .value(per_item)
        .run(blocks(items, per_item));
  });
}

}  // namespace tandem::opencl
