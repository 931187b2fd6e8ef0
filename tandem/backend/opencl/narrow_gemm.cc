#include "tandem/backend/opencl/narrow_gemm.h"

#include <algorithm>

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// Depth multiplied in one launch: so much of b stays in a core's own cache while the rows of a pass by.
constexpr std::int64_t kDepthBlock = 4096;

constexpr std::string_view kNarrow = R"(
#define IN_PLACE(r) (P)T_load(a, from[r] + k * a_step)
#define NEXT ++k, pb += 16

KERNEL narrow(__global const T_mem* a, const long a_line, const long a_step, __global const P* b, __global T_mem* c, const long m,
              const long n, const long depth, const long k_begin, const long k_end, const int add, const Batch batch EPILOGUE_PARAMETERS) {
  const long row = get_global_id(0), result = get_global_id(1), first = 0, panel = 0;
  if (row * 6 >= m) return;
  long a_matrix, b_matrix, from[6];
  find_matrices(&batch, result, &a_matrix, &b_matrix);
  for (int r = 0; r < 6; ++r) from[r] = a_matrix * m * depth + min(row * 6 + r, m - 1) * a_line;  // rows beyond repeat the last one
  __global const P* pb = b + (b_matrix * depth + k_begin) * 16;
  const int rows = (int)min(6l, m - row * 6), columns = (int)n;
  TILE
  TILE_LOOP(long k = k_begin, k < k_end, NEXT, PANEL_COLUMNS, IN_PLACE)
  const long to = (result * m + row * 6) * n;
  PUT_TILE
}
)";

}  // namespace

NarrowGemm::NarrowGemm(Context& context, DType dtype, Epilogue epilogue)
    : context_(&context),
      lane_(packed_bytes(dtype)),
      epilogue_(std::move(epilogue)),
      pack_b_(context.kernel(pack_b_source(dtype), "pack_b")),
      multiply_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), tile_text(tile_lanes(context, dtype)), kBatchText, kNarrow), "narrow")) {}

void NarrowGemm::multiply(const Matrix& a, const Matrix& b, std::int64_t b_count, void* c, const std::array<std::int64_t, 3>& mnk,
                          const Batch& batch, const KernelArgs& args) const {
  const auto [m, n, depth] = mnk;
  const Scratch packed(context_->pool(), static_cast<std::size_t>(b_count * packed_elements(n, depth, kPanelColumns)) * lane_);
  launch_pack_b(*context_, pack_b_, b, depth, n, packed.get(), b_count, depth * n);
  for (std::int64_t k = 0; k < depth; k += kDepthBlock) {
    Launch launch(*context_, multiply_);
    launch.buffer(a.buffer).value(a.row_stride).value(a.column_stride).buffer(packed.get()).buffer(c).value(m).value(n).value(depth).value(k)
        .value(std::min(depth, k + kDepthBlock)).value<cl_int>(k > 0).value(batch.words);
    epilogue_.add(launch, args, k + kDepthBlock >= depth);
    launch.run(blocks(m, kTileRows), batch.count);
  }
}

}  // namespace tandem::opencl
