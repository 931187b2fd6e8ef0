// Recurrent layers composed of packed products and one elementwise kernel a step, written from the cell's program. On CPU-type
// devices a work-item takes six rows of the batch through all steps but the first, in one launch.
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/recurrent_cell.h"

namespace tandem::opencl {
namespace {

/// An operand of a step, [rows, units] inside a buffer: a tensor of the call, or lanes between steps.
struct StepOperand {
  const void* buffer;
  std::int64_t offset, row_stride;
};

/// How the operands of a cell's program lie in memory.
struct StepLayout {
  std::vector<bool> lanes;  // of inputs, then outputs: lanes instead of elements
  int one_value = -1;       // an input that is one value for all
};

/// ", __global float* x0, const long o0, const long s0, …": the operands, and `more` for each.
std::string step_parameters(const expr::Program& program, const StepLayout& layout, std::string_view more) {
  std::string out;
  const std::size_t inputs = program.inputs.size();
  for (std::size_t i = 0; i < inputs + program.outputs.size(); ++i) {
    out += text(", __global ", i < inputs ? "const " : "", layout.lanes[i] ? "L" : "T", "_mem* x", i, ", const long o", i, ", const long s", i);
    if (!more.empty()) out += text(", const long ", more, i);
  }
  return out;
}

/// The cell's formula for one row; operand i begins at o<i> and, where `step` has a name, has moved on by t times that.
std::string step_body(const expr::Program& program, const StepLayout& layout, std::string_view step) {
  const std::size_t inputs = program.inputs.size(), outputs = program.outputs.size();
  const auto slot = [&](std::size_t i) { return layout.lanes[i] ? "L" : "T"; };
  const auto place = [&](std::size_t i) {
    return step.empty() ? text("o", i, " + row * s", i, " + j") : text("o", i, " + t * ", step, i, " + row * s", i, " + j");
  };
  std::string out = "    for (long j = 0; j < units; j += 8) {\n      const int m = (int)min(8l, units - j);\n";
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string_view d = slot(i);
    const std::string at = place(i);
    if (static_cast<int>(i) == layout.one_value) out += text("      const ", d, "_lane8 in", i, " = (", d, "_lane8)(", d, "_load(x", i, ", 0));\n");
    else out += text("      const ", d, "_lane8 in", i, " = m == 8 ? ", d, "_load8(x", i, ", ", at, ") : ", d, "_part(x", i, ", ", at, ", 1, m, 0);\n");
  }
  out += statements(program);
  for (std::size_t k = 0; k < outputs; ++k) {
    const std::size_t i = inputs + k;
    const std::string at = place(i), v = text("v", program.outputs[k].node);
    out += text("      if (m == 8) ", slot(i), "_store8(x", i, ", ", at, ", ", v, "); else ", slot(i), "_store_part(x", i, ", ", at, ", ", v, ", 1, m);\n");
  }
  return out + "    }\n";
}

/// The kernel of one step. Sizes and places are arguments, so that a program serves all shapes.
std::string step_source(const expr::Program& program, DType dtype, const StepLayout& layout) {
  return text(prelude(lane_dtype(dtype) == DType::f64), kForEach, define_dtype("T", dtype), define_dtype("L", lane_dtype(dtype)),
              "KERNEL cell_step(const long units, const long count, const long per_item", step_parameters(program, layout, ""),
              ") {\n  FOR_EACH(row, count, per_item)\n", step_body(program, layout, ""), "}\n");
}

constexpr std::string_view kRowProducts = R"(
#define ROW(r) (P)LEFT_load(left, at[r] + k)
#define KEEP(r, low, high, A) \
  if (r < rows) { \
    __global P* to = y + (first + r) * y_stride + j; \
    if (wide) { \
      PUT8(P8, to, low + (start == 2 ? GET8(P8, to) : from0)); \
      PUT8(P8, to + 8, high + (start == 2 ? GET8(P8, to + 8) : from1)); \
    } else { \
      P all[16]; \
      vstore8(low + from0, 0, all); \
      vstore8(high + from1, 1, all); \
      for (int u = 0; u < columns; ++u) to[u] = all[u] + (start == 2 ? to[u] : (P)0); \
    } \
  }
// Rows first .. first+5 of `left` times the panels: y[rows, n], which starts as zero, as the bias (1) or as it is (2).
static void row_products(__global const LEFT_mem* left, long offset, long stride, long first, int rows, __global const P* panels, long n, long depth,
                         __global P* y, long y_stride, __global const T_mem* bias, long bias_at, int start) {
  long at[6];
  for (int r = 0; r < 6; ++r) at[r] = offset + (first + min(r, rows - 1)) * stride;
  for (long j = 0; j < n; j += 16) {
    const int columns = (int)min(16l, n - j), wide = columns == 16;
    __global const P* pb = panels + j * depth;
    TILE
    for (long k = 0; k < depth; ++k, pb += 16) {
      const P8 b0 = GET8(P8, pb), b1 = GET8(P8, pb + 8);
      STEP_TILE(ROW)
    }
    P8 from0 = (P8)(0), from1 = from0;
    if (start == 1) {
      from0 = columns >= 8 ? T_load8(bias, bias_at + j) : T_part(bias, bias_at + j, 1, columns, 0);
      from1 = wide ? T_load8(bias, bias_at + j + 8) : T_part(bias, bias_at + j + 8, 1, columns - 8, 0);
    }
    EACH_ROW(KEEP, )
  }
}
)";

/// The kernel of several steps, the product with the state before or after the formula of each. `left`: the slot of the product's rows.
std::string steps_source(const expr::Program& program, DType dtype, const StepLayout& layout, bool forward) {
  constexpr std::string_view kProduct =
      "    row_products(left, left_o + t * left_d, left_s, first, rows, panels, n, depth, y, y_s, bias, bias_at, start);\n";
  const std::string cells = text("    for (long row = first; row < first + rows; ++row)\n", step_body(program, layout, "d"));
  return text(gemm_prelude(dtype), define_dtype("L", lane_dtype(dtype)), Epilogue().source(), tile_text(kWidth), "#define LEFT_mem ", forward ? "T" : "L",
              "_mem\n#define LEFT_load ", forward ? "T" : "L", "_load\n", kRowProducts,
              "KERNEL cell_steps(const long units, const long count, const long steps, __global const LEFT_mem* left, const long left_o, "
              "const long left_s, const long left_d, __global const P* panels, const long n, const long depth, __global P* y, const long y_s, "
              "__global const T_mem* bias, const long bias_at, const int start", step_parameters(program, layout, "d"),
              ") {\n  const long first = (long)get_global_id(0) * 6;\n  if (first >= count) return;\n"
              "  const int rows = (int)min(6l, count - first);\n  for (long t = 0; t < steps; ++t) {\n",
              forward ? kProduct : "", cells, forward ? "" : kProduct, "  }\n}\n");
}

/// The product of several steps: rows of `left`, which moves on by `step` elements, times panels [n/16][depth][16].
struct StepProduct {
  StepOperand left;
  std::int64_t step;
  const void* panels;
  std::int64_t n, depth;
  void* to;
  const void* bias;
  std::int64_t bias_at;
  int start;  // 0: of zeros, 1: of the bias, 2: of what is there
};

/// What both directions share: products of tensors and of lanes, and the step's kernel.
class Recurrent : public PreparedKernel {
 public:
  Recurrent(const KernelCall& call, int x, int kernel, const expr::Program& program, const StepLayout& layout)
      : tensors_(context_of(call), call.dtype()),
        lanes_(context_of(call), lane_dtype(call.dtype())),
        s_(call, x, kernel + 1),
        kernel_(kernel),
        inputs_(program.inputs.size()),
        step_(tensors_.context().kernel(step_source(program, call.dtype(), layout), "cell_step")),
        per_item_(tensors_.context().elements_per_item(s_.batch, 60.0 * static_cast<double>(s_.units))) {
    if (at_once()) steps_ = context().kernel(steps_source(program, call.dtype(), layout, x == 0), "cell_steps");
  }

 protected:
  Context& context() const { return tensors_.context(); }
  std::size_t lane_bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * packed_bytes(tensors_.dtype()); }
  /// Panels for a left side of m x depth, or a right side of depth x n.
  std::size_t left_bytes(std::int64_t m, std::int64_t depth) const { return lane_bytes(packed_elements(m, depth, kTileRows)); }
  std::size_t right_bytes(std::int64_t depth, std::int64_t n) const { return lane_bytes(packed_elements(n, depth, kPanelColumns)); }

  void run_step(const std::vector<StepOperand>& operands) const {
    Launch launch(context(), step_);
    launch.value(s_.units).value(s_.batch).value(per_item_);
    for (std::size_t i = 0; i < operands.size(); ++i) add(launch, i, operands[i]);
    launch.run(blocks(s_.batch, per_item_));
  }
  /// Can a work-item go through the steps by itself? It reads all weights in each, so they must stay in its cache; and each unit
  /// should have rows.
  bool at_once() const {
    constexpr std::size_t kCacheBytes = 256 * 1024;
    return context().traits().cpu_type && s_.steps > 1 && right_bytes(s_.units, s_.gate_width()) <= kCacheBytes &&
           blocks(s_.batch, kTileRows) >= context().traits().units;
  }
  /// All steps from the one with these operands, of which the next one has `next`.
  void run_steps(const StepProduct& product, const std::vector<StepOperand>& operands, const std::vector<StepOperand>& next) const {
    Launch launch(context(), steps_);
    launch.value(s_.units).value(s_.batch).value(s_.steps - 1).buffer(product.left.buffer).value(product.left.offset).value(product.left.row_stride)
        .value(product.step).buffer(product.panels).value(product.n).value(product.depth).buffer(product.to).value(product.n).buffer(product.bias)
        .value(product.bias_at).value<cl_int>(product.start);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      add(launch, i, operands[i]);
      launch.value(next[i].offset - operands[i].offset);
    }
    launch.run(blocks(s_.batch, kTileRows));
  }
  void add(Launch& launch, std::size_t i, const StepOperand& operand) const {
    if (i < inputs_) launch.buffer(operand.buffer);
    else launch.buffer(const_cast<void*>(operand.buffer));
    launch.value(operand.offset).value(operand.row_stride);
  }
  /// Gates side by side.
  void add_gates(std::vector<StepOperand>& to, const void* buffer, std::int64_t offset, std::int64_t row_stride, int count) const {
    for (int g = 0; g < count; ++g) to.push_back({buffer, offset + g * s_.units, row_stride});
  }

  Gemm tensors_, lanes_;
  RecurrentSizes s_;
  int kernel_;
  std::size_t inputs_;  // operands of a step that are only read
  KernelFunction step_, steps_;
  std::int64_t per_item_;
};

StepLayout forward_layout(CellKind kind) {
  if (kind == CellKind::simple_rnn) return {{true, true, false}};
  std::vector<bool> lanes(kind == CellKind::lstm ? 15 : 12, false);
  std::fill_n(lanes.begin(), kind == CellKind::lstm ? 8 : 6, true);  // what x and the state give
  return {lanes};
}

class Forward final : public Recurrent {
 public:
  explicit Forward(const KernelCall& call)
      : Recurrent(call, 0, cell_kind(call.op) == CellKind::lstm ? 3 : 2, cell_forward(cell_kind(call.op), lane_dtype(call.dtype())),
                  forward_layout(cell_kind(call.op))),
        bias_rows_(context(), call) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps;
    BufferPool& pool = context().pool();
    const Scratch from_x(pool, lane_bytes(rows * width)), from_state(pool, lane_bytes(s_.batch * width));
    const Scratch left(pool, std::max(left_bytes(rows, s_.inputs + 1), left_bytes(s_.batch, u + 1)));
    const Scratch right(pool, right_bytes(s_.inputs + 1, width)), recurrent(pool, right_bytes(u, width));
    bias_rows_.run(args.inputs[kernel_ + 2], 0, from_x.get(), rows, width);
    if (s_.inputs > 0) {
      tensors_.pack_a({args.inputs[0], 0, s_.inputs, 1}, rows, s_.inputs, left.get());
      tensors_.pack_b({args.inputs[kernel_], 0, width, 1}, s_.inputs, width, right.get());
      lanes_.multiply(left.get(), right.get(), from_x.get(), 0, rows, width, s_.inputs, {}, true);
    }
    tensors_.pack_b({args.inputs[kernel_ + 1], 0, width, 1}, u, width, recurrent.get());
    for (std::int64_t t = 0; t < (at_once() ? 1 : s_.steps); ++t) {
      const StepOperand state = state_before(args, t);
      if (s_.reset_after()) bias_rows_.run(args.inputs[kernel_ + 2], width, from_state.get(), s_.batch, width);
      tensors_.pack_a({state.buffer, state.offset, state.row_stride, 1}, s_.batch, u, left.get());
      lanes_.multiply(left.get(), recurrent.get(), from_state.get(), 0, s_.batch, width, u, {}, s_.reset_after());
      run_step(operands(args, t, from_x.get(), from_state.get()));
    }
    if (!at_once()) return;
    run_steps({.left = state_before(args, 1), .step = u, .panels = recurrent.get(), .n = width, .depth = u, .to = from_state.get(),
               .bias = args.inputs[kernel_ + 2], .bias_at = width, .start = s_.reset_after() ? 1 : 0},
              operands(args, 1, from_x.get(), from_state.get()), operands(args, 2, from_x.get(), from_state.get()));
  }

 private:
  StepOperand state_before(const KernelArgs& args, std::int64_t t) const {
    return t ? StepOperand{args.outputs[0], (t - 1) * s_.units, s_.steps * s_.units} : StepOperand{args.inputs[1], 0, s_.units};
  }

  std::vector<StepOperand> operands(const KernelArgs& args, std::int64_t t, const void* from_x, const void* from_state) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), along = s_.steps * u;
    std::vector<StepOperand> step;
    add_gates(step, from_x, t * width, s_.steps * width, s_.gates);
    add_gates(step, from_state, 0, width, s_.gates);
    if (s_.reset_after()) step.push_back(state_before(args, t));
    if (s_.has_cells()) step.push_back(t ? StepOperand{args.outputs[1], (t - 1) * u, along} : StepOperand{args.inputs[2], 0, u});
    step.push_back({args.outputs[0], t * u, along});
    if (s_.has_cells()) step.push_back({args.outputs[1], t * u, along});
    if (s_.saved) add_gates(step, args.outputs[s_.has_cells() ? 2 : 1], t * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
    return step;
  }

  /// Rows of lanes that are copies of the bias.
  class BiasRows {
   public:
    BiasRows(Context& context, const KernelCall& call)
        : context_(&context),
          kernel_(context.kernel(text(prelude(lane_dtype(call.dtype()) == DType::f64), kForEach, define_dtype("T", call.dtype()),
                                      define_dtype("L", lane_dtype(call.dtype())), R"(
KERNEL bias_rows(__global const T_mem* bias, const long offset, __global L_mem* to, const long width, const long count, const long per_item) {
  FOR_EACH(row, count, per_item)
    for (long j = 0; j < width; ++j) L_store(to, row * width + j, T_load(bias, offset + j));
}
)"),
                                 "bias_rows")) {}
    void run(const void* bias, std::int64_t offset, void* to, std::int64_t rows, std::int64_t width) const {
      const std::int64_t per_item = context_->elements_per_item(rows, static_cast<double>(width));
      Launch(*context_, kernel_).buffer(bias).value(offset).buffer(to).value(width).value(rows).value(per_item).run(blocks(rows, per_item));
    }

   private:
    Context* context_;
    KernelFunction kernel_;
  };
  BiasRows bias_rows_;
};

StepLayout backward_layout(const KernelCall& call) {
  switch (cell_kind(call.op)) {
    case CellKind::lstm:  // gates, cell, cell before, dy | dh, dc | dcell | gates, dc
      return {{false, false, false, false, false, false, false, true, true, false, true, true, true, true, true},
              call.shape(1).rank() == 0 ? 9 : -1};
    case CellKind::gru:  // saved, state before, dy | dh | gates twice, dh
      return {{false, false, false, false, false, false, true, true, true, true, true, true, true, true}};
    default: return {{false, false, true, true}};
  }
}

class Backward final : public Recurrent {
 public:
  explicit Backward(const KernelCall& call)
      : Recurrent(call, cell_kind(call.op) == CellKind::lstm ? 2 : 1, cell_kind(call.op) == CellKind::lstm ? 5 : 3,
                  cell_backward(cell_kind(call.op), lane_dtype(call.dtype())), backward_layout(call)),
        x_(cell_kind(call.op) == CellKind::lstm ? 2 : 1),
        element_(dtype_size(call.dtype())),
        first_(context(), element_, rows_axes(s_, 1, s_.units)),
        others_(context(), element_, rows_axes(s_, s_.steps - 1, s_.steps * s_.units)),
        states_(context(), lane_dtype(call.dtype()), s_.batch * s_.units),
        rows_(context(), lane_dtype(call.dtype()), s_.batch * s_.steps),
        narrowing_(context(), call.dtype(), s_.batch * s_.units) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps;
    BufferPool& pool = context().pool();
    const Scratch by_x(pool, lane_bytes(rows * width)), second(pool, s_.reset_after() ? lane_bytes(rows * width) : 0);
    const Scratch dh(pool, lane_bytes(s_.batch * u)), dc(pool, lane_bytes(s_.batch * u));
    const Scratch before(pool, static_cast<std::size_t>(rows * u) * element_);
    const void* by_state = s_.reset_after() ? second.get() : by_x.get();
    first_.run(args.inputs[x_ + 1], 0, before.get(), 0);
    if (s_.steps > 1) others_.run(args.inputs[kernel_ + 2], 0, before.get(), u);
    for (const Scratch* carried : {&dh, &dc}) states_.run(carried->get(), 0);

    const Scratch left(pool, left_bytes(s_.batch, width)), transposed(pool, right_bytes(width, u));
    tensors_.pack_b({args.inputs[kernel_ + 1], 0, 1, width}, width, u, transposed.get());
    const std::int64_t last = s_.steps - 1;
    const auto step_at = [&](std::int64_t t) { return operands(args, t, by_x.get(), by_state, dh.get(), dc.get(), before.get()); };
    if (at_once())
      run_steps({.left = {by_state, last * width, s_.steps * width}, .step = -width, .panels = transposed.get(), .n = u, .depth = width,
                 .to = dh.get(), .bias = args.inputs[kernel_ + 2], .bias_at = 0, .start = s_.reset_after() ? 2 : 0},
                step_at(last), last > 1 ? step_at(last - 1) : step_at(last));
    for (std::int64_t t = at_once() ? 0 : last; t >= 0; --t) {
      run_step(step_at(t));
      lanes_.pack_a({by_state, t * width, s_.steps * width, 1}, s_.batch, width, left.get());
      lanes_.multiply(left.get(), transposed.get(), dh.get(), 0, s_.batch, u, width, {}, s_.reset_after());
    }
    store_state(dh.get(), args.outputs[1]);
    if (s_.has_cells()) store_state(dc.get(), args.outputs[2]);
    by_weights(args, by_x.get(), by_state, before.get());
  }

 private:
  /// Copies of `steps` states a sequence: from rows `from_stride` apart to rows of all steps.
  static Axes rows_axes(const RecurrentSizes& s, std::int64_t steps, std::int64_t from_stride) {
    Strides from{}, to{};
    from[0] = from_stride, from[1] = s.units, from[2] = 1;
    to[0] = s.steps * s.units, to[1] = s.units, to[2] = 1;
    return join_axes(Shape{s.batch, std::max<std::int64_t>(steps, 0), s.units}, std::array<Strides, 2>{from, to});
  }

  std::vector<StepOperand> operands(const KernelArgs& args, std::int64_t t, void* by_x, const void* by_state, void* dh, void* dc,
                                    const void* before) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), along = s_.steps * u;
    const bool lstm = s_.has_cells();
    std::vector<StepOperand> step;
    if (s_.saved) add_gates(step, args.inputs[lstm ? 9 : 6], t * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
    else step.push_back({args.inputs[kernel_ + 2], t * u, along});
    if (lstm) {
      step.push_back({args.inputs[8], t * u, along});
      step.push_back(t ? StepOperand{args.inputs[8], (t - 1) * u, along} : StepOperand{args.inputs[4], 0, u});
    }
    if (s_.reset_after()) step.push_back({before, t * u, along});
    step.push_back({args.inputs[0], t * u, along});
    step.push_back({dh, 0, u});
    if (lstm) {
      step.push_back({dc, 0, u});
      step.push_back({args.inputs[1], t * u, along});
    }
    add_gates(step, by_x, t * width, s_.steps * width, s_.gates);
    if (s_.reset_after()) {
      add_gates(step, by_state, t * width, s_.steps * width, s_.gates);
      step.push_back({dh, 0, u});
    }
    if (lstm) step.push_back({dc, 0, u});
    return step;
  }

  void store_state(Buffer* lanes, void* to) const {
    if (narrowing_.needed()) return narrowing_.run(lanes, to);
    // The same elements: a copy of one row.
    Strides one{1};
    StridedCopy(context(), element_, join_axes(Shape{s_.batch * s_.units}, std::array<Strides, 2>{one, one})).run(lanes, 0, to, 0);
  }

  void by_weights(const KernelArgs& args, const void* by_x, const void* by_state, const void* before) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps, in = s_.inputs;
    const int weights = s_.has_cells() ? 3 : 2;
    BufferPool& pool = context().pool();
    const Scratch left(pool, std::max({left_bytes(rows, width), left_bytes(in, rows), left_bytes(u, rows)}));
    const Scratch right(pool, std::max(right_bytes(rows, width), right_bytes(width, in)));
    if (in > 0) {
      lanes_.pack_a({by_x, 0, width, 1}, rows, width, left.get());
      tensors_.pack_b({args.inputs[kernel_], 0, 1, width}, width, in, right.get());
      tensors_.multiply(left.get(), right.get(), args.outputs[0], 0, rows, in, width, {}, false);
    }
    lanes_.pack_b({by_x, 0, width, 1}, rows, width, right.get());
    if (in > 0) {
      tensors_.pack_a({args.inputs[x_], 0, 1, in}, in, rows, left.get());
      tensors_.multiply(left.get(), right.get(), args.outputs[weights], 0, in, width, rows, {}, false);
    }
    const Scratch ones(pool, lane_bytes(rows));
    rows_.run(ones.get(), 1);
    const Scratch summing(pool, left_bytes(1, rows));
    lanes_.pack_a({ones.get(), 0, rows, 1}, 1, rows, summing.get());
    tensors_.multiply(summing.get(), right.get(), args.outputs[weights + 2], 0, 1, width, rows, {}, false);
    if (s_.reset_after()) {
      lanes_.pack_b({by_state, 0, width, 1}, rows, width, right.get());
      tensors_.multiply(summing.get(), right.get(), args.outputs[weights + 2], width, 1, width, rows, {}, false);
    }
    tensors_.pack_a({before, 0, 1, u}, u, rows, left.get());
    tensors_.multiply(left.get(), right.get(), args.outputs[weights + 1], 0, u, width, rows, {}, false);
  }

  int x_;
  std::size_t element_;
  StridedCopy first_, others_;
  Filling states_, rows_;
  Narrowing narrowing_;
};

Support not_empty(const KernelCall& call) {
  if (call.outputs.back().shape().elements() == 0 || call.outputs[0].shape().elements() == 0 || call.shape(0).elements() == 0)
    return no("nothing to compute: an operand is empty");
  return dtypes_supported(call);
}

template <class K>
KernelList list() {
  return {{.name = "opencl steps", .supports = not_empty, .prepare = [](const KernelCall& call) -> Prepared {
             return std::make_unique<K>(call);
           }}};
}

}  // namespace

KernelList recurrent_kernels() { return list<Forward>(); }
KernelList recurrent_grad_kernels() { return list<Backward>(); }

}  // namespace tandem::opencl
