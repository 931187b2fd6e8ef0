// Elementwise ops and random numbers: the formula tree as a kernel.
#include <algorithm>
#include <optional>

#include "tandem/backend/opencl/flat_loop.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/random_program.h"
#include "tandem/kernel/elementwise_program.h"
#include "tandem/kernel/joinable.h"

namespace tandem::opencl {
namespace {

// --- Broadcasting: the result in blocks, for each of which an operand is read in one piece or gathered first. ---

/// Lanes of a block. Work-items of a GPU are short: theirs hold one vector.
constexpr std::int64_t kGathered = 1024;
constexpr std::int64_t kShortRow = 128;
constexpr std::size_t kOuter = kMaxRank - 1;

/// How a block reads an operand: laid out as the result, a piece of a row, one element, gathered row by row, or
/// gathered by the first block for all.
enum class Reading : std::int64_t { dense, piece, repeated, rows, once };

constexpr std::string_view kBlocks = R"(
static long row_offset(const Blocks* n, int operand, long row) {
  long offset = 0;
  for (int d = (int)n->rank - 1; d > 0; --d) {
    const long q = row / n->size[d];
    offset += (row - q * n->size[d]) * n->stride[operand][d];
    row = q;
  }
  return offset + row * n->stride[operand][0];
}

#define PREPARE(i, D) \
  const long reading##i = n.reading[i], direct##i = reading##i <= 1, mask##i = reading##i == 2 ? 0 : -1; \
  const long o##i = reading##i == 1 ? row_offset(&n, i, row) + column : row * n.length + column; \
  if (reading##i == 2 || reading##i == 3 || (reading##i == 4 && block == first)) D##_gather(x##i, s##i, &n, i, row, rows);
)";

/// A run of one element is written in vectors: the next run, or the slack at the end, takes what stands over.
std::string define_gather(std::string_view d) {
  return text(
      "static void ", d, "_gather(__global const ", d, "_mem* x, ", d,
      "_lane* s, const Blocks* n, int i, long row, long rows) {\n",
      "  const long length = n->reading[i] == 2 ? 1 : n->length;\n  for (long r = 0; r < rows; ++r) {\n",
      "    const long from = row_offset(n, i, row + r);\n    ", d,
      "_lane* to = s + r * length;\n    if (n->inner[i]) {\n",
      "#pragma unroll 1\n      for (long c = 0; c < length; ++c) to[c] = ", d,
      "_load(x, from + c);\n    } else {\n      const ", d, "_lane8 same = (", d, "_lane8)(", d, "_load(x, from));\n",
      "#pragma unroll 1\n      for (long c = 0; c < length; c += 8) vstore8(same, 0, to + c);\n    }\n  }\n}\n");
}

std::string blocks_source(const expr::Program& program, bool gathers, int width) {
  const std::size_t count = program.inputs.size();
  std::string parameters = "const Blocks n, ", space, gather, whole, part, functions;
  for (std::size_t i = 0; i < count; ++i) {
    const DType dtype = program.inputs[i];
    const std::string d = slot_of(dtype);
    if (std::find(program.inputs.begin(), program.inputs.begin() + static_cast<std::ptrdiff_t>(i), dtype) ==
        program.inputs.begin() + static_cast<std::ptrdiff_t>(i))
      functions += define_gather(d);
    parameters += text("__global const ", d, "_mem* x", i, ", ");
    space +=
        text("  ", d, "_lane s", i, "[", gathers ? kGathered + kWidth : kWidth, "] __attribute__((aligned(64)));\n");
    gather += text("    PREPARE(", i, ", ", d, ")\n");
    const std::string type = vector_of(dtype, width), x = text("x", i), at = text("o", i, " + k");
    const auto gathered = [&](const char* from) { return text("vload8(0, s", i, " + (", from, " & mask", i, "))"); };
    whole +=
        text("      const ", type, " in", i, " = direct", i, " ? ", load_of(dtype, x, at, width), " : ",
             width == kWidth ? gathered("k") : text("JOIN(", type, ", ", gathered("k"), ", ", gathered("(k + 8)"), ")"),
             ";\n");
    part += text("      const ", vector_of(dtype), " in", i, " = !direct", i, " ? ", gathered("k"), " : m == 8 ? ", d,
                 "_load8(", x, ", ", at, ") : ", d, "_part(", x, ", ", at, ", 1, m, 0);\n");
  }
  parameters += output_parameters(program);
  parameters.resize(parameters.size() - 2);  // the last comma
  return text(
      prelude(uses_fp64(program)), define_dtypes(program),
      "typedef struct { long rows, length, block_rows, block_columns, chunks, blocks, per_item, rank; long size[",
      kOuter, "]; long reading[", count, "]; long inner[", count, "]; long stride[", count, "][", kOuter,
      "]; } Blocks;\n", kBlocks, functions, "KERNEL blocks(", parameters, ") {\n", space,
      "  const long first = ITEM * n.per_item, last = min(n.blocks, first + n.per_item);\n"
      "  for (long block = first; block < last; ++block) {\n"
      "    const long line = block / n.chunks, row = line * n.block_rows, column = (block - line * n.chunks) * "
      "n.block_columns;\n"
      "    const long rows = min(n.block_rows, n.rows - row), columns = min(n.block_columns, n.length - column);\n"
      "    const long count = rows * columns;\n",
      gather,
      "    const long to = row * n.length + column;\n    long k = 0;\n"
      "    for (; k + ",
      width, " <= count; k += ", width, ") {\n      const long at = to + k;\n", whole, compute(program, width),
      "    }\n    for (; k < count; k += 8) {\n      const long at = to + k;\n      const int m = (int)min(8l, count - "
      "k);\n",
      part, compute_part(program), "    }\n  }\n}\n");
}

Axes axes_of(const KernelCall& call) {
  std::vector<Strides> strides;
  for (const Operand& input : call.inputs) strides.push_back(broadcast_strides(input, call.outputs[0].shape()));
  // The output takes part in the joining: its elements are counted in the order of its memory.
  strides.push_back(call.outputs[0].strides);
  return join_axes(call.outputs[0].shape(), strides);
}

Reading reading_of(const Axes& axes, std::size_t operand, bool whole_rows) {
  const std::vector<std::int64_t>& own = axes.strides[operand];
  if (own == axes.strides.back()) return Reading::dense;
  if (!whole_rows) return own.back() ? Reading::piece : Reading::repeated;
  return std::all_of(own.begin(), own.end() - 1, [](std::int64_t stride) { return stride == 0; }) ? Reading::once
                                                                                                  : Reading::rows;
}

/// The words of the struct Blocks, and how many work-items run it.
Nest make_blocks(const Axes& axes, const Context& context, double work) {
  const std::size_t outer = axes.sizes.size() - 1;
  const std::int64_t length = axes.sizes.back(), rows = length ? axes.elements() / length : 0;
  TANDEM_CHECK(outer <= kOuter, "too many axes");
  std::int64_t per_item = std::max<std::int64_t>(context.elements_per_item(axes.elements(), work), kWidth);
  // Short rows go together by eights: then only the last block does not consist of whole vectors.
  const bool whole_rows = context.traits().cpu_type && length <= kShortRow;
  const std::int64_t block_rows = whole_rows ? kGathered / (std::max<std::int64_t>(length, 1) * kWidth) * kWidth : 1;
  const std::int64_t block_columns = whole_rows ? length : std::min(length, blocks(per_item, kWidth) * kWidth);
  const std::int64_t chunks = block_columns ? blocks(length, block_columns) : 1,
                     count = length ? blocks(rows, block_rows) * chunks : 0;
  per_item = std::max<std::int64_t>(1, per_item / std::max<std::int64_t>(1, block_rows * block_columns));
  Nest nest;
  nest.items = blocks(count, per_item);
  nest.words = {rows, length, block_rows, block_columns, chunks, count, per_item, static_cast<std::int64_t>(outer)};
  auto append = [&](const std::vector<std::int64_t>& values) {
    for (std::size_t d = 0; d < kOuter; ++d) nest.words.push_back(d < outer ? values[d] : 0);
  };
  const std::size_t operands = axes.strides.size() - 1;
  append(axes.sizes);
  for (std::size_t i = 0; i < operands; ++i)
    nest.words.push_back(static_cast<std::int64_t>(reading_of(axes, i, whole_rows)));
  for (std::size_t i = 0; i < operands; ++i) nest.words.push_back(axes.strides[i].back());
  for (std::size_t i = 0; i < operands; ++i) append(axes.strides[i]);
  return nest;
}

Support supports(const KernelCall& call) {
  if (Support dtypes = dtypes_supported(call); !dtypes) return dtypes;
  if (!context_of(call).traits().fp64 && uses_fp64(elementwise_program(call))) return no(kNoFloat64);
  for (const auto& strides : axes_of(call).strides)
    if (strides.back() != 0 && strides.back() != 1) return no("an operand's elements do not lie side by side");
  return yes();
}

/// How one loop over all elements reads each input; none when some input is broadcast. By shapes and not by strides:
/// with a batch of one row, too, a bias is broadcast, so that another batch needs no other program.
std::optional<std::vector<FlatInput>> flat_inputs(const KernelCall& call, const Axes& axes) {
  std::vector<FlatInput> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& shape = call.inputs[i].shape();
    const bool whole = shape == call.outputs[0].shape();
    if (whole ? reading_of(axes, i, false) != Reading::dense : shape.elements() != 1) return std::nullopt;
    inputs.push_back(whole ? FlatInput::dense : FlatInput::single);
  }
  return inputs;
}

/// May an input that is as large as the result be broadcast when there are more rows? Then a program that has read one
/// row beside many does as well.
bool may_be_broadcast(const KernelCall& call) {
  const Shape& shape = call.outputs[0].shape();
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == 1) return true;
  return false;
}

/// Is an input [1, n] read for each row of [rows, n]? With one row it looks as if it had as many.
bool repeats_a_row(const KernelCall& call) {
  const Shape& shape = call.outputs[0].shape();
  const auto is_a_row = [&](const Operand& input) {
    const Shape& own = input.shape();
    return own.rank() > 1 && own.rank() == shape.rank() && own[0] == 1 && shape[0] != 1 && own.elements() > 1 &&
           std::equal(own.begin() + 1, own.end(), shape.begin() + 1);
  };
  return std::ranges::any_of(call.inputs, is_a_row);
}

/// An input [1, 1] beside [1, n] is most likely one number for each row, as reductions leave it that keep their axis:
/// with more rows it is broadcast.
bool has_number_of_a_row(const KernelCall& call) {
  const Shape& shape = call.outputs[0].shape();
  return shape.rank() > 1 && shape.elements() != 1 && std::ranges::any_of(call.inputs, [&](const Operand& input) {
           return input.shape().rank() == shape.rank() && input.shape().elements() == 1;
         });
}

class LoopKernel final : public PreparedKernel, public JoinableKernel {
 public:
  explicit LoopKernel(const KernelCall& call)
      : context_(context_of(call)),
        inputs_(call.inputs.size()),
        outputs_(call.outputs.size()),
        count_(call.outputs[0].shape().elements()),
        work_(call.op.flops_per_element) {
    const Axes axes = axes_of(call);
    const expr::Program program = elementwise_program(call);
    const Denormals denormals = call.op.in_place ? Denormals::flushed : Denormals::kept;
    const int width = loop_width(context_, program);
    const std::optional<std::vector<FlatInput>> inputs = flat_inputs(call, axes);
    const std::string source = inputs ? flat_source(program, *inputs, width) : "";
    const bool of_rows = has_number_of_a_row(call);
    if (!inputs || of_rows || (may_be_broadcast(call) && !context_.knows(source, denormals))) {
      const std::string general = blocks_source(program, context_.traits().cpu_type, width);
      if (!inputs || of_rows || context_.repeats_rows(general, denormals)) {
        blocks_ = make_blocks(axes, context_, work_);
        kernel_ = context_.kernel(general, "blocks", denormals);
        if (repeats_a_row(call)) kernel_.program->repeats_rows = true;
        return;
      }
    }
    per_item_ = flat_per_item(context_, count_, work_);
    kernel_ = context_.kernel(source, "flat", denormals);
    if (!call.op.in_place || inputs_ + outputs_ > kMostJoinedBuffers) return;
    joins_with_ = text(&context_, source);
    joined_source_ = [=](std::size_t pieces) { return joined_source(program, *inputs, width, pieces); };
  }

  void run(const KernelArgs& args) const override {
    Launch launch(context_, kernel_);
    const bool flat = per_item_ > 0;
    if (!flat) launch.bytes(blocks_.words.data(), blocks_.words.size() * sizeof(std::int64_t));
    for (std::size_t i = 0; i < inputs_; ++i) launch.buffer(args.inputs[i]);
    for (std::size_t k = 0; k < outputs_; ++k) launch.buffer(args.outputs[k]);
    if (flat) launch.value(count_).value(per_item_);
    launch.run(flat ? blocks(count_, per_item_) : blocks_.items);
  }

  // Updates of variables: as many as there are layers, and each small beside a launch.
  std::string joins_with() const override { return joins_with_; }
  std::size_t most_joined() const override { return kMostJoined; }
  std::unique_ptr<const JoinedKernel> join(std::span<const JoinableKernel* const> all) const override {
    std::vector<std::int64_t> counts;
    for (const JoinableKernel* one : all) counts.push_back(static_cast<const LoopKernel&>(*one).count_);
    return join_flat(context_, joined_source_,
                     {.counts = std::move(counts), .inputs = inputs_, .outputs = outputs_, .work = work_});
  }

 private:
  Context& context_;
  std::size_t inputs_, outputs_;
  std::int64_t count_, per_item_ = 0;  // of a flat loop
  double work_;                        // of an element
  Nest blocks_;
  std::string joins_with_;
  std::function<std::string(std::size_t)> joined_source_;
  KernelFunction kernel_;
};

Prepared prepare(const KernelCall& call) { return std::make_unique<LoopKernel>(call); }

Support random_supports(const KernelCall& call) {
  if (!context_of(call).traits().fp64 && call.outputs[0].dtype() == DType::f64) return no(kNoFloat64);
  return yes();
}

Prepared prepare_random(const KernelCall& call) {
  Context& context = context_of(call);
  const DType dtype = call.outputs[0].dtype(), lane = lane_dtype(dtype);
  const expr::Program program = random_program(call.op, dtype);
  const std::vector<FlatInput> inputs(program.inputs.size(), FlatInput::number);
  const KernelFunction kernel = context.kernel(flat_source(program, inputs, loop_width(context, program)), "flat");
  const std::size_t lane_bytes = dtype_size(lane);
  const std::int64_t count = call.outputs[0].shape().elements(),
                     per_item = flat_per_item(context, count, call.op.flops_per_element);
  return prepared([=, &context, op = &call.op](const KernelArgs& args) {
    const RandomScalars scalars(*op, args.run_time, lane);
    Launch launch(context, kernel);
    for (std::int32_t word : scalars.words) launch.value(word);
    for (const ScalarValue& number : scalars.numbers) launch.bytes(&number, lane_bytes);
    launch.buffer(args.outputs[0]).value(count).value(per_item).run(blocks(count, per_item));
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

Support ordered_dtypes_supported(const KernelCall& call) {
  if (call.dtype() == DType::u64) return no("lanes of int64 do not put uint64 in order; the CPU does");
  return dtypes_supported(call);
}

KernelList elementwise_kernels() { return {{.name = "opencl loop", .supports = supports, .prepare = prepare}}; }
KernelList random_kernels() {
  return {{.name = "opencl loop", .supports = random_supports, .prepare = prepare_random}};
}

}  // namespace tandem::opencl
