// Recurrent layers composed of packed products and one elementwise kernel a step, written from the cell's program.
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

/// The kernel of one step. Sizes and places are arguments, so that a program serves all shapes.
std::string step_source(const expr::Program& program, DType dtype, const StepLayout& layout) {
  const std::size_t inputs = program.inputs.size(), outputs = program.outputs.size();
  const auto slot = [&](std::size_t i) { return layout.lanes[i] ? "L" : "T"; };
  std::string out = text(prelude(lane_dtype(dtype) == DType::f64), kForEach, define_dtype("T", dtype), define_dtype("L", lane_dtype(dtype)),
                         "KERNEL cell_step(const long units, const long count, const long per_item");
  for (std::size_t i = 0; i < inputs + outputs; ++i)
    out += text(", __global ", i < inputs ? "const " : "", slot(i), "_mem* x", i, ", const long o", i, ", const long s", i);
  out += ") {\n  FOR_EACH(row, count, per_item)\n    for (long j = 0; j < units; j += 8) {\n      const int m = (int)min(8l, units - j);\n";
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string_view d = slot(i);
    const std::string at = text("o", i, " + row * s", i, " + j");
    if (static_cast<int>(i) == layout.one_value) out += text("      const ", d, "_lane8 in", i, " = (", d, "_lane8)(", d, "_load(x", i, ", 0));\n");
    else out += text("      const ", d, "_lane8 in", i, " = m == 8 ? ", d, "_load8(x", i, ", ", at, ") : ", d, "_part(x", i, ", ", at, ", 1, m, 0);\n");
  }
  out += statements(program);
  for (std::size_t k = 0; k < outputs; ++k) {
    const std::size_t i = inputs + k;
    const std::string at = text("o", i, " + row * s", i, " + j"), v = text("v", program.outputs[k].node);
    out += text("      if (m == 8) ", slot(i), "_store8(x", i, ", ", at, ", ", v, "); else ", slot(i), "_store_part(x", i, ", ", at, ", ", v, ", 1, m);\n");
  }
  return out + "    }\n}\n";
}

/// What both directions share: products of tensors and of lanes, and the step's kernel.
class Recurrent : public PreparedKernel {
 public:
  Recurrent(const KernelCall& call, int x, int kernel, const expr::Program& program, const StepLayout& layout)
      : tensors_(context_of(call), call.dtype()),
        lanes_(context_of(call), lane_dtype(call.dtype())),
        s_(call, x, kernel + 1),
        kernel_(kernel),
        step_(tensors_.context().kernel(step_source(program, call.dtype(), layout), "cell_step")),
        per_item_(tensors_.context().elements_per_item(s_.batch, 60.0 * static_cast<double>(s_.units))) {}

 protected:
  Context& context() const { return tensors_.context(); }
  std::size_t lane_bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * packed_bytes(tensors_.dtype()); }
  /// Panels for a left side of m x depth, or a right side of depth x n.
  std::size_t left_bytes(std::int64_t m, std::int64_t depth) const { return lane_bytes(packed_elements(m, depth, kTileRows)); }
  std::size_t right_bytes(std::int64_t depth, std::int64_t n) const { return lane_bytes(packed_elements(n, depth, kTileColumns)); }

  void run_step(const std::vector<StepOperand>& operands) const {
    Launch launch(context(), step_);
    launch.value(s_.units).value(s_.batch).value(per_item_);
    for (const StepOperand& operand : operands) launch.buffer(operand.buffer).value(operand.offset).value(operand.row_stride);
    launch.run(blocks(s_.batch, per_item_));
  }
  /// Gates side by side.
  void add_gates(std::vector<StepOperand>& to, const void* buffer, std::int64_t offset, std::int64_t row_stride, int count) const {
    for (int g = 0; g < count; ++g) to.push_back({buffer, offset + g * s_.units, row_stride});
  }

  Gemm tensors_, lanes_;
  RecurrentSizes s_;
  int kernel_;
  KernelFunction step_;
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
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps, along = s_.steps * u;
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
    for (std::int64_t t = 0; t < s_.steps; ++t) {
      const StepOperand state = t ? StepOperand{args.outputs[0], (t - 1) * u, along} : StepOperand{args.inputs[1], 0, u};
      if (s_.reset_after()) bias_rows_.run(args.inputs[kernel_ + 2], width, from_state.get(), s_.batch, width);
      tensors_.pack_a({state.buffer, state.offset, state.row_stride, 1}, s_.batch, u, left.get());
      lanes_.multiply(left.get(), recurrent.get(), from_state.get(), 0, s_.batch, width, u, {}, s_.reset_after());
      std::vector<StepOperand> step;
      add_gates(step, from_x.get(), t * width, s_.steps * width, s_.gates);
      add_gates(step, from_state.get(), 0, width, s_.gates);
      if (s_.reset_after()) step.push_back(state);
      if (s_.has_cells()) step.push_back(t ? StepOperand{args.outputs[1], (t - 1) * u, along} : StepOperand{args.inputs[2], 0, u});
      step.push_back({args.outputs[0], t * u, along});
      if (s_.has_cells()) step.push_back({args.outputs[1], t * u, along});
      if (s_.saved) add_gates(step, args.outputs[s_.has_cells() ? 2 : 1], t * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
      run_step(step);
    }
  }

 private:
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
    for (std::int64_t t = s_.steps - 1; t >= 0; --t) {
      run_step(operands(args, t, by_x.get(), by_state, dh.get(), dc.get(), before.get()));
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
