#include "tandem/backend/opencl/direct_gemm.h"

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kDirect = R"(
#define LINE(r) (P)T_load(a, from[r] + k * a_step)
#define NEXT ++k, at += b_line
// Whole vectors are taken unless that is beyond the end: what a column that is not kept adds up does not matter.
#define IN_PLACE(j) (at + ((j) + 1) * TILE_LANES <= b_end ? TAKE(b, at + (j) * TILE_LANES) : TAKE_PART(b, at + (j) * TILE_LANES, columns - (j) * TILE_LANES))

// Rows run fastest over work-items: the columns of b stay in the cache while those of a pass by.
KERNEL direct(__global const T_mem* a, const long a_line, const long a_step, __global const T_mem* b, const long b_line,
              __global T_mem* c, const long m, const long n, const long depth, const Batch batch EPILOGUE_PARAMETERS) {
  const long item = get_global_id(0), result = get_global_id(1), row_panels = (m + 5) / 6;
  const long column = item / row_panels, row = item - column * row_panels, first = column * TILE_COLUMNS;
  if (first >= n) return;
  long a_matrix, b_matrix, from[6];
  find_matrices(&batch, result, &a_matrix, &b_matrix);
  for (int r = 0; r < 6; ++r) from[r] = a_matrix * m * depth + min(row * 6 + r, m - 1) * a_line;  // rows beyond repeat the last one
  const int rows = (int)min(6l, m - row * 6), columns = (int)min((long)TILE_COLUMNS, n - first), add = 0;
  const long b_end = b_matrix * depth * n + (depth - 1) * b_line + n;
  long at = b_matrix * depth * n + first;
  TILE
  TILE_LOOP(long k = 0, k < depth, NEXT, IN_PLACE, LINE)
  const long to = (result * m + row * 6) * n + first;
  PUT_TILE
}
)";

}  // namespace

DirectGemm::DirectGemm(Context& context, DType dtype, Epilogue epilogue)
    : context_(&context),
      lanes_(tile_lanes(context, dtype)),
      epilogue_(std::move(epilogue)),
      kernel_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), tile_text(lanes_), kBatchText, kDirect), "direct")) {}

void DirectGemm::multiply(const Matrix& a, const Matrix& b, void* c, const std::array<std::int64_t, 3>& mnk, const Batch& batch,
                          const KernelArgs& args) const {
  Launch launch(*context_, kernel_);
  launch.buffer(a.buffer).value(a.row_stride).value(a.column_stride).buffer(b.buffer).value(b.row_stride).buffer(c);
  for (std::int64_t size : mnk) launch.value(size);
  launch.value(batch.words);
  epilogue_.add(launch, args, true);
  launch.run(blocks(mnk[0], kTileRows) * blocks(mnk[1], 2 * lanes_), batch.count);
}

}  // namespace tandem::opencl
