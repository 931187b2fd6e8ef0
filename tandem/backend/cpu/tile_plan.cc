#include "tandem/backend/cpu/tile_plan.h"

#include <cstring>

#include "tandem/base/error.h"
#include "tandem/expr/lane_ops.h"

namespace tandem::cpu {

namespace {

using expr::Lane;
using expr::Node;
using expr::Prim;

// The types a slot holds, as the kernel table numbers them. A mask is words of i32 or i64.
enum Type : int { kF32, kF64, kI32, kI64 };
int width_of(int type) { return type == kF64 || type == kI64 ? 8 : 4; }
int type_of(Lane lane) { return lane == Lane::mask ? kI32 : static_cast<int>(lane); }
int size_of(DType dtype) {
  return visit_dtype(dtype, []<class T>(TypeTag<T>) { return static_cast<int>(sizeof(T)); });
}

/// A value before it has a place.
struct Value {
  int type;
  bool uniform;          // one for all elements of a row
  int last_use = -1;     // step of the tile
  int other_width = -1;  // a mask: the same in words of the other width
  TileRef ref;
};

/// A step whose operands are still values.
struct Draft {
  TileStep step;
  int a = -1, b = -1, c = -1, out = -1;
  bool widens = false;  // the result's words are not the operand's: it may not take the operand's slot
};

class Lowering {
 public:
  Lowering(const expr::Program& program, ScalarInputs scalars) : program_(program), scalars_(scalars) {}

  TilePlan run() {
    for (const Node& node : program_.nodes) of_node_.push_back(lower(node));
    std::vector<int> stored;
    for (const auto& output : program_.outputs) stored.push_back(value_to_store(output));
    place_uniform();
    place_moving(stored);
    for (std::size_t k = 0; k < stored.size(); ++k) {
      const DType dtype = program_.outputs[k].dtype;
      plan_.stores.push_back({tile_kernels().store[static_cast<int>(dtype)], values_[stored[k]].ref});
      plan_.output_widths.push_back(static_cast<std::uint8_t>(size_of(dtype)));
    }
    for (DType dtype : program_.inputs) plan_.input_widths.push_back(static_cast<std::uint8_t>(size_of(dtype)));
    return std::move(plan_);
  }

 private:
  int add_value(int type, bool uniform) {
    values_.push_back({.type = type, .uniform = uniform});
    return static_cast<int>(values_.size()) - 1;
  }

  int add_step(Draft draft, int type) {
    bool uniform = draft.step.input < 0 ? !draft.step.index : (scalars_ >> draft.step.input & 1) != 0;
    for (int operand : {draft.a, draft.b, draft.c})
      if (operand >= 0) uniform = uniform && values_[operand].uniform;
    draft.out = add_value(type, uniform);
    (uniform ? row_ : tile_).push_back(draft);
    return draft.out;
  }

  int add_constant(int type, std::uint64_t bits) {
    const int value = add_value(type, true);
    values_[value].ref = {.constant = true, .offset = static_cast<std::uint32_t>(plan_.constants.size() * kTileAlign)};
    TilePlan::Splat splat;
    for (std::size_t at = 0; at < kTileAlign; at += width_of(type))
      std::memcpy(splat.bytes + at, &bits, width_of(type));
    plan_.constants.push_back(splat);
    return value;
  }

  int convert(int value, int type) {
    Draft draft{.a = value, .widens = width_of(values_[value].type) != width_of(type)};
    draft.step.kernel = tile_kernels().convert[values_[value].type][type];
    return add_step(draft, type);
  }

  /// A mask in words of `width` bytes.
  int mask_of_width(int value, int width) {
    if (width_of(values_[value].type) == width) return value;
    if (values_[value].other_width < 0) {
      const int converted = convert(value, width == 8 ? kI64 : kI32);
      values_[value].other_width = converted;
    }
    return values_[value].other_width;
  }

  int lower(const Node& node) {
    auto operand = [&](std::int32_t i) { return i < 0 ? -1 : of_node_[i]; };
    Draft draft{.a = operand(node.a), .b = operand(node.b), .c = operand(node.c)};
    draft.step.bits = node.bits;
    int type = type_of(node.lane);
    int table = draft.a < 0 ? type : values_[draft.a].type;
    switch (node.prim) {
      case Prim::constant:
        return add_constant(type, node.lane == Lane::mask ? (node.bits ? ~std::uint64_t{0} : 0) : node.bits);
      case Prim::input:
        draft.step.kernel = tile_kernels().load[static_cast<int>(program_.inputs[node.bits])];
        draft.step.input = static_cast<std::int32_t>(node.bits);
        return add_step(draft, type);
      case Prim::bitcast: return retyped(draft.a, type);
      case Prim::convert: return convert(draft.a, type);
      case Prim::select:
        table = type;
        draft.a = mask_of_width(draft.a, width_of(type));
        break;
      default: break;
    }
    if (node.lane == Lane::mask) {
      if (node.b >= 0 && program_.nodes[node.b].lane == Lane::mask) draft.b = mask_of_width(draft.b, width_of(table));
      type = width_of(table) == 8 ? kI64 : kI32;
    }
    draft.step.index = node.prim == Prim::index_lo || node.prim == Prim::index_hi;
    draft.step.kernel = tile_kernels().prim[static_cast<int>(node.prim)][table];
    TANDEM_CHECK(draft.step.kernel, expr::prim_name(node.prim), " has no kernel for these lanes");
    return add_step(draft, type);
  }

  /// The same bits under another type: a value of its own, tied to the first one's place.
  int retyped(int value, int type) {
    const int result = add_value(type, values_[value].uniform);
    values_[result].ref = values_[value].ref;  // a constant has its place already
    root_.resize(values_.size(), -1);
    root_[result] = value;
    return result;
  }
  int root(int value) const {
    while (value < static_cast<int>(root_.size()) && root_[value] >= 0) value = root_[value];
    return value;
  }

  /// Stores walk along the tile: a value that is one for all is spread out first.
  int value_to_store(const expr::Program::Output& output) {
    int value = of_node_[output.node];
    if (output.dtype == DType::boolean) value = mask_of_width(value, 4);
    if (!values_[value].uniform) return value;
    const int type = values_[value].type;
    Draft draft{.a = value, .b = value};
    draft.step.kernel = tile_kernels().prim[static_cast<int>(Prim::bit_or)][width_of(type) == 8 ? kI64 : kI32];
    draft.out = add_value(type, false);
    tile_.push_back(draft);
    return draft.out;
  }

  void finish(Draft& draft, std::vector<TileStep>& steps) {
    auto ref = [&](int value) { return value < 0 ? TileRef{} : values_[root(value)].ref; };
    draft.step.a = ref(draft.a);
    draft.step.b = ref(draft.b);
    draft.step.c = ref(draft.c);
    draft.step.out = ref(draft.out);
    steps.push_back(draft.step);
  }

  void place_uniform() {
    for (Draft& draft : row_) {
      Value& out = values_[draft.out];
      out.ref = {.offset = static_cast<std::uint32_t>(plan_.scratch)};
      plan_.scratch += kTileAlign;
      finish(draft, plan_.row_steps);
      plan_.scalar_lanes.push_back(static_cast<std::uint8_t>(width_of(out.type)));
    }
  }

  void place_moving(std::vector<int>& stored) {
    const int end = static_cast<int>(tile_.size());
    int widest = 4;
    for (int s = 0; s < end; ++s)
      for (int value : {tile_[s].a, tile_[s].b, tile_[s].c, tile_[s].out})
        if (value >= 0) {
          values_[root(value)].last_use = s;
          widest = std::max(widest, width_of(values_[value].type));
        }
    for (int& value : stored) {
      value = root(value);
      values_[value].last_use = end;
    }
    const int slots = assign_slots();
    // The slots should fit the first-level cache beside the memory that is read and written.
    const std::size_t row_bytes = plan_.scratch;
    auto bytes = [&](std::size_t tile) { return row_bytes + slots * tile * widest; };
    while (plan_.tile > 64 && bytes(plan_.tile) > 24 * 1024) plan_.tile /= 2;
    while (plan_.tile > 16 && bytes(plan_.tile) > kPlanScratch) plan_.tile /= 2;
    plan_.scratch = bytes(plan_.tile);
    TANDEM_CHECK(plan_.scratch <= kPlanScratch, "the program keeps ", slots, " values alive");
    for (Value& value : values_)
      if (value.ref.moves)
        value.ref.offset = static_cast<std::uint32_t>(row_bytes + value.ref.offset * plan_.tile * widest);
    for (Draft& draft : tile_) finish(draft, plan_.tile_steps);
  }

  /// Numbers the slots in the order of the steps; ref.offset is the slot until the tile's size is known.
  int assign_slots() {
    std::vector<std::uint32_t> free;
    std::uint32_t count = 0;
    for (int s = 0; s < static_cast<int>(tile_.size()); ++s) {
      auto release = [&] {
        int done[3] = {-1, -1, -1}, n = 0;
        for (int operand : {tile_[s].a, tile_[s].b, tile_[s].c}) {
          const int value = operand < 0 ? -1 : root(operand);
          if (value < 0 || values_[value].uniform || values_[value].last_use != s) continue;
          if (value == done[0] || value == done[1]) continue;  // x * x frees one slot
          done[n++] = value;
          free.push_back(values_[value].ref.offset);
        }
      };
      if (!tile_[s].widens) release();
      if (free.empty()) free.push_back(count++);
      values_[tile_[s].out].ref = {.moves = true, .offset = free.back()};
      free.pop_back();
      if (tile_[s].widens) release();
    }
    return static_cast<int>(count);
  }

  const expr::Program& program_;
  ScalarInputs scalars_;
  TilePlan plan_;
  std::vector<Value> values_;
  std::vector<int> root_;
  std::vector<int> of_node_;
  std::vector<Draft> row_, tile_;
};

}  // namespace

TilePlan make_tile_plan(const expr::Program& program, ScalarInputs scalars) { return Lowering(program, scalars).run(); }

static void run_step(const TilePlan& plan, const TileStep& step, unsigned char* scratch, const void* const* inputs,
                     std::size_t count, std::uint64_t index) {
  auto constants = reinterpret_cast<const unsigned char*>(plan.constants.data());
  auto at = [&](const TileRef& ref) { return (ref.constant ? constants : scratch) + ref.offset; };
  step.kernel({.a = step.input >= 0 ? inputs[step.input] : at(step.a),
               .b = at(step.b),
               .c = at(step.c),
               .out = scratch + step.out.offset,
               .step_a = step.a.moves,
               .step_b = step.b.moves,
               .step_c = step.c.moves,
               .count = count,
               .bits = step.index ? index : step.bits});
}

void TilePlan::begin_row(unsigned char* scratch, const void* const* inputs) const {
  for (std::size_t s = 0; s < row_steps.size(); ++s) {
    const std::size_t width = scalar_lanes[s];
    const bool load = row_steps[s].input >= 0;
    run_step(*this, row_steps[s], scratch, inputs, load ? 1 : kTileAlign / width, 0);
    if (!load) continue;
    unsigned char* value = scratch + row_steps[s].out.offset;
    for (std::size_t at = width; at < kTileAlign; at += width) std::memcpy(value + at, value, width);
  }
}

void TilePlan::run_tile(unsigned char* scratch, const void* const* inputs, void* const* outputs, std::size_t count,
                        std::uint64_t index) const {
  for (const TileStep& step : tile_steps) run_step(*this, step, scratch, inputs, count, index);
  for (std::size_t k = 0; k < stores.size(); ++k)
    stores[k].kernel({.a = scratch + stores[k].from.offset, .out = outputs[k], .step_a = 1, .count = count});
}

}  // namespace tandem::cpu
