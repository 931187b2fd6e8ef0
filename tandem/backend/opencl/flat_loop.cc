#include "tandem/backend/opencl/flat_loop.h"

#include <algorithm>

#include "tandem/backend/opencl/kernels.h"

namespace tandem::opencl {

std::string vector_of(DType dtype) { return text(lane_type(expr::lane_of(dtype)), kWidth); }

std::string output_parameters(const expr::Program& program) {
  std::string out;
  for (std::size_t k = 0; k < program.outputs.size(); ++k) out += text("__global ", slot_of(program.outputs[k].dtype), "_mem* y", k, ", ");
  return out;
}

namespace {

bool uses_index(const expr::Program& program) {
  return std::ranges::any_of(program.nodes, [](const expr::Node& node) {
    return node.prim == expr::Prim::index_lo || node.prim == expr::Prim::index_hi;
  });
}

}  // namespace

std::string compute(const expr::Program& program) {
  std::string out;
  if (uses_index(program)) out = "      const ulong8 index = (ulong8)((ulong)(at)) + EIGHT(ulong8, 0, 1, 2, 3, 4, 5, 6, 7);\n";
  out += statements(program);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::string v = text("v", program.outputs[k].node), d = slot_of(program.outputs[k].dtype);
    out += text("      if (m == 8) ", d, "_store8(y", k, ", at, ", v, "); else ", d, "_store_part(y", k, ", at, ", v, ", 1, m);\n");
  }
  return out;
}

namespace {

/// The parts of a kernel that runs a formula over the elements from `begin` to `end` of inputs x0, x1, … and outputs y0, y1, …
struct FlatText {
  std::string parameters, singles, whole, part;

  FlatText(const expr::Program& program, const std::vector<FlatInput>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string d = slot_of(program.inputs[i]), type = vector_of(program.inputs[i]);
      if (inputs[i] == FlatInput::number) {
        parameters += text("const ", lane_type(expr::lane_of(program.inputs[i])), " x", i, ", ");
        singles += text("  const ", type, " in", i, " = (", type, ")(x", i, ");\n");
        continue;
      }
      parameters += text("__global const ", d, "_mem* x", i, ", ");
      if (inputs[i] == FlatInput::single) {
        singles += text("  const ", type, " in", i, " = (", type, ")(", d, "_load(x", i, ", 0));\n");
        continue;
      }
      whole += text("      const ", type, " in", i, " = ", d, "_load8(x", i, ", at);\n");
      part += text("      const ", type, " in", i, " = ", d, "_part(x", i, ", at, 1, m, 0);\n");
    }
    parameters += output_parameters(program);
  }

  std::string loop(const expr::Program& program) const {
    const std::string formula = compute(program);
    return text("  if (begin >= end) return;\n", singles, "  long at = begin;\n  for (; at + 8 <= end; at += 8) {\n      const int m = 8;\n",
                whole, formula, "  }\n  if (at < end) {\n      const int m = (int)(end - at);\n", part, formula, "  }\n}\n");
  }
};

std::string head(const expr::Program& program) { return text(prelude(uses_fp64(program)), define_dtypes(program)); }

/// "__global f32_mem* y0 = piece == 0 ? y0_0 : piece == 1 ? y0_1 : …", and the parameters it chooses from.
struct Choice {
  std::string parameters, chosen;

  void add(const std::string& type, const std::string& name, std::size_t pieces) {
    chosen += text("  ", type, "* ", name, " = ");
    for (std::size_t p = 0; p < pieces; ++p) {
      parameters += text(type, "* ", name, "_", p, ", ");
      if (p + 1 < pieces) chosen += text("piece == ", p, " ? ");
      chosen += text(name, "_", p, p + 1 < pieces ? " : " : ";\n");
    }
  }
};

}  // namespace

std::string flat_source(const expr::Program& program, const std::vector<FlatInput>& inputs) {
  const FlatText flat(program, inputs);
  return text(head(program), "KERNEL flat(", flat.parameters,
              "const long count, const long per_item) {\n"
              "  const long begin = (long)get_global_id(0) * per_item, end = min(count, begin + per_item);\n",
              flat.loop(program));
}

std::int64_t flat_per_item(const Context& context, std::int64_t count, double work) {
  return blocks(std::max<std::int64_t>(context.elements_per_item(count, work), kWidth), kWidth) * kWidth;
}

// --- Several such loops in one launch ---

std::string joined_source(const expr::Program& program, const std::vector<FlatInput>& inputs, std::size_t pieces) {
  const FlatText flat(program, inputs);
  Choice choice;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    choice.add(text("__global const ", slot_of(program.inputs[i]), "_mem"), text("x", i), pieces);
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    choice.add(text("__global ", slot_of(program.outputs[k].dtype), "_mem"), text("y", k), pieces);
  return text(head(program), "typedef struct { long per_item; long first[", pieces, "]; long count[", pieces, "]; } Pieces;\n",
              "KERNEL joined(", choice.parameters, "const Pieces n) {\n",
              "  const long item = (long)get_global_id(0);\n  int piece = 0;\n"
              "  for (int p = 1; p < ", pieces, "; ++p) piece += item >= n.first[p];\n",
              choice.chosen,
              "  const long begin = (item - n.first[piece]) * n.per_item, end = min(n.count[piece], begin + n.per_item);\n",
              flat.loop(program));
}

namespace {

class JoinedFlat final : public JoinedKernel {
 public:
  JoinedFlat(Context& context, const std::function<std::string(std::size_t)>& source, JoinedCalls calls)
      : context_(context), calls_(std::move(calls)), pieces_(calls_.counts.size() <= kMostJoined / 2 ? kMostJoined / 2 : kMostJoined) {
    std::int64_t all = 0;
    for (std::int64_t count : calls_.counts) all += count;
    const std::int64_t per_item = flat_per_item(context, all, calls_.work);
    words_.assign(1 + 2 * pieces_, 0);
    words_[0] = per_item;
    for (std::size_t p = 0; p < pieces_; ++p) {
      const std::int64_t count = p < calls_.counts.size() ? calls_.counts[p] : 0;
      words_[1 + p] = items_;
      words_[1 + pieces_ + p] = count;
      items_ += blocks(count, per_item);
    }
    kernel_ = context.kernel(source(pieces_), "joined");
  }

  /// Pieces beyond the last call get its buffers, and no work.
  void run(std::span<const KernelArgs> calls) const override {
    Launch launch(context_, kernel_);
    const auto call = [&](std::size_t piece) { return calls[std::min(piece, calls.size() - 1)]; };
    for (std::size_t i = 0; i < calls_.inputs; ++i)
      for (std::size_t p = 0; p < pieces_; ++p) launch.buffer(call(p).inputs[i]);
    for (std::size_t k = 0; k < calls_.outputs; ++k)
      for (std::size_t p = 0; p < pieces_; ++p) launch.buffer(call(p).outputs[k]);
    launch.bytes(words_.data(), words_.size() * sizeof(std::int64_t)).run(items_);
  }

 private:
  Context& context_;
  const JoinedCalls calls_;
  const std::size_t pieces_;
  std::vector<std::int64_t> words_;  // the struct Pieces
  std::int64_t items_ = 0;
  KernelFunction kernel_;
};

}  // namespace

std::unique_ptr<const JoinedKernel> join_flat(Context& context, const std::function<std::string(std::size_t)>& source, JoinedCalls calls) {
  return std::make_unique<JoinedFlat>(context, source, std::move(calls));
}

}  // namespace tandem::opencl
