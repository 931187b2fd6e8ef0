// The gradients of softmax and log_softmax: one work-item a row, in two passes over it, or eight short rows.
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/softmax.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kKernelText = R"(
KERNEL rows(__global const T_mem* y, __global const T_mem* dy, __global T_mem* dx, const long rows, const long n, const long per_item) {
  FOR_EACH(row, rows, per_item) {
    V sums = (V)(0);
    for (long at = row * n, k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      sums += TERM(T_piece(y, at + k, m), T_piece(dy, at + k, m));
    }
    const T_lane sum = sum_of(sums);
    for (long at = row * n, k = 0; k < n; k += LANES) {
      const int m = PIECE(n - k);
      T_piece_store(dx, at + k, m, RESULT(row_exp, T_piece(y, at + k, m), T_piece(dy, at + k, m), sum));
    }
  }
}

// Lanes are rows: eight of them side by side.
KERNEL short_rows(__global const T_mem* y, __global const T_mem* dy, __global T_mem* dx, const long rows, const long n, const long per_item) {
  FOR_EACH(group, (rows + 7) / 8, per_item) {
    const int m = (int)min(8l, rows - group * 8);
    const long from = group * 8 * n;
    T_lane8 results[SHORT], grads[SHORT], sum = (T_lane8)(0);
    for (int k = 0; k < n; ++k) {
      results[k] = column(y, from + k, n, m);
      grads[k] = column(dy, from + k, n, m);
      sum += TERM(results[k], grads[k]);
    }
    for (int k = 0; k < n; ++k) T_store_part(dx, from + k, RESULT(row_exp8, results[k], grads[k], sum), n, m);
  }
}
)";

Prepared prepare(const KernelCall& call) {
  Context& context = context_of(call);
  const std::int64_t n = around_softmax(call).size, rows = n ? call.shape().elements() / n : 0;
  const bool is_short = n <= kShortRow;
  const std::int64_t items = is_short ? blocks(rows, 8) : rows;
  const std::int64_t per_item = context.elements_per_item(items, (is_short ? 80.0 : 10.0) * static_cast<double>(n));
  const KernelFunction kernel = context.kernel(text(softmax_text(softmax_kind(call.op), call.dtype()), kKernelText),
                                               is_short ? "short_rows" : "rows");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .buffer(args.outputs[0])
        .value(rows)
        .value(n)
        .value(per_item)
        .run(blocks(items, per_item));
  });
}

}  // namespace

KernelList softmax_grad_kernels() {
  return {{.name = "opencl rows", .supports = rows_supported, .prepare = prepare},
          {.name = "opencl columns", .supports = dtypes_supported, .prepare = prepare_softmax_columns}};
}

}  // namespace tandem::opencl
