// Formulas of bools alone: bytes, of which a register holds four times as many as of lanes.
#include <algorithm>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::opencl {
namespace {

using expr::Node;
using expr::Prim;

constexpr std::int64_t kBytes = 64;  // of a vector

constexpr std::string_view kWords = R"(
typedef ulong8 __attribute__((aligned(1))) Words;
#define ONES ((ulong8)(0x0101010101010101ul))
#define SEVEN ((ulong8)(0x7F7F7F7F7F7F7F7Ful))
// 1 for every byte but 0: adding carries into the byte's own sign and no further.
static ulong8 truth(ulong8 x) { return ((((x & SEVEN) + SEVEN) | x) >> 7) & ONES; }
static ulong8 some(__global const uchar* p, int m) {
  ulong8 r = (ulong8)(0);
#pragma unroll 1
  for (int i = 0; i < m; ++i) ((uchar*)&r)[i] = p[i];
  return r;
}
static void put_some(__global uchar* p, ulong8 v, int m) {
#pragma unroll 1
  for (int i = 0; i < m; ++i) p[i] = ((const uchar*)&v)[i];
}
)";

/// The value of a node, whose bytes are 0 or 1; nothing where it is not made of bools alone.
std::string expression(const Node& node) {
  const std::string a = text("v", node.a), b = text("v", node.b), c = text("v", node.c);
  if (node.lane != expr::Lane::mask) return "";
  switch (node.prim) {
    case Prim::input: return text("truth(in", node.bits, ")");
    case Prim::constant: return node.bits ? "ONES" : "(ulong8)(0)";
    case Prim::bit_and: return text(a, " & ", b);
    case Prim::bit_or: return text(a, " | ", b);
    case Prim::bit_xor: return text(a, " ^ ", b);
    case Prim::bit_not: return text(a, " ^ ONES");
    case Prim::select: return text("(", a, " & ", b, ") | ((", a, " ^ ONES) & ", c, ")");
    default: return "";
  }
}

std::string statements_of_words(const expr::Program& program) {
  std::string out;
  for (std::size_t i = 0; i < program.nodes.size(); ++i)
    out += text("      const ulong8 v", i, " = ", expression(program.nodes[i]), ";\n");
  return out;
}

std::string words_source(const expr::Program& program) {
  std::string parameters, whole, part, put, put_part;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    parameters += text("__global const uchar* x", i, ", ");
    whole += text("      const ulong8 in", i, " = *(__global const Words*)(x", i, " + at);\n");
    part += text("      const ulong8 in", i, " = some(x", i, " + at, m);\n");
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::string v = text("v", program.outputs[k].node);
    parameters += text("__global uchar* y", k, ", ");
    put += text("      *(__global Words*)(y", k, " + at) = ", v, ";\n");
    put_part += text("      put_some(y", k, " + at, ", v, ", m);\n");
  }
  const std::string formula = statements_of_words(program);
  return text(prelude(false), kWords, "KERNEL words(", parameters,
              "const long count, const long per_item) {\n"
              "  const long begin = (long)get_global_id(0) * per_item, end = min(count, begin + per_item);\n  long at = begin;\n  for (; at + ",
              kBytes, " <= end; at += ", kBytes, ") {\n", whole, formula, put,
              "  }\n  if (at < end) {\n      const int m = (int)(end - at);\n", part, formula, put_part, "  }\n}\n");
}

Support supports_words(const KernelCall& call) {
  if (!context_of(call).traits().cpu_type) return no("a GPU's work-items take an element each");
  const auto is_bools = [&](const Operand& operand) {
    return operand.dtype() == DType::boolean && operand.shape() == call.outputs[0].shape() && operand.strides == dense_strides(operand.shape());
  };
  if (!std::ranges::all_of(call.inputs, is_bools) || !std::ranges::all_of(call.outputs, is_bools)) return no("needs dense bools of one shape");
  const expr::Program program = elementwise_program(call);
  if (!std::ranges::all_of(program.nodes, [](const Node& node) { return !expression(node).empty(); })) return no("needs a formula of bools alone");
  return yes();
}

Prepared prepare_words(const KernelCall& call) {
  Context& context = context_of(call);
  const KernelFunction kernel = context.kernel(words_source(elementwise_program(call)), "words");
  const std::int64_t count = call.outputs[0].shape().elements();
  // A vector of bytes takes about as long as one of eight floats.
  const std::int64_t per_item = blocks(8 * context.elements_per_item(blocks(count, 8), call.op.flops_per_element), kBytes) * kBytes;
  return prepared([=, &context, inputs = call.inputs.size(), outputs = call.outputs.size()](const KernelArgs& args) {
    Launch launch(context, kernel);
    for (std::size_t i = 0; i < inputs; ++i) launch.buffer(args.inputs[i]);
    for (std::size_t k = 0; k < outputs; ++k) launch.buffer(args.outputs[k]);
    launch.value(count).value(per_item).run(blocks(count, per_item));
  });
}

}  // namespace

KernelList logical_kernels() {
  KernelList kernels = elementwise_kernels();
  kernels.insert(kernels.begin(), {.name = "opencl words", .supports = supports_words, .prepare = prepare_words});
  return kernels;
}

}  // namespace tandem::opencl
