// What generated code is compared with: a loop's operands run by `evaluate`, and the contract of Fold word by word.
#pragma once
#include <memory>
#include <string>

#include "tandem/backend/cpu/loop.h"
#include "tests/backend/cpu/guarded_buffer.h"

namespace tandem::cpu {

/// How one run is laid out.
struct Layout {
  std::int64_t length = 0;
  std::int64_t rows = 1;
  std::int64_t gap = 0;  // elements between rows
  ScalarInputs scalars = 0;
  std::uint64_t index = 0;
  int in_place = -1;  // the input that output 0 overwrites
};

/// Operands of a loop in guarded memory, the run by generated code and by `evaluate`.
class LoopTrial {
 public:
  LoopTrial(const expr::Program& program, const Layout& layout, std::uint64_t seed)
      : program_(program),
        layout_(layout) {
    std::mt19937_64 random(seed);
    args_.length = layout.length;
    args_.rows = layout.rows;
    args_.index = layout.index;
    args_.index_stride = static_cast<std::uint64_t>(layout.length + 5);
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const bool scalar = layout.scalars >> i & 1;
      add_operand(program.inputs[i], scalar ? 1 : layout.length, args_.input_row_strides[i]);
      args_.inputs[i] = buffers_.back()->data();
      for (std::int64_t e = 0; e < extent(scalar ? 1 : layout.length); ++e)
        fill(program.inputs[i], buffers_.back()->data() + e * dtype_size(program.inputs[i]), random);
    }
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      if (k == 0 && layout.in_place >= 0) {
        args_.outputs[0] = const_cast<void*>(args_.inputs[layout.in_place]);
        args_.output_row_strides[0] = args_.input_row_strides[layout.in_place];
        continue;
      }
      add_operand(program.outputs[k].dtype, layout.length, args_.output_row_strides[k]);
      args_.outputs[k] = buffers_.back()->data();
    }
  }

  /// Runs `loop` and says what differs from `evaluate`; empty when nothing does.
  std::string run(const Loop& loop) {
    const auto expected = evaluate_all();
    loop.run(args_);
    for (std::size_t b = 0; b < buffers_.size(); ++b)
      if (!buffers_[b]->front_unharmed()) return "memory before operand " + std::to_string(b) + " was written";
    return differences(expected);
  }

 private:
  using Snapshot = std::vector<std::vector<unsigned char>>;

  std::int64_t extent(std::int64_t length) const { return layout_.rows * length + (layout_.rows - 1) * layout_.gap; }

  void add_operand(DType dtype, std::int64_t length, std::int64_t& stride) {
    const auto size = static_cast<std::int64_t>(dtype_size(dtype));
    stride = (length + layout_.gap) * size;
    buffers_.push_back(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(extent(length) * size)));
  }

  Snapshot evaluate_all() {
    Snapshot out;
    for (auto& buffer : buffers_) out.push_back(buffer->bytes());
    std::vector<ScalarValue> in(program_.inputs.size() + 1), results(program_.outputs.size());
    for (std::int64_t r = 0; r < layout_.rows; ++r)
      for (std::int64_t e = 0; e < layout_.length; ++e) {
        for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
          const auto size = static_cast<std::int64_t>(dtype_size(program_.inputs[i]));
          const auto at = r * args_.input_row_strides[i] + (layout_.scalars >> i & 1 ? 0 : e * size);
          in[i] = expr::load_value(program_.inputs[i], static_cast<const char*>(args_.inputs[i]) + at);
        }
        expr::evaluate(program_, in.data(), results.data(), args_.index + r * args_.index_stride + e);
        for (std::size_t k = 0; k < results.size(); ++k) {
          const DType dtype = program_.outputs[k].dtype;
          const auto at = r * args_.output_row_strides[k] + e * static_cast<std::int64_t>(dtype_size(dtype));
          expr::store_value(dtype, results[k], out[output_buffer(k)].data() + at);
        }
      }
    return out;
  }

  std::size_t output_buffer(std::size_t k) const {
    if (layout_.in_place < 0) return program_.inputs.size() + k;
    return k == 0 ? static_cast<std::size_t>(layout_.in_place) : program_.inputs.size() + k - 1;
  }

  std::string differences(const Snapshot& expected) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      DType dtype = b < program_.inputs.size() ? program_.inputs[b] : DType::u8;
      for (std::size_t k = 0; k < program_.outputs.size(); ++k)
        if (output_buffer(k) == b) dtype = program_.outputs[k].dtype;
      const std::size_t size = dtype_size(dtype);
      for (std::size_t at = 0; at + size <= expected[b].size(); at += size)
        if (!same_bits_or_both_nan(dtype, buffers_[b]->data() + at, expected[b].data() + at))
          return "operand " + std::to_string(b) + " differs at element " + std::to_string(at / size) + " of " +
                 std::to_string(layout_.length) + " x " + std::to_string(layout_.rows) + "\n" + program_.to_string();
    }
    return {};
  }

  const expr::Program& program_;
  Layout layout_;
  LoopArgs args_{};
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
};

/// The lanes of Fold's contract as plain numbers.
inline ScalarValue fold_model(const FoldProgram& fold, const std::vector<const unsigned char*>& inputs,
                              std::int64_t length) {
  const expr::Lane lane = fold.combine.nodes[fold.combine.outputs[0].node].lane;
  std::vector<ScalarValue> lanes(kFoldLanes, expr::value_from_bits(lane, fold.identity)), in(inputs.size() + 1);
  auto combine = [&](ScalarValue a, ScalarValue b) {
    const ScalarValue both[] = {a, b};
    ScalarValue out;
    expr::evaluate(fold.combine, both, &out);
    return out;
  };
  for (std::int64_t e = 0; e < length; ++e) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      in[i] = expr::load_value(fold.map.inputs[i],
                               inputs[i] + (fold.scalars >> i & 1 ? 0 : e) * dtype_size(fold.map.inputs[i]));
    ScalarValue mapped;
    expr::evaluate(fold.map, in.data(), &mapped);
    lanes[e % kFoldLanes] = combine(lanes[e % kFoldLanes], mapped);
  }
  for (int half = kFoldLanes / 2; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j) lanes[j] = combine(lanes[j], lanes[j + half]);
  return lanes[0];
}

}  // namespace tandem::cpu
