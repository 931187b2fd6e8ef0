// Elementwise ops and random numbers: the formula tree as a kernel.
#include <algorithm>
#include <array>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/nest.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/random_program.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::opencl {
namespace {

/// Where the inputs of a program come from: tensors, or numbers given with each launch.
enum class Inputs { tensors, numbers };

constexpr std::size_t kShortProgram = 16;  // nodes

/// The name under which define_dtype defines `dtype` here.
std::string slot(DType dtype) { return text("D", static_cast<int>(dtype)); }

std::string define_dtypes(const expr::Program& program) {
  std::vector<DType> used = program.inputs;
  for (const auto& output : program.outputs) used.push_back(output.dtype);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::string out;
  for (DType dtype : used) out += define_dtype(slot(dtype), dtype);
  return out;
}

std::string parameters(const expr::Program& program, Inputs kind) {
  std::string out = "const Nest n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (kind == Inputs::tensors) out += text(", __global const ", slot(program.inputs[i]), "_mem* x", i);
    else out += text(", const ", lane_type(expr::lane_of(program.inputs[i])), " x", i);
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) out += text(", __global ", slot(program.outputs[k].dtype), "_mem* y", k);
  return out;
}

/// One step of the loop: m elements from column j.
std::string loop_body(const expr::Program& program, Inputs kind) {
  std::string out = "      const long at = row * n.length + j;\n"
                    "      const ulong8 index = (ulong8)((ulong)at) + (ulong8)(0, 1, 2, 3, 4, 5, 6, 7);\n";
  for (std::size_t i = 0; kind == Inputs::tensors && i < program.inputs.size(); ++i) {
    const std::string d = slot(program.inputs[i]);
    out += text("      const ", d, "_lane8 in", i, " = n.inner[", i, "] == 0 ? one", i, " : m == 8 ? ", d, "_load8(x", i, ", o", i,
                " + j) : ", d, "_part(x", i, ", o", i, " + j, 1, m, 0);\n");
  }
  out += statements(program);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const std::string v = text("v", program.outputs[k].node), d = slot(program.outputs[k].dtype);
    out += text("      if (m == 8) ", d, "_store8(y", k, ", at, ", v, "); else ", d, "_store_part(y", k, ", at, ", v, ", 1, m);\n");
  }
  return out;
}

std::string loop_source(const expr::Program& program, Inputs kind) {
  const std::size_t inputs = program.inputs.size();
  const bool tensors = kind == Inputs::tensors;
  std::string out = prelude(uses_fp64(program)) + define_dtypes(program) + nest_source(tensors ? static_cast<int>(inputs) : 0);
  out += text("KERNEL loop(", parameters(program, kind), ") {\n  ITEM_ROWS {\n    ROW_OFFSETS\n");
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string type = text(lane_type(expr::lane_of(program.inputs[i])), "8");
    if (tensors) out += text("    const ", type, " one", i, " = (", type, ")(", slot(program.inputs[i]), "_load(x", i, ", o", i, "));\n");
    else out += text("    const ", type, " in", i, " = (", type, ")(x", i, ");\n");
  }
  // Short bodies are written twice, for whole vectors and for the rest of a row; long ones once, to compile in half the time.
  const bool twice = program.nodes.size() < kShortProgram;
  out += "    long j = begin;\n";
  if (twice) out += text("    for (; j + 8 <= end; j += 8) {\n      const int m = 8;\n", loop_body(program, kind), "    }\n");
  out += text("    for (; j < end; j += 8) {\n      const int m = (int)min(8l, end - j);\n", loop_body(program, kind), "    }\n");
  return out + "  }\n}\n";
}

Axes axes_of(const KernelCall& call) {
  std::vector<Strides> strides;
  for (const Operand& input : call.inputs) strides.push_back(broadcast_strides(input, call.outputs[0].shape()));
  // The output takes part in the joining: its elements are counted in the order of its memory.
  strides.push_back(call.outputs[0].strides);
  return join_axes(call.outputs[0].shape(), strides);
}

Support supports(const KernelCall& call) {
  if (Support dtypes = dtypes_supported(call); !dtypes) return dtypes;
  if (!context_of(call).traits().fp64 && uses_fp64(elementwise_program(call))) return no(kNoFloat64);
  for (const auto& strides : axes_of(call).strides)
    if (strides.back() != 0 && strides.back() != 1) return no("an operand's elements do not lie side by side");
  return yes();
}

class LoopKernel final : public PreparedKernel {
 public:
  explicit LoopKernel(const KernelCall& call)
      : context_(context_of(call)),
        inputs_(call.inputs.size()),
        outputs_(call.outputs.size()),
        nest_(make_nest(axes_of(call), static_cast<int>(inputs_), context_, call.op.flops_per_element)),
        kernel_(context_.kernel(loop_source(elementwise_program(call), Inputs::tensors), "loop")) {}

  void run(const KernelArgs& args) const override {
    Launch launch(context_, kernel_);
    launch.bytes(nest_.words.data(), nest_.words.size() * sizeof(std::int64_t));
    for (std::size_t i = 0; i < inputs_; ++i) launch.buffer(args.inputs[i]);
    for (std::size_t k = 0; k < outputs_; ++k) launch.buffer(args.outputs[k]);
    launch.run(nest_.items);
  }

 private:
  Context& context_;
  std::size_t inputs_, outputs_;
  Nest nest_;
  KernelFunction kernel_;
};

Prepared prepare(const KernelCall& call) { return std::make_unique<LoopKernel>(call); }

Nest flat_nest(const KernelCall& call) {
  const Strides dense{1};
  const Axes axes = join_axes(Shape{call.outputs[0].shape().elements()}, std::array<Strides, 1>{dense});
  Nest nest = make_nest(axes, 0, context_of(call), call.op.flops_per_element);
  nest.words.resize(nest.words.size() + kMaxRank, 0);  // a nest without operands has room for one
  return nest;
}

Support random_supports(const KernelCall& call) {
  if (!context_of(call).traits().fp64 && call.outputs[0].dtype() == DType::f64) return no(kNoFloat64);
  return yes();
}

Prepared prepare_random(const KernelCall& call) {
  Context& context = context_of(call);
  const DType dtype = call.outputs[0].dtype(), lane = lane_dtype(dtype);
  const KernelFunction kernel = context.kernel(loop_source(random_program(call.op, dtype), Inputs::numbers), "loop");
  const std::size_t lane_bytes = dtype_size(lane);
  return prepared([&context, kernel, nest = flat_nest(call), lane, lane_bytes, op = &call.op](const KernelArgs& args) {
    const RandomScalars scalars(*op, args.run_time, lane);
    Launch launch(context, kernel);
    launch.bytes(nest.words.data(), nest.words.size() * sizeof(std::int64_t));
    for (std::int32_t word : scalars.words) launch.value(word);
    for (const ScalarValue& number : scalars.numbers) launch.bytes(&number, lane_bytes);
    launch.buffer(args.outputs[0]).run(nest.items);
  });
}

}  // namespace

Support dtypes_supported(const KernelCall& call) {
  if (context_of(call).traits().fp64) return yes();
  for (const Operand& input : call.inputs)
    if (input.dtype() == DType::f64) return no(kNoFloat64);
  for (const Operand& output : call.outputs)
    if (output.dtype() == DType::f64) return no(kNoFloat64);
  return yes();
}

KernelList elementwise_kernels() { return {{.name = "opencl loop", .supports = supports, .prepare = prepare}}; }
KernelList random_kernels() { return {{.name = "opencl loop", .supports = random_supports, .prepare = prepare_random}}; }

}  // namespace tandem::opencl
