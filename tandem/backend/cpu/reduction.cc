// Sums, means, products, largest and smallest values over axes. Rows of elements are folded where the last axis is reduced; else whole rows are
// combined into one. Tiles and their order depend on the shape only, so any number of threads gives the same bits.
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/base/cores.h"
#include "tandem/op/rules.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kSliceElements = 64 * 1024;
constexpr std::int64_t kRowTile = 512;      // rows combined into one partial row
constexpr std::int64_t kColumnTile = 2048;  // columns whose running result stays in the first-level cache

struct Axis {
  std::int64_t size;
  std::int64_t stride;  // elements
};

/// The element offset of position `index` of the axes, the last one fastest.
std::int64_t offset_of(const std::vector<Axis>& axes, std::int64_t index) {
  std::int64_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); index /= axis->size, ++axis) offset += index % axis->size * axis->stride;
  return offset;
}

std::int64_t product(const std::vector<Axis>& axes) {
  std::int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  return size;
}

/// The input's axes after neighbours of one kind are joined: kept and reduced ones, the last apart.
struct Layout {
  std::vector<Axis> kept, reduced;  // all but the last
  Axis last{1, 1};
  bool last_reduced = true;

  Layout(const Shape& shape, AxisSet axes) {
    std::vector<std::pair<Axis, bool>> joined;
    std::int64_t stride = shape.elements();
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      stride /= std::max<std::int64_t>(shape[i], 1);
      if (!joined.empty() && joined.back().second == axes.contains(i))
        joined.back().first = {joined.back().first.size * shape[i], stride};
      else joined.push_back({{shape[i], stride}, axes.contains(i)});
    }
    if (joined.empty()) return;
    last = joined.back().first;
    last_reduced = joined.back().second;
    joined.pop_back();
    for (const auto& [axis, is_reduced] : joined) (is_reduced ? reduced : kept).push_back(axis);
  }
};

/// The loops and folds a reduction needs.
struct Parts {
  FoldProgram program;
  std::shared_ptr<const Fold> fold;        // elements to a lane value
  std::shared_ptr<const Fold> fold_lanes;  // lane values to one
  std::shared_ptr<const Loop> combine;        // running row, row of elements -> running row
  std::shared_ptr<const Loop> combine_lanes;  // running row, partial row -> running row
  std::shared_ptr<const Loop> finish;         // lane values, divisor -> output; null when nothing is to be done
};

std::shared_ptr<const Loop> combining_loop(LoopSource& source, const FoldProgram& fold, DType element, FoldKind kind) {
  const DType lane = fold.combine.inputs[0];
  return source.loop(program({lane, element}, lane,
                             [&](auto& in) {
                               const expr::Expr a = in[0];
                               const expr::Expr b = convert(in[1], a.lane());
                               return fold_combine(kind, a, b);
                             }),
                     0);
}

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const DType dtype = call.dtype(), lane = lane_dtype(dtype);
  const FoldKind kind = fold_kind(call.op);
  const bool is_mean = kind == FoldKind::mean;
  Parts parts;
  parts.program = fold_of(kind, dtype);
  parts.fold = source.fold(parts.program);
  parts.fold_lanes = source.fold(fold_of(kind, lane));
  parts.combine = combining_loop(source, parts.program, dtype, kind);
  parts.combine_lanes = combining_loop(source, parts.program, lane, kind);
  if (!is_mean && dtype == lane) return parts;
  const auto finish = program({lane, lane}, dtype, [&](auto& in) { return is_mean ? in[0] / in[1] : in[0]; });
  // Integer division has no vector form: the interpreter does it, on what little a reduction leaves.
  parts.finish = is_mean && !is_floating(lane) ? tile_loop(finish, 0b10) : source.loop(finish, 0b10);
  return parts;
}

class Reduction final : public PreparedKernel {
 public:
  Reduction(const KernelCall& call, Parts parts)
      : parts_(std::move(parts)),
        layout_(call.shape(), reduced_axes(call.op.name, call.attr().ints("axis"), call.shape().rank())),
        dtype_(call.dtype()),
        lane_(lane_dtype(call.dtype())),
        element_(static_cast<std::int64_t>(dtype_size(dtype_))),
        lane_bytes_(static_cast<std::int64_t>(dtype_size(lane_))),
        results_(call.outputs[0].shape().elements()),
        count_(results_ ? call.shape().elements() / results_ : 0),
        empty_(call.shape().elements() == 0) {
    groups_ = product(layout_.kept);
    combos_ = product(layout_.reduced);
  }

  void run(const KernelArgs& args) const override {
    if (results_ == 0) return;
    char* lanes = static_cast<char*>(args.outputs[0]);
    if (parts_.finish) lanes = static_cast<char*>(scratch(ScratchUse::rows, static_cast<std::size_t>(results_ * lane_bytes_)));
    const char* input = static_cast<const char*>(args.inputs[0]);
    if (empty_) fill_identity(lanes, results_);
    else if (layout_.last_reduced) fold_rows(input, lanes);
    else combine_rows(input, lanes);
    if (parts_.finish) finish(lanes, args.outputs[0]);
  }

 private:
  void fill_identity(char* lanes, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(lanes + i * lane_bytes_, &parts_.program.identity, static_cast<std::size_t>(lane_bytes_));
  }

  // --- The last axis is reduced: fold tiles of rows, then the partial values of each result. ---

  void fold_rows(const char* input, char* lanes) const {
    const std::int64_t tiles = (layout_.last.size + kFoldTile - 1) / kFoldTile;
    const std::int64_t partials = combos_ * tiles;  // of each result
    char* out = partials == 1 ? lanes
                              : static_cast<char*>(scratch(ScratchUse::partials,
                                                           static_cast<std::size_t>(groups_ * partials * lane_bytes_)));
    const std::int64_t rows = groups_ * combos_;
    const std::int64_t per_slice = std::max<std::int64_t>(1, kSliceElements / (tiles == 1 ? layout_.last.size : kFoldTile));
    const std::int64_t units = rows * tiles;  // a unit is one tile of one row
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end;) unit += fold_units(input, out, unit, end, tiles);
    });
    if (partials > 1) fold_partials(out, lanes, partials);
  }

  /// Folds as many units from `unit` on as one call can take; returns how many.
  std::int64_t fold_units(const char* input, char* out, std::int64_t unit, std::int64_t end, std::int64_t tiles) const {
    const std::int64_t row = unit / tiles, tile = unit % tiles;
    FoldArgs a;
    a.output = out + unit * lane_bytes_;
    a.inputs[0] = input + (row_offset(row) + tile * kFoldTile) * element_;
    if (tiles == 1) {
      // Rows of one result each lie at a constant distance.
      a.length = layout_.last.size;
      a.rows = combos_ == 1 && layout_.kept.size() <= 1 ? end - unit : 1;
      a.input_row_strides[0] = (layout_.kept.empty() ? 0 : layout_.kept.back().stride) * element_;
    } else {
      const std::int64_t left = layout_.last.size - tile * kFoldTile;
      a.length = std::min(kFoldTile, left);
      a.rows = std::max<std::int64_t>(1, std::min(end - unit, left / kFoldTile));
      a.input_row_strides[0] = kFoldTile * element_;
    }
    parts_.fold->run(a);
    return a.rows;
  }

  std::int64_t row_offset(std::int64_t row) const {
    return offset_of(layout_.kept, row / combos_) + offset_of(layout_.reduced, row % combos_);
  }

  /// Folds each result's partial values, a tile of them at a time, in place until one is left.
  void fold_partials(char* partials, char* lanes, std::int64_t count) const {
    for (std::int64_t result = 0; result < groups_; ++result) {
      char* mine = partials + result * count * lane_bytes_;
      for (std::int64_t left = count; left > 1 || left == count;) {
        const std::int64_t tiles = (left + kFoldTile - 1) / kFoldTile;
        for (std::int64_t t = 0; t < tiles; ++t) {
          FoldArgs a;
          a.inputs[0] = mine + t * kFoldTile * lane_bytes_;
          a.input_row_strides[0] = 0;
          a.length = std::min(kFoldTile, left - t * kFoldTile);
          a.output = tiles == 1 ? lanes + result * lane_bytes_ : mine + t * lane_bytes_;
          parts_.fold_lanes->run(a);
        }
        if (tiles == 1) break;
        left = tiles;
      }
    }
  }

  // --- The last axis is kept: combine rows into one, a tile of rows at a time. ---

  void combine_rows(const char* input, char* lanes) const {
    const std::int64_t width = layout_.last.size;
    const std::int64_t row_tiles = (combos_ + kRowTile - 1) / kRowTile, column_tiles = (width + kColumnTile - 1) / kColumnTile;
    const std::int64_t partial_bytes = width * lane_bytes_;
    char* out = row_tiles == 1 ? lanes
                               : static_cast<char*>(scratch(ScratchUse::partials,
                                                            static_cast<std::size_t>(groups_ * row_tiles * partial_bytes)));
    const std::int64_t units = groups_ * row_tiles * column_tiles;
    const std::int64_t unit_elements = std::min(combos_, kRowTile) * std::min(width, kColumnTile);
    const std::int64_t per_slice = std::max<std::int64_t>(1, kSliceElements / unit_elements);
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t column = unit % column_tiles * kColumnTile, rest = unit / column_tiles;
        const std::int64_t first = rest % row_tiles * kRowTile;
        combine_unit(input + (offset_of(layout_.kept, rest / row_tiles) + column) * element_,
                     out + rest * partial_bytes + column * lane_bytes_, first, std::min(kRowTile, combos_ - first),
                     std::min(kColumnTile, width - column));
      }
    });
    if (row_tiles > 1) combine_partials(out, lanes, row_tiles, partial_bytes);
  }

  void combine_unit(const char* input, char* running, std::int64_t first, std::int64_t rows, std::int64_t width) const {
    fill_identity(running, width);
    LoopArgs a;
    a.inputs[0] = a.outputs[0] = running;
    a.input_row_strides[0] = a.output_row_strides[0] = 0;
    a.length = width;
    const bool even = layout_.reduced.size() <= 1;  // rows at a constant distance
    a.rows = even ? rows : 1;
    a.input_row_strides[1] = layout_.reduced.empty() ? 0 : layout_.reduced.back().stride * element_;
    for (std::int64_t row = first; row < first + rows; row += a.rows) {
      a.inputs[1] = input + offset_of(layout_.reduced, row) * element_;
      parts_.combine->run(a);
    }
  }

  void combine_partials(const char* partials, char* lanes, std::int64_t count, std::int64_t bytes) const {
    for (std::int64_t group = 0; group < groups_; ++group) {
      const char* mine = partials + group * count * bytes;
      char* running = lanes + group * bytes;
      std::memcpy(running, mine, static_cast<std::size_t>(bytes));
      LoopArgs a;
      a.inputs[0] = a.outputs[0] = running;
      a.input_row_strides[0] = a.output_row_strides[0] = 0;
      a.inputs[1] = mine + bytes;
      a.input_row_strides[1] = bytes;
      a.length = layout_.last.size;
      a.rows = count - 1;
      parts_.combine_lanes->run(a);
    }
  }

  void finish(const char* lanes, void* output) const {
    ScalarValue divisor{};
    switch (lane_) {
      case DType::f32: divisor.f32 = static_cast<float>(count_); break;
      case DType::f64: divisor.f64 = static_cast<double>(count_); break;
      case DType::i32: divisor.i32 = static_cast<std::int32_t>(count_); break;
      default: divisor.i64 = count_;
    }
    LoopArgs a;
    a.inputs[0] = lanes;
    a.inputs[1] = &divisor;
    a.outputs[0] = output;
    a.input_row_strides[0] = a.input_row_strides[1] = a.output_row_strides[0] = 0;
    a.length = results_;
    parts_.finish->run(a);
  }

  Parts parts_;
  Layout layout_;
  DType dtype_, lane_;
  std::int64_t element_, lane_bytes_;
  std::int64_t results_, count_;
  bool empty_;
  std::int64_t groups_ = 1, combos_ = 1;  // positions of the kept and of the reduced axes, the last apart
};

}  // namespace

KernelList reduction_kernels() { return TwoForms<make_parts, Reduction>::kernels(); }

}  // namespace tandem::cpu
