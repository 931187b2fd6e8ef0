// Sums, means, products, largest and smallest values over axes, of a tensor or of what a fused region makes of several.
// Rows of elements are folded where the last axis is reduced; else whole rows are combined into one. Tiles and their
// order depend on the shape only, so any number of threads gives the same bits.
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/backend/cpu/reduction_layout.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/base/cores.h"
#include "tandem/kernel/reduction_job.h"

namespace tandem::cpu {
namespace {

constexpr double kSliceWork = 64 * 1024;    // simple operations that pay for waking another thread
constexpr std::int64_t kRowTile = 512;      // rows combined into one partial row
constexpr std::int64_t kColumnTile = 2048;  // columns whose running result stays in the first-level cache

/// The value of an element, in the lanes that are folded.
expr::Expr mapped_value(const ReductionJob& job, expr::Graph& graph, std::vector<expr::Expr> in) {
  const expr::Expr result = job.region ? job.region->build(graph, std::move(in), job.inputs)[0] : in[0];
  return convert(result, expr::lane_of(lane_dtype(job.mapped)));
}

/// The loops and folds a reduction needs.
struct Parts {
  std::uint64_t identity = 0;
  std::shared_ptr<const Fold> fold;           // where the last axis is reduced: elements to a lane value
  std::shared_ptr<const Fold> fold_lanes;     // lane values to one
  std::shared_ptr<const Loop> combine;        // where it is kept: running row, rows of elements -> running row
  std::shared_ptr<const Loop> combine_lanes;  // running row, partial row -> running row
  std::shared_ptr<const Loop> finish;         // lane values, divisor -> output; null when nothing is to be done
};

/// (running value, operands…) -> running value.
expr::Program combining_program(const ReductionJob& job) {
  const DType lane = lane_dtype(job.mapped);
  std::vector<DType> inputs{lane};
  inputs.insert(inputs.end(), job.inputs.begin(), job.inputs.end());
  return program(inputs, lane, [&](const std::vector<expr::Expr>& in) {
    return fold_combine(job.kind, in[0], mapped_value(job, in[0].graph(), {in.begin() + 1, in.end()}));
  });
}

FoldProgram fold_program(const ReductionJob& job, ScalarInputs scalars) {
  FoldProgram fold = fold_of(job.kind, job.mapped);
  fold.scalars = scalars;
  if (job.region)
    fold.map = program(job.inputs, lane_dtype(job.mapped), [&](const std::vector<expr::Expr>& in) { return mapped_value(job, in[0].graph(), in); });
  return fold;
}

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const ReductionJob job(call);
  const ReductionLayout layout(job.domain, job.axes, call.inputs);
  const DType lane = lane_dtype(job.mapped), output = call.outputs[0].dtype();
  const bool is_mean = job.kind == FoldKind::mean;
  Parts parts;
  const FoldProgram fold = fold_program(job, layout.scalars), lanes = fold_of(job.kind, lane);
  parts.identity = fold.identity;
  if (layout.last_reduced) {
    parts.fold = source.fold(fold);
    parts.fold_lanes = source.fold(lanes);
  } else {
    parts.combine = source.loop(combining_program(job), layout.scalars << 1);
    parts.combine_lanes = source.loop(lanes.combine, 0);
  }
  if (!is_mean && output == lane) return parts;
  const auto finish = program({lane, lane}, output, [&](auto& in) { return is_mean ? in[0] / in[1] : in[0]; });
  // Division of 64-bit integers has no vector form: the interpreter does it, on what little a reduction leaves.
  parts.finish = is_mean && expr::lane_of(lane) == expr::Lane::i64 ? tile_loop(finish, 0b10) : source.loop(finish, 0b10);
  return parts;
}

class Reduction final : public PreparedKernel {
 public:
  Reduction(const KernelCall& call, Parts parts) : Reduction(call, ReductionJob(call), std::move(parts)) {}

  void run(const KernelArgs& args) const override {
    if (results_ == 0) return;
    char* lanes = static_cast<char*>(args.outputs[0]);
    if (parts_.finish) lanes = static_cast<char*>(scratch(ScratchUse::rows, static_cast<std::size_t>(results_ * lane_bytes_)));
    if (empty_) fill_identity(lanes, results_);
    else if (layout_.last_reduced) fold_rows(args, lanes);
    else combine_rows(args, lanes);
    if (parts_.finish) finish(lanes, args.outputs[0]);
  }

 private:
  Reduction(const KernelCall& call, const ReductionJob& job, Parts parts)
      : parts_(std::move(parts)),
        layout_(job.domain, job.axes, call.inputs),
        inputs_(call.inputs.size()),
        lane_(lane_dtype(job.mapped)),
        lane_bytes_(static_cast<std::int64_t>(dtype_size(lane_))),
        results_(call.outputs[0].shape().elements()),
        count_(results_ ? job.domain.elements() / results_ : 0),
        slice_elements_(std::max<std::int64_t>(kFoldTile, static_cast<std::int64_t>(kSliceWork / std::max(1.0, call.op.flops_per_element / 2)))),
        empty_(job.domain.elements() == 0) {}

  void fill_identity(char* lanes, std::int64_t count) const {
    if (lane_bytes_ == 4) std::fill_n(reinterpret_cast<std::uint32_t*>(lanes), count, static_cast<std::uint32_t>(parts_.identity));
    else std::fill_n(reinterpret_cast<std::uint64_t*>(lanes), count, parts_.identity);
  }

  /// The addresses of operands at `offsets`.
  void set_inputs(const KernelArgs& args, const ByteOffsets& offsets, const void** inputs) const {
    for (std::size_t i = 0; i < inputs_; ++i) inputs[i] = static_cast<const char*>(args.inputs[i]) + offsets[i];
  }

  // --- The last axis is reduced: fold tiles of rows, then the partial values of each result. ---

  void fold_rows(const KernelArgs& args, char* lanes) const {
    const std::int64_t tiles = (layout_.last.size + kFoldTile - 1) / kFoldTile;
    const std::int64_t partials = layout_.combos * tiles;  // of each result
    char* out = partials == 1 ? lanes
                              : static_cast<char*>(scratch(ScratchUse::partials,
                                                           static_cast<std::size_t>(layout_.groups * partials * lane_bytes_)));
    const std::int64_t rows = layout_.groups * layout_.combos;
    const std::int64_t per_slice = std::max<std::int64_t>(1, slice_elements_ / (tiles == 1 ? layout_.last.size : kFoldTile));
    const std::int64_t units = rows * tiles;  // a unit is one tile of one row
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end;) unit += fold_units(args, out, unit, end, tiles);
    });
    if (partials > 1) fold_partials(out, lanes, partials);
  }

  /// Folds as many units from `unit` on as one call can take; returns how many.
  std::int64_t fold_units(const KernelArgs& args, char* out, std::int64_t unit, std::int64_t end, std::int64_t tiles) const {
    const std::int64_t row = unit / tiles, tile = unit % tiles;
    ByteOffsets offsets{};
    layout_.add_offsets(layout_.kept, row / layout_.combos, offsets);
    layout_.add_offsets(layout_.reduced, row % layout_.combos, offsets);
    FoldArgs a;
    a.output = out + unit * lane_bytes_;
    if (tiles == 1) {
      a.length = layout_.last.size;
      a.rows = 1;
      // Rows along one axis lie at a constant distance.
      if (const auto& axes = layout_.combos == 1 ? layout_.kept : layout_.reduced; !axes.empty()) {
        a.rows = std::min(end - unit, axes.back().size - row % axes.back().size);
        for (std::size_t i = 0; i < inputs_; ++i) a.input_row_strides[i] = axes.back().strides[i];
      }
    } else {
      const std::int64_t left = layout_.last.size - tile * kFoldTile;
      a.length = std::min(kFoldTile, left);
      a.rows = std::max<std::int64_t>(1, std::min(end - unit, left / kFoldTile));
      for (std::size_t i = 0; i < inputs_; ++i) {
        a.input_row_strides[i] = kFoldTile * layout_.last.strides[i];
        offsets[i] += tile * a.input_row_strides[i];
      }
    }
    set_inputs(args, offsets, a.inputs);
    parts_.fold->run(a);
    return a.rows;
  }

  /// Folds each result's partial values, a tile of them at a time, in place until one is left.
  void fold_partials(char* partials, char* lanes, std::int64_t count) const {
    for (std::int64_t result = 0; result < layout_.groups; ++result) {
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

  void combine_rows(const KernelArgs& args, char* lanes) const {
    const std::int64_t width = layout_.last.size;
    const std::int64_t row_tiles = (layout_.combos + kRowTile - 1) / kRowTile, column_tiles = (width + kColumnTile - 1) / kColumnTile;
    const std::int64_t partial_bytes = width * lane_bytes_;
    char* out = row_tiles == 1 ? lanes
                               : static_cast<char*>(scratch(ScratchUse::partials,
                                                            static_cast<std::size_t>(layout_.groups * row_tiles * partial_bytes)));
    const std::int64_t units = layout_.groups * row_tiles * column_tiles;
    const std::int64_t unit_elements = std::min(layout_.combos, kRowTile) * std::min(width, kColumnTile);
    const std::int64_t per_slice = std::max<std::int64_t>(1, slice_elements_ / unit_elements);
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t column = unit % column_tiles * kColumnTile, rest = unit / column_tiles;
        const std::int64_t first = rest % row_tiles * kRowTile;
        ByteOffsets offsets{};
        layout_.add_offsets(layout_.kept, rest / row_tiles, offsets);
        for (std::size_t i = 0; i < inputs_; ++i) offsets[i] += column * layout_.last.strides[i];
        combine_unit(args, offsets, out + rest * partial_bytes + column * lane_bytes_, {first, std::min(layout_.combos, first + kRowTile)},
                     std::min(kColumnTile, width - column));
      }
    });
    if (row_tiles > 1) combine_partials(out, lanes, row_tiles, partial_bytes);
  }

  struct Rows {
    std::int64_t begin, end;
  };
  void combine_unit(const KernelArgs& args, const ByteOffsets& from, char* running, Rows rows, std::int64_t width) const {
    fill_identity(running, width);
    LoopArgs a;
    a.inputs[0] = a.outputs[0] = running;
    a.input_row_strides[0] = a.output_row_strides[0] = 0;
    a.length = width;
    a.rows = 1;
    // Rows along one axis lie at a constant distance.
    const ReductionAxis* axis = layout_.reduced.empty() ? nullptr : &layout_.reduced.back();
    for (std::size_t i = 0; i < inputs_; ++i) a.input_row_strides[1 + i] = axis ? axis->strides[i] : 0;
    for (std::int64_t row = rows.begin; row < rows.end; row += a.rows) {
      ByteOffsets offsets = from;
      layout_.add_offsets(layout_.reduced, row, offsets);
      set_inputs(args, offsets, a.inputs + 1);
      if (axis) a.rows = std::min(rows.end - row, axis->size - row % axis->size);
      parts_.combine->run(a);
    }
  }

  void combine_partials(const char* partials, char* lanes, std::int64_t count, std::int64_t bytes) const {
    for (std::int64_t group = 0; group < layout_.groups; ++group) {
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
  ReductionLayout layout_;
  std::size_t inputs_;
  DType lane_;
  std::int64_t lane_bytes_;
  std::int64_t results_, count_;
  std::int64_t slice_elements_;
  bool empty_;
};

}  // namespace

KernelList reduction_kernels() { return TwoForms<make_parts, Reduction>::kernels(); }

}  // namespace tandem::cpu
