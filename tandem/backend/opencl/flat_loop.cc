#include "tandem/backend/opencl/flat_loop.h"

#include <algorithm>

#include "tandem/backend/opencl/kernels.h"

namespace tandem::opencl {

std::string vector_of(DType dtype, int width) { return text(lane_type(expr::lane_of(dtype)), width); }

std::string output_parameters(const expr::Program& program) {
  std::string out;
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    out += text("__global ", slot_of(program.outputs[k].dtype), "_mem* y", k, ", ");
  return out;
}

namespace {

/// The vector that holds sixteen elements in memory, where these are converted by one instruction or none; else
/// nothing. Not bools: LLVM makes of sixteen at once a load of ones under the mask, which was seen to take ten times as
/// long where no lane is set.
std::string_view sixteen_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float16";
    case DType::i32: return "int16";
    case DType::i8: return "char16";
    case DType::u8: return "uchar16";
    case DType::i16: return "short16";
    case DType::u16: return "ushort16";
    default: return "";
  }
}

}  // namespace

std::string load_of(DType dtype, std::string_view x, std::string_view at, int width) {
  if (const std::string_view all = sixteen_of(dtype); width > kWidth && !all.empty()) {
    const std::string load = text("GET16(", all, ", ", x, " + ", at, ")"), lanes = vector_of(dtype, width);
    return all == lanes ? load : text("convert_", lanes, "(", load, ")");
  }
  const std::string load = text(slot_of(dtype), "_load8(", x, ", ", at);
  return width == kWidth ? text(load, ")")
                         : text("JOIN(", vector_of(dtype, width), ", ", load, "), ", load, " + ", kWidth, "))");
}

namespace {

bool uses_index(const expr::Program& program) {
  return std::ranges::any_of(program.nodes, [](const expr::Node& node) {
    return node.prim == expr::Prim::index_lo || node.prim == expr::Prim::index_hi;
  });
}

bool has_long_lanes(const expr::Program& program) {
  const auto is_long = [](expr::Lane lane) { return lane == expr::Lane::f64 || lane == expr::Lane::i64; };
  return std::ranges::any_of(program.nodes, [&](const expr::Node& node) { return is_long(node.lane); }) ||
         std::ranges::any_of(program.inputs, [&](DType dtype) { return is_long(expr::lane_of(dtype)); });
}

std::string formula(const expr::Program& program, int width) {
  if (!uses_index(program)) return statements(program, width);
  return text("      const ulong8 index = (ulong8)((ulong)(at)) + EIGHT(ulong8, 0, 1, 2, 3, 4, 5, 6, 7);\n",
              statements(program, width));
}

}  // namespace

int loop_width(const Context& context, const expr::Program& program) {
  return uses_index(program) || has_long_lanes(program) ? kWidth : context.traits().lanes();
}

std::string compute(const expr::Program& program, int width) {
  std::string out = formula(program, width);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const DType dtype = program.outputs[k].dtype;
    const std::string v = text("v", program.outputs[k].node),
                      store = text("      ", slot_of(dtype), "_store8(y", k, ", at");
    const std::string_view all = sixteen_of(dtype);
    if (width == kWidth) out += text(store, ", ", v, ");\n");
    else if (all == vector_of(dtype, width)) out += text("      PUT16(", all, ", y", k, " + at, ", v, ");\n");
    else if (!all.empty()) out += text("      PUT16(", all, ", y", k, " + at, convert_", all, "(", v, "));\n");
    else out += text(store, ", ", v, ".lo);\n", store, " + ", kWidth, ", ", v, ".hi);\n");
  }
  return out;
}

std::string compute_part(const expr::Program& program) {
  std::string out = formula(program, kWidth);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::string v = text("v", program.outputs[k].node), d = slot_of(program.outputs[k].dtype);
    out += text("      if (m == 8) ", d, "_store8(y", k, ", at, ", v, "); else ", d, "_store_part(y", k, ", at, ", v,
                ", 1, m);\n");
  }
  return out;
}

namespace {

/// The parts of a kernel that runs a formula over the elements from `begin` to `end` of inputs x0, x1, … and outputs
/// y0, y1, …
struct FlatText {
  std::string parameters, singles, whole, part;
  const int width;

  FlatText(const expr::Program& program, const std::vector<FlatInput>& inputs, int lanes)
      : width(is_of_bytes(program) ? kBytes : lanes) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const DType dtype = program.inputs[i];
      const std::string d = slot_of(dtype), lane(lane_type(expr::lane_of(dtype))), in = text(" in", i, " = "),
                        x = text("x", i);
      const std::string to_part = text("      const ", vector_of(dtype), in);
      const bool dense = inputs[i] == FlatInput::dense;
      parameters += inputs[i] == FlatInput::number ? text("const ", lane, " ", x, ", ")
                                                   : text("__global const ", d, "_mem* ", x, ", ");
      if (inputs[i] == FlatInput::single) singles += text("  const ", lane, " s", i, " = ", d, "_load(", x, ", 0);\n");
      const std::string same = text(inputs[i] == FlatInput::single ? "s" : "x", i);
      if (is_of_bytes(program))
        whole += text("      const ulong8", in,
                      dense ? text("bools(GET_BYTES(", x, " + at))") : text("(ulong8)((ulong)", same, ")"), ";\n");
      else
        whole +=
            text("      const ", vector_of(dtype, width), in,
                 dense ? load_of(dtype, x, "at", width) : text("(", vector_of(dtype, width), ")(", same, ")"), ";\n");
      part += dense ? text(to_part, "m == 8 ? ", d, "_load8(", x, ", at) : ", d, "_part(", x, ", at, 1, m, 0);\n")
                    : text(to_part, "(", vector_of(dtype), ")(", same, ");\n");
    }
    whole += is_of_bytes(program) ? compute_bytes(program) : compute(program, width);
    parameters += output_parameters(program);
  }

  /// The formula of bools, kBytes at a time, and its stores.
  static std::string compute_bytes(const expr::Program& program) {
    std::string out = byte_statements(program);
    for (std::size_t k = 0; k < program.outputs.size(); ++k)
      out += text("      PUT_BYTES(y", k, " + at, v", program.outputs[k].node, " & (ulong8)(0x0101010101010101ul));\n");
    return out;
  }

  std::string loop(const expr::Program& program) const {
    return text("  if (begin >= end) return;\n", singles, "  long at = begin;\n  for (; at + ", width,
                " <= end; at += ", width, ") {\n", whole,
                "  }\n  for (; at < end; at += 8) {\n      const int m = (int)min(8l, end - at);\n", part,
                compute_part(program), "  }\n}\n");
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

std::string flat_source(const expr::Program& program, const std::vector<FlatInput>& inputs, int width) {
  const FlatText flat(program, inputs, width);
  return text(head(program), "KERNEL flat(", flat.parameters,
              "const long count, const long per_item) {\n"
              "  const long begin = ITEM * per_item, end = min(count, begin + per_item);\n",
              flat.loop(program));
}

std::int64_t flat_per_item(const Context& context, std::int64_t count, double work) {
  const std::int64_t lanes = context.traits().lanes();
  return blocks(std::max(context.elements_per_item(count, work), lanes), lanes) * lanes;
}

// --- Several such loops in one launch ---

std::string joined_source(const expr::Program& program, const std::vector<FlatInput>& inputs, int width,
                          std::size_t pieces) {
  const FlatText flat(program, inputs, width);
  Choice choice;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    choice.add(text("__global const ", slot_of(program.inputs[i]), "_mem"), text("x", i), pieces);
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    choice.add(text("__global ", slot_of(program.outputs[k].dtype), "_mem"), text("y", k), pieces);
  return text(
      head(program), "typedef struct { long per_item; long first[", pieces, "]; long count[", pieces, "]; } Pieces;\n",
      "KERNEL joined(", choice.parameters, "const Pieces n) {\n",
      "  const long item = ITEM;\n  int piece = 0;\n"
      "  for (int p = 1; p < ",
      pieces, "; ++p) piece += item >= n.first[p];\n", choice.chosen,
      "  const long begin = (item - n.first[piece]) * n.per_item, end = min(n.count[piece], begin + n.per_item);\n",
      flat.loop(program));
}

namespace {

class JoinedFlat final : public JoinedKernel {
 public:
  JoinedFlat(Context& context, const std::function<std::string(std::size_t)>& source, JoinedCalls calls)
      : context_(context),
        calls_(std::move(calls)),
        pieces_(calls_.counts.size() <= kMostJoined / 2 ? kMostJoined / 2 : kMostJoined) {
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
    kernel_ = context.kernel(source(pieces_), "joined", Denormals::flushed);
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

std::unique_ptr<const JoinedKernel> join_flat(Context& context, const std::function<std::string(std::size_t)>& source,
                                              JoinedCalls calls) {
  return std::make_unique<JoinedFlat>(context, source, std::move(calls));
}

}  // namespace tandem::opencl
