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
#include "tandem/kernel/row_kernel.h"

namespace tandem::cpu {
namespace {

constexpr double kSliceWork = 64 * 1024;  // simple operations that pay for waking another thread
constexpr std::int64_t kRowTile = 512;  // rows combined into one partial row
constexpr std::int64_t kColumnTile = 2048;  // columns whose running result stays in the first-level cache
constexpr std::int64_t kRowsTogether = 8;  // rows combined between a load and a store of the running result

/// The value of an element, in the lanes that are folded.
expr::Expr mapped_value(const ReductionJob& job, expr::Graph& graph, std::vector<expr::Expr> in) {
  const expr::Expr result = job.region ? job.region->build(graph, std::move(in), job.inputs)[0] : in[0];
  return convert(result, expr::lane_of(fold_lane(job.kind, job.mapped)));
}

/// The loops and folds a reduction needs.
struct Parts {
  std::uint64_t identity = 0;
  std::shared_ptr<const Fold> fold;  // where the last axis is reduced: elements to a lane value
  std::shared_ptr<const Fold> fold_lanes;  // lane values to one
  std::shared_ptr<const Loop> combine;  // where it is kept: running row, rows of elements -> running row
  std::shared_ptr<const Loop>
      combine_several;  // the same for kRowsTogether rows, one after another; null where one input is not all
  std::shared_ptr<const Loop> combine_lanes;  // running row, partial row -> running row
  std::shared_ptr<const Loop> finish;  // lane values, divisor -> output; null when nothing is to be done
};

/// (running value, operands…) -> running value.
expr::Program combining_program(const ReductionJob& job) {
  const DType lane = fold_lane(job.kind, job.mapped);
  std::vector<DType> inputs{lane};
  inputs.insert(inputs.end(), job.inputs.begin(), job.inputs.end());
  return program(inputs, lane, [&](const std::vector<expr::Expr>& in) {
    return fold_combine(job.kind, in[0], mapped_value(job, in[0].graph(), {in.begin() + 1, in.end()}));
  });
}

/// (running value, an element of each of kRowsTogether rows) -> running value: the same steps in the same order.
expr::Program combining_program_of_several(const ReductionJob& job) {
  const DType lane = fold_lane(job.kind, job.mapped);
  std::vector<DType> inputs(1 + kRowsTogether, job.inputs[0]);
  inputs[0] = lane;
  return program(inputs, lane, [&](const std::vector<expr::Expr>& in) {
    expr::Expr running = in[0];
    for (std::size_t row = 1; row < in.size(); ++row)
      running = fold_combine(job.kind, running, mapped_value(job, running.graph(), {in[row]}));
    return running;
  });
}

FoldProgram fold_program(const ReductionJob& job, ScalarInputs scalars) {
  FoldProgram fold = fold_of(job.kind, job.mapped);
  fold.scalars = scalars;
  if (job.region)
    fold.map = program(job.inputs, fold_lane(job.kind, job.mapped),
                       [&](const std::vector<expr::Expr>& in) { return mapped_value(job, in[0].graph(), in); });
  return fold;
}

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const ReductionJob job(call);
  const ReductionLayout layout(job.domain, job.axes, call.inputs);
  const DType lane = fold_lane(job.kind, job.mapped), output = call.outputs[0].dtype();
  const bool is_mean = job.kind == FoldKind::mean;
  Parts parts;
  const FoldProgram fold = fold_program(job, layout.scalars), lanes = fold_of(job.kind, lane);
  parts.identity = fold.identity;
  if (layout.last_reduced) {
    parts.fold = source.fold(fold);
    parts.fold_lanes = source.fold(lanes);
  } else {
    parts.combine = source.loop(combining_program(job), layout.scalars << 1);
    if (!job.region && layout.scalars == 0 && layout.combos >= kRowsTogether)
      parts.combine_several = source.loop(combining_program_of_several(job), 0);
    parts.combine_lanes = source.loop(lanes.combine, 0);
  }
  if (!is_mean && output == lane) return parts;
  const auto finish = program({lane, lane}, output, [&](auto& in) { return is_mean ? in[0] / in[1] : in[0]; });
  // Division of 64-bit integers has no vector form: the interpreter does it, on what little a reduction leaves.
  parts.finish =
      is_mean && expr::lane_of(lane) == expr::Lane::i64 ? tile_loop(finish, 0b10) : source.loop(finish, 0b10);
  return parts;
}

class Reduction final : public PreparedKernel, public RowKernel {
 public:
  Reduction(const KernelCall& call, Parts parts) : Reduction(call, ReductionJob(call), std::move(parts)) {}

  void run(const KernelArgs& args) const override {
    if (results_ > 0) run_some(args, {0, layout_.groups, 0, width_});
  }

  std::int64_t rows() const override { return first_axis_; }
  bool reads_by_row(std::size_t input) const override { return follows_first_ >> input & 1; }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange>) const override {
    return empty_ ? nullptr : cut_anywhere(*this);
  }
  void run_rows(const KernelArgs& args, RowRange rows) const {
    if (rows.begin == rows.end) return;
    // The first axis of the result is among the kept ones before the last, unless that is the only one.
    const bool by_group = !layout_.kept.empty();
    const std::int64_t each = (by_group ? layout_.groups : width_) / first_axis_;
    run_some(args, by_group ? Results{rows.begin * each, rows.end * each, 0, width_}
                            : Results{0, 1, rows.begin * each, rows.end * each});
  }

 private:
  /// Some of the results: of each of some groups, some columns (one, where the last axis is reduced).
  struct Results {
    std::int64_t group, last_group, column, last_column;
    std::int64_t groups() const { return last_group - group; }
    std::int64_t columns() const { return last_column - column; }
    std::int64_t count() const { return groups() * columns(); }
  };

  Reduction(const KernelCall& call, const ReductionJob& job, Parts parts)
      : parts_(std::move(parts)),
        layout_(job.domain, job.axes, call.inputs),
        inputs_(call.inputs.size()),
        lane_(fold_lane(job.kind, job.mapped)),
        lane_bytes_(static_cast<std::int64_t>(dtype_size(lane_))),
        output_bytes_(static_cast<std::int64_t>(dtype_size(call.outputs[0].dtype()))),
        results_(call.outputs[0].shape().elements()),
        count_(results_ ? job.domain.elements() / results_ : 0),
        slice_elements_(std::max<std::int64_t>(
            kFoldTile, static_cast<std::int64_t>(kSliceWork / std::max(1.0, call.op.flops_per_element / 2)))),
        width_(layout_.last_reduced ? 1 : layout_.last.size / layout_.rows_at_once),
        empty_(job.domain.elements() == 0) {
    if (call.outputs[0].shape().rank() > 0 && call.outputs[0].shape()[0] > 0) first_axis_ = call.outputs[0].shape()[0];
    if (job.domain.rank() == 0 || job.axes.contains(0)) return;
    for (std::size_t i = 0; i < inputs_; ++i)
      if (const Shape& shape = call.inputs[i].shape(); shape.rank() == job.domain.rank() && shape[0] == job.domain[0])
        follows_first_ |= 1u << i;
  }

  void run_some(const KernelArgs& args, const Results& results) const {
    const std::int64_t first = results.group * width_ + results.column, element = output_bytes_;
    char* output = static_cast<char*>(args.outputs[0]) + first * element;
    char* lanes =
        parts_.finish
            ? static_cast<char*>(scratch(ScratchUse::rows, static_cast<std::size_t>(results.count() * lane_bytes_)))
            : output;
    if (empty_) fill_identity(lanes, results.count());
    else if (layout_.last_reduced) fold_rows(args, results, lanes);
    else combine_rows(args, results, lanes);
    if (parts_.finish) finish(lanes, results.count(), output);
  }

  void fill_identity(char* lanes, std::int64_t count) const {
    if (lane_bytes_ == 4)
      std::fill_n(reinterpret_cast<std::uint32_t*>(lanes), count, static_cast<std::uint32_t>(parts_.identity));
    else std::fill_n(reinterpret_cast<std::uint64_t*>(lanes), count, parts_.identity);
  }

  /// The addresses of operands at `offsets`.
  void set_inputs(const KernelArgs& args, const ByteOffsets& offsets, const void** inputs) const {
    for (std::size_t i = 0; i < inputs_; ++i) inputs[i] = static_cast<const char*>(args.inputs[i]) + offsets[i];
  }

  // --- The last axis is reduced: fold tiles of rows, then the partial values of each result. ---

  void fold_rows(const KernelArgs& args, const Results& results, char* lanes) const {
    const std::int64_t tiles = (layout_.last.size + kFoldTile - 1) / kFoldTile;
    const std::int64_t partials = layout_.combos * tiles;  // of each result
    char* out = partials == 1
                    ? lanes
                    : static_cast<char*>(scratch(ScratchUse::partials,
                                                 static_cast<std::size_t>(results.groups() * partials * lane_bytes_)));
    const std::int64_t per_slice =
        std::max<std::int64_t>(1, slice_elements_ / (tiles == 1 ? layout_.last.size : kFoldTile));
    const std::int64_t units = results.groups() * partials,
                       before = results.group * partials;  // a unit is one tile of one row
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end;)
        unit += fold_units(args, out + unit * lane_bytes_, before + unit, before + end, tiles);
    });
    if (partials > 1) fold_partials(out, lanes, results.groups(), partials);
  }

  /// Folds as many units from `unit` on as one call can take; returns how many.
  std::int64_t fold_units(const KernelArgs& args, char* out, std::int64_t unit, std::int64_t end,
                          std::int64_t tiles) const {
    const std::int64_t row = unit / tiles, tile = unit % tiles;
    ByteOffsets offsets{};
    layout_.add_offsets(layout_.kept, row / layout_.combos, offsets);
    layout_.add_offsets(layout_.reduced, row % layout_.combos, offsets);
    FoldArgs a;
    a.output = out;
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
  void fold_partials(char* partials, char* lanes, std::int64_t results, std::int64_t count) const {
    for (std::int64_t result = 0; result < results; ++result) {
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

  void combine_rows(const KernelArgs& args, const Results& results, char* lanes) const {
    const std::int64_t width = results.columns() * layout_.rows_at_once;
    const std::int64_t row_tiles = (layout_.combos + kRowTile - 1) / kRowTile,
                       column_tiles = (width + kColumnTile - 1) / kColumnTile;
    const std::int64_t partial_bytes = width * lane_bytes_;
    const std::int64_t partial_rows = row_tiles * layout_.rows_at_once;  // of the result's width, for each of its rows
    char* out =
        partial_rows == 1
            ? lanes
            : static_cast<char*>(scratch(ScratchUse::partials,
                                         static_cast<std::size_t>(results.groups() * row_tiles * partial_bytes)));
    const std::int64_t units = results.groups() * row_tiles * column_tiles;
    const std::int64_t unit_elements = std::min(layout_.combos, kRowTile) * std::min(width, kColumnTile);
    const std::int64_t per_slice = std::max<std::int64_t>(1, slice_elements_ / unit_elements);
    parallel((units + per_slice - 1) / per_slice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * per_slice, end = std::min(units, begin + per_slice);
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t column = unit % column_tiles * kColumnTile, rest = unit / column_tiles;
        const std::int64_t first = rest % row_tiles * kRowTile;
        ByteOffsets offsets{};
        layout_.add_offsets(layout_.kept, results.group + rest / row_tiles, offsets);
        for (std::size_t i = 0; i < inputs_; ++i) offsets[i] += (results.column + column) * layout_.last.strides[i];
        combine_unit(args, offsets, out + rest * partial_bytes + column * lane_bytes_,
                     {first, std::min(layout_.combos, first + kRowTile)}, std::min(kColumnTile, width - column));
      }
    });
    if (partial_rows > 1)
      combine_partials(out, lanes, results.groups(), partial_rows, partial_bytes / layout_.rows_at_once);
  }

  struct Rows {
    std::int64_t begin, end;
  };
  void combine_unit(const KernelArgs& args, const ByteOffsets& from, char* running, Rows rows,
                    std::int64_t width) const {
    fill_identity(running, width);
    LoopArgs a;
    a.inputs[0] = a.outputs[0] = running;
    a.input_row_strides[0] = a.output_row_strides[0] = 0;
    a.length = width;
    a.rows = 1;
    // Rows along one axis lie at a constant distance.
    const ReductionAxis* axis = layout_.reduced.empty() ? nullptr : &layout_.reduced.back();
    for (std::int64_t row = rows.begin; row < rows.end; row += a.rows) {
      ByteOffsets offsets = from;
      layout_.add_offsets(layout_.reduced, row, offsets);
      set_inputs(args, offsets, a.inputs + 1);
      if (axis) a.rows = std::min(rows.end - row, axis->size - row % axis->size);
      if (parts_.combine_several && a.rows >= kRowsTogether) {
        a.rows = combine_several(a, axis->strides[0]);
      } else {
        for (std::size_t i = 0; i < inputs_; ++i) a.input_row_strides[1 + i] = axis ? axis->strides[i] : 0;
        parts_.combine->run(a);
      }
    }
  }

  /// As many of the a.rows rows, `stride` bytes apart, as are a multiple of kRowsTogether; returns how many.
  std::int64_t combine_several(LoopArgs a, std::int64_t stride) const {
    const char* first = static_cast<const char*>(a.inputs[1]);
    for (std::int64_t i = 0; i < kRowsTogether; ++i) {
      a.inputs[1 + i] = first + i * stride;
      a.input_row_strides[1 + i] = kRowsTogether * stride;
    }
    a.rows /= kRowsTogether;
    parts_.combine_several->run(a);
    return a.rows * kRowsTogether;
  }

  void combine_partials(const char* partials, char* lanes, std::int64_t groups, std::int64_t count,
                        std::int64_t bytes) const {
    for (std::int64_t group = 0; group < groups; ++group) {
      const char* mine = partials + group * count * bytes;
      char* running = lanes + group * bytes;
      std::memcpy(running, mine, static_cast<std::size_t>(bytes));
      LoopArgs a;
      a.inputs[0] = a.outputs[0] = running;
      a.input_row_strides[0] = a.output_row_strides[0] = 0;
      a.inputs[1] = mine + bytes;
      a.input_row_strides[1] = bytes;
      a.length = bytes / lane_bytes_;
      a.rows = count - 1;
      parts_.combine_lanes->run(a);
    }
  }

  void finish(const char* lanes, std::int64_t results, void* output) const {
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
    a.length = results;
    parts_.finish->run(a);
  }

  Parts parts_;
  ReductionLayout layout_;
  std::size_t inputs_;
  DType lane_;
  std::int64_t lane_bytes_, output_bytes_;
  std::int64_t results_, count_;
  std::int64_t slice_elements_;
  std::int64_t width_;  // results of a group
  std::int64_t first_axis_ = 1;  // of the result
  std::uint32_t follows_first_ = 0;  // inputs whose first axis is that of the result: a bit each
  bool empty_;
};

}  // namespace

KernelList reduction_kernels() { return TwoForms<make_parts, Reduction>::kernels(); }

}  // namespace tandem::cpu
