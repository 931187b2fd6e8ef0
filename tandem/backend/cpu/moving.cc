// roll and mirror_pad: rows of the result in one pass, piece by piece.
#include <cstring>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/moved_pieces.h"

namespace tandem::cpu {
namespace {

/// Axes behind the last one that is moved form a unit; a row is that axis.
struct MovingPlan {
  Shape result;
  int axis = 0;                                        // the last one that is moved
  std::vector<std::vector<std::int64_t>> sources;      // of the axes before it: where each index comes from, in rows
  MovedPieces pieces;                                  // of that axis
  std::int64_t rows = 1, unit_bytes = 1;
  std::int64_t row_bytes = 1, source_row_bytes = 1;
};

bool is_whole(const MovedPieces& pieces, std::int64_t size) {
  return pieces.empty() || (pieces.size() == 1 && pieces[0].length == size && pieces[0].step == 1);
}

MovingPlan moving_plan(const KernelCall& call) {
  const Shape &in = call.shape(), &out = call.outputs[0].shape();
  const std::vector<MovedPieces> axes = moved_pieces(call);
  MovingPlan plan{.result = out};
  for (int i = 0; i < out.rank(); ++i)
    if (!is_whole(axes[static_cast<std::size_t>(i)], out[i])) plan.axis = i;
  if (out.rank() == 0) {
    plan.pieces = {{0, 0, 1, 1}};
    plan.unit_bytes = plan.row_bytes = plan.source_row_bytes = static_cast<std::int64_t>(dtype_size(call.dtype()));
    return plan;
  }
  const AroundAxis around = around_axis(out, plan.axis);
  plan.pieces = axes[static_cast<std::size_t>(plan.axis)];
  plan.rows = around.outer;
  plan.unit_bytes = around.inner * static_cast<std::int64_t>(dtype_size(call.dtype()));
  plan.row_bytes = around.size * plan.unit_bytes;
  plan.source_row_bytes = in[plan.axis] * plan.unit_bytes;
  plan.sources.resize(static_cast<std::size_t>(plan.axis));
  for (std::int64_t i = plan.axis - 1, rows = 1; i >= 0; rows *= in[static_cast<int>(i--)])
    for (const MovedPiece& piece : axes[static_cast<std::size_t>(i)])
      for (std::int64_t k = 0; k < piece.length; ++k)
        plan.sources[static_cast<std::size_t>(i)].push_back((piece.from + k * piece.step) * rows);
  return plan;
}

std::int64_t source_row(const MovingPlan& plan, std::int64_t row) {
  std::int64_t found = 0;
  for (int axis = plan.axis - 1; axis >= 0; row /= plan.result[axis--])
    found += plan.sources[static_cast<std::size_t>(axis)][static_cast<std::size_t>(row % plan.result[axis])];
  return found;
}

void move_row(const MovingPlan& plan, const char* from, char* to) {
  const std::int64_t unit = plan.unit_bytes;
  for (const MovedPiece& piece : plan.pieces) {
    char* out = to + piece.to * unit;
    const char* in = from + piece.from * unit;
    if (piece.step == 1) std::memcpy(out, in, static_cast<std::size_t>(piece.length * unit));
    else
      for (std::int64_t k = 0; k < piece.length; ++k)
        std::memcpy(out + k * unit, in + k * piece.step * unit, static_cast<std::size_t>(unit));
  }
}

Prepared prepare_moving(const KernelCall& call) {
  if (call.outputs[0].shape().elements() == 0) return prepared([](const KernelArgs&) {});
  return prepared([plan = moving_plan(call)](const KernelArgs& args) {
    parallel_ranges(plan.rows, plan.row_bytes, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        move_row(plan, args.input<char>() + source_row(plan, row) * plan.source_row_bytes,
                 args.output<char>() + row * plan.row_bytes);
    });
  });
}

}  // namespace

KernelList moving_kernels() { return {{.name = "pieces", .supports = movable, .prepare = prepare_moving}}; }

}  // namespace tandem::cpu
