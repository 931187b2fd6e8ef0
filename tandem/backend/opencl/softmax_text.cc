#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/softmax.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kKinds = R"(
#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define SOFTMAX_GRAD 2
#define LOG_SOFTMAX_GRAD 3
#define SPARSE_LOSS 4
#define SPARSE_GRAD 5
#define DENSE_LOSS 6
#define DENSE_GRAD 7
// What the gradients of softmaxes add up, and answer.
#if KIND == SOFTMAX_GRAD
#define TERM(y, dy) ((y) * (dy))
#define RESULT(exp_of, y, dy, sum) (((dy) - (sum)) * (y))
#else
#define TERM(y, dy) (dy)
#define RESULT(exp_of, y, dy, sum) ((dy) - exp_of(y) * (sum))
#endif
)";

/// Vectors of neighbours, of a row or of columns; and eight rows of n elements side by side, of which m are there.
constexpr std::string_view kText = R"(
#if LANES == 16
// A half that is whole is moved as one.
static V part_or(__global const T_mem* x, long at, int m, T_lane rest) {
  const T_lane8 low = m >= 8 ? T_load8(x, at) : T_part(x, at, 1, m, rest);
  return JOIN(V, low, T_part(x, at + 8, 1, m - 8, rest));
}
#define EIGHT_OF(OP, v) OP((v).lo, (v).hi)
#define SPREAD(v, all) vstore16(v, 0, all)
#define GATHERED(all) vload16(0, all)
#else
static V part_or(__global const T_mem* x, long at, int m, T_lane rest) { return T_part(x, at, 1, m, rest); }
#define EIGHT_OF(OP, v) (v)
#define SPREAD(v, all) vstore8(v, 0, all)
#define GATHERED(all) vload8(0, all)
#endif
// Lanes behind the end of a row hold `rest`.
static V piece_or(__global const T_mem* x, long at, int m, T_lane rest) {
  return m == LANES ? T_whole_piece(x, at) : part_or(x, at, m, rest);
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
static T_lane8 column(__global const T_mem* x, long at, long n, int m) {
  if (m < 8) return T_part(x, at, n, m, 0);
  return (T_lane8)(T_load(x, at), T_load(x, at + n), T_load(x, at + 2 * n), T_load(x, at + 3 * n), T_load(x, at + 4 * n),
                   T_load(x, at + 5 * n), T_load(x, at + 6 * n), T_load(x, at + 7 * n));
}
)";

}  // namespace

int softmax_lanes(DType dtype) { return dtype_size(lane_dtype(dtype)) == 4 ? 16 : kWidth; }

std::string softmax_text(SoftmaxKind kind, DType dtype) {
  const DType lane = lane_dtype(dtype);
  const std::string_view type = lane_type(expr::lane_of(dtype));
  const int lanes = softmax_lanes(dtype);
  auto exp_of = [](auto& in) { return exp(in[0]); };
  auto log_of = [](auto& in) { return log(in[0]); };
  return text(prelude(lane == DType::f64), kForEach, define_dtype("T", dtype), "typedef ", type, "4 T_lane4;\ntypedef ",
              type, "2 T_lane2;\n#define KIND ", static_cast<int>(kind), kKinds, "#define KEEPS_LANES ", dtype == lane,
              "\n#define SHORT ", kShortRow, "\n", pieces_text("T", dtype, lanes),
              define_function("row_exp", lane, 1, exp_of, lanes), define_function("row_exp8", lane, 1, exp_of),
              define_function("row_log", lane, 1, log_of), define_function("piece_log", lane, 1, log_of, lanes), kText);
}

Support rows_supported(const KernelCall& call) {
  if (Support support = dtypes_supported(call); !support) return support;
  return around_softmax(call).inner == 1 ? yes() : no("takes elements that lie side by side");
}

}  // namespace tandem::opencl
