#include "tandem/backend/opencl/direct_gemm.h"

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kDirect = R"(
#define LINE(r) (P)T_load(a, from[r] + k * a_step)

// Rows run fastest over work-items: the columns of b stay in the cache while those of a pass by.
KERNEL direct(__global const T_mem* a, const long a_line, const long a_step, __global const T_mem* b, const long b_line,
              __global T_mem* c, const long m, const long n, const long depth, const Batch batch EPILOGUE_PARAMETERS) {
  const long item = get_global_id(0), result = get_global_id(1), row_panels = (m + 5) / 6, column_panels = (n + 15) / 16;
  const long column = item / row_panels, row = item - column * row_panels;
  if (column >= column_panels) return;
  long a_matrix, b_matrix, from[6];
  find_matrices(&batch, result, &a_matrix, &b_matrix);
  for (int r = 0; r < 6; ++r) from[r] = a_matrix * m * depth + min(row * 6 + r, m - 1) * a_line;  // rows beyond repeat the last one
  const int rows = (int)min(6l, m - row * 6), columns = (int)min(16l, n - column * 16), add = 0;
  long at = b_matrix * depth * n + column * 16;
  TILE
  if (columns == 16) {
    for (long k = 0; k < depth; ++k, at += b_line) {
      const P8 b0 = AS_P8(T_load8(b, at)), b1 = AS_P8(T_load8(b, at + 8));
      STEP_TILE(LINE)
    }
  } else {
    const int first = min(columns, 8), second = columns - first;
    for (long k = 0; k < depth; ++k, at += b_line) {
      const P8 b0 = AS_P8(T_part(b, at, 1, first, 0)), b1 = AS_P8(T_part(b, at + 8, 1, second, 0));
      STEP_TILE(LINE)
    }
  }
  const long to = (result * m + row * 6) * n + column * 16;
  PUT_TILE
}
)";

}  // namespace

DirectGemm::DirectGemm(Context& context, DType dtype, Epilogue epilogue)
    : context_(&context),
      epilogue_(std::move(epilogue)),
      kernel_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), kTileText, kBatchText, kDirect), "direct")) {}

void DirectGemm::multiply(const Matrix& a, const Matrix& b, void* c, const std::array<std::int64_t, 3>& mnk, const Batch& batch,
                          const KernelArgs& args) const {
  Launch launch(*context_, kernel_);
  launch.buffer(a.buffer).value(a.row_stride).value(a.column_stride).buffer(b.buffer).value(b.row_stride).buffer(c);
  for (std::int64_t size : mnk) launch.value(size);
  launch.value(batch.words);
  epilogue_.add(launch, args, true);
  launch.run(blocks(mnk[0], kTileRows) * blocks(mnk[1], kTileColumns), batch.count);
}

}  // namespace tandem::opencl
