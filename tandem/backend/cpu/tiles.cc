// The portable interpreter: loops and folds run tile by tile, one instruction at a time.
#include <algorithm>
#include <cstring>

#include "tandem/backend/cpu/loop.h"
#include "tandem/backend/cpu/tile_plan.h"
#include "tandem/base/error.h"

namespace tandem::cpu {

namespace {

// Two plans' worth: a fold keeps its map's values while it combines.
alignas(kTileAlign) thread_local unsigned char scratch[2 * kPlanScratch];

const void* advance(const void* from, std::int64_t bytes) { return static_cast<const unsigned char*>(from) + bytes; }
void* advance(void* from, std::int64_t bytes) { return static_cast<unsigned char*>(from) + bytes; }

class TileLoop : public Loop {
 public:
  TileLoop(const expr::Program& program, ScalarInputs scalars)
      : plan_(make_tile_plan(program, scalars)),
        scalars_(scalars) {}

  void run(const LoopArgs& args) const override {
    for (std::int64_t row = 0; row < args.rows; ++row) run_row(args, row);
  }

 private:
  void run_row(const LoopArgs& args, std::int64_t row) const {
    const std::size_t inputs = plan_.input_widths.size(), outputs = plan_.output_widths.size();
    const void* in[kMaxLoopOperands];
    void* out[kMaxLoopOperands];
    for (std::size_t i = 0; i < inputs; ++i) in[i] = advance(args.inputs[i], row * args.input_row_strides[i]);
    for (std::size_t k = 0; k < outputs; ++k) out[k] = advance(args.outputs[k], row * args.output_row_strides[k]);
    if (args.length == 0) return;
    plan_.begin_row(scratch, in);
    std::uint64_t index = args.index + static_cast<std::uint64_t>(row) * args.index_stride;
    for (std::int64_t done = 0; done < args.length; done += plan_.tile, index += plan_.tile) {
      const auto count = std::min<std::int64_t>(plan_.tile, args.length - done);
      plan_.run_tile(scratch, in, out, count, index);
      for (std::size_t i = 0; i < inputs; ++i)
        if (!(scalars_ >> i & 1)) in[i] = advance(in[i], count * plan_.input_widths[i]);
      for (std::size_t k = 0; k < outputs; ++k) out[k] = advance(out[k], count * plan_.output_widths[k]);
    }
  }

  TilePlan plan_;
  ScalarInputs scalars_;
};

class TileFold : public Fold {
 public:
  explicit TileFold(const FoldProgram& program)
      : map_(make_tile_plan(program.map, program.scalars)),
        combine_(make_tile_plan(program.combine, 0)),
        identity_(program.identity),
        scalars_(program.scalars),
        width_(map_.output_widths.at(0)) {
    const DType lane = program.map.outputs.at(0).dtype;
    TANDEM_CHECK(program.combine.inputs == std::vector<DType>(2, lane) && program.combine.outputs.size() == 1 &&
                     program.combine.outputs[0].dtype == lane,
                 "a fold combines two values of the dtype that its map gives");
  }

  void run(const FoldArgs& args) const override {
    TANDEM_CHECK(args.length <= kFoldTile, "a row of ", args.length, " elements is longer than a fold's tile");
    for (std::int64_t row = 0; row < args.rows; ++row)
      std::memcpy(advance(args.output, row * width_), fold_row(args, row).bytes, width_);
  }

 private:
  struct alignas(kTileAlign) Lanes {
    unsigned char bytes[kFoldLanes * 8];
  };

  Lanes fold_row(const FoldArgs& args, std::int64_t row) const {
    alignas(kTileAlign) unsigned char mapped[kLargestTile * 8];
    Lanes lanes;
    for (int j = 0; j < kFoldLanes; ++j) std::memcpy(lanes.bytes + j * width_, &identity_, width_);
    const void* in[kMaxLoopOperands];
    for (std::size_t i = 0; i < map_.input_widths.size(); ++i)
      in[i] = advance(args.inputs[i], row * args.input_row_strides[i]);
    map_.begin_row(scratch, in);
    combine_.begin_row(scratch + kPlanScratch, nullptr);
    for (std::int64_t done = 0; done < args.length; done += kLargestTile) {
      const auto count = std::min<std::int64_t>(kLargestTile, args.length - done);
      map_part(in, mapped, count);
      for (std::int64_t i = 0; i < count; i += kFoldLanes)
        combine(lanes.bytes, mapped + i * width_, std::min<std::int64_t>(kFoldLanes, count - i));
    }
    for (int half = kFoldLanes / 2; half > 0; half /= 2) combine(lanes.bytes, lanes.bytes + half * width_, half);
    return lanes;
  }

  /// Maps the next `count` elements and moves `in` beyond them.
  void map_part(const void** in, unsigned char* mapped, std::int64_t count) const {
    for (std::int64_t done = 0; done < count; done += map_.tile) {
      const auto part = std::min<std::int64_t>(map_.tile, count - done);
      void* out[] = {mapped + done * width_};
      map_.run_tile(scratch, in, out, part, 0);
      for (std::size_t i = 0; i < map_.input_widths.size(); ++i)
        if (!(scalars_ >> i & 1)) in[i] = advance(in[i], part * map_.input_widths[i]);
    }
  }

  void combine(unsigned char* lanes, const unsigned char* with, std::int64_t count) const {
    for (std::int64_t done = 0; done < count; done += combine_.tile) {
      const void* in[] = {lanes + done * width_, with + done * width_};
      void* out[] = {lanes + done * width_};
      combine_.run_tile(scratch + kPlanScratch, in, out, std::min<std::int64_t>(combine_.tile, count - done), 0);
    }
  }

  TilePlan map_, combine_;
  std::uint64_t identity_;
  ScalarInputs scalars_;
  std::int64_t width_;
};

void check_operands(const expr::Program& program) {
  TANDEM_CHECK(program.inputs.size() + program.outputs.size() <= kMaxLoopOperands, "a loop of ", program.inputs.size(),
               " inputs and ", program.outputs.size(), " outputs");
}

}  // namespace

std::shared_ptr<const Loop> tile_loop(const expr::Program& program, ScalarInputs scalars) {
  check_operands(program);
  return std::make_shared<TileLoop>(program, scalars);
}

std::shared_ptr<const Fold> tile_fold(const FoldProgram& program) {
  check_operands(program.map);
  return std::make_shared<TileFold>(program);
}

}  // namespace tandem::cpu
