// Recurrent layers composed of packed products and one elementwise kernel a step, written from the cell's program. On
// CPU-type devices a work-item takes six rows of the batch through all steps but the first, in one launch.
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/network_kernels.h"
#include "tandem/backend/opencl/pieces.h"
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
  int biased = 0;           // input i below this gets row i of bias[biased, units] added
};

/// ", __global float* x0, const long o0, const long s0, …": the operands, and `more` for each.
std::string step_parameters(const expr::Program& program, const StepLayout& layout, std::string_view more) {
  std::string out;
  const std::size_t inputs = program.inputs.size();
  for (std::size_t i = 0; i < inputs + program.outputs.size(); ++i) {
    out += text(", __global ", i < inputs ? "const " : "", layout.lanes[i] ? "L" : "T", "_mem* x", i, ", const long o",
                i, ", const long s", i);
    if (!more.empty()) out += text(", const long ", more, i);
  }
  return layout.biased ? text(out, ", __global const T_mem* bias") : out;
}

/// The cell's formula for one row, in vectors of `width` lanes; operand i begins at o<i> and, where `step` has a name,
/// has moved on by t times that.
std::string step_body(const expr::Program& program, const StepLayout& layout, std::string_view step, int width) {
  const std::size_t inputs = program.inputs.size(), outputs = program.outputs.size();
  const auto slot = [&](std::size_t i) { return layout.lanes[i] ? "L" : "T"; };
  const auto place = [&](std::size_t i) {
    return step.empty() ? text("o", i, " + row * s", i, " + j")
                        : text("o", i, " + t * ", step, i, " + row * s", i, " + j");
  };
  std::string out = "    for (long j = 0; j < units; j += LANES) {\n      const int m = PIECE(units - j);\n";
  for (std::size_t i = 0; i < inputs; ++i) {
    const int number = static_cast<int>(i);
    const std::string in = text("      const V in", i, " = ");
    if (number == layout.one_value) out += text(in, "(V)(", slot(i), "_load(x", i, ", 0));\n");
    else
      out += text(in, slot(i), "_piece(x", i, ", ", place(i), ", m)",
                  number < layout.biased ? text(" + T_piece(bias, ", i, " * units + j, m)") : "", ";\n");
  }
  out += statements(program, width);
  for (std::size_t k = 0; k < outputs; ++k)
    out += text("      ", slot(inputs + k), "_piece_store(x", inputs + k, ", ", place(inputs + k), ", m, v",
                program.outputs[k].node, ");\n");
  return out + "    }\n";
}

std::string step_pieces(DType dtype, int width) {
  return text(define_dtype("L", lane_dtype(dtype)), pieces_text("T", dtype, width),
              pieces_text("L", lane_dtype(dtype), width));
}

/// The kernel of one step. Sizes and places are arguments, so that a program serves all shapes.
std::string step_source(const expr::Program& program, DType dtype, const StepLayout& layout, int width) {
  return text(prelude(lane_dtype(dtype) == DType::f64), kForEach, define_dtype("T", dtype), step_pieces(dtype, width),
              "KERNEL cell_step(const long units, const long count, const long per_item",
              step_parameters(program, layout, ""), ") {\n  FOR_EACH(row, count, per_item)\n",
              step_body(program, layout, "", width), "}\n");
}

constexpr std::string_view kRowProducts = R"(
#define ROW(r) (P)LEFT_load(left, at[r] + k)
#define NEXT ++k, pb += 16
// Rows begin .. begin+5 of `left` times the panels: to c[., n], or added to what is there.
static void row_products(__global const LEFT_mem* left, long offset, long stride, long begin, int rows, __global const P* panels, long n, long depth,
                         __global C_mem* c, int add) {
  long at[6];
  for (int r = 0; r < 6; ++r) at[r] = offset + (begin + min(r, rows - 1)) * stride;
  const long panel = depth * 16;
  for (long first = 0; first < n; first += TILE_COLUMNS) {
    const int columns = (int)min((long)TILE_COLUMNS, n - first);
    __global const P* pb = panels + first * depth;
    TILE
    TILE_LOOP(long k = 0, k < depth, NEXT, PANEL_COLUMNS, ROW)
    const long to = begin * n + first;
    PUT_TILE
  }
}
)";

/// The kernel of several steps, the product with the state before or after the formula of each. `left`: the slot of the
/// product's rows.
std::string steps_source(const expr::Program& program, DType dtype, const StepLayout& layout, bool forward, int width) {
  constexpr std::string_view kProduct =
      "    row_products(left, left_o + t * left_d, left_s, first, rows, panels, n, depth, y, add);\n";
  const std::string cells =
      text("    for (long row = first; row < first + rows; ++row)\n", step_body(program, layout, "d", width));
  return text(gemm_prelude(dtype, lane_dtype(dtype)), step_pieces(dtype, width), Epilogue().source(), tile_text(width),
              "#define LEFT_mem ", forward ? "T" : "L", "_mem\n#define LEFT_load ", forward ? "T" : "L", "_load\n",
              kRowProducts,
              "KERNEL cell_steps(const long units, const long count, const long steps, __global const LEFT_mem* left, "
              "const long left_o, "
              "const long left_s, const long left_d, __global const P* panels, const long n, const long depth, "
              "__global C_mem* y, const int add",
              step_parameters(program, layout, "d"),
              ") {\n  const long first = ITEM * 6;\n  if (first >= count) return;\n"
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
  bool add;  // to what is there
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
        biased_(layout.biased > 0),
        per_item_(tensors_.context().elements_per_item(s_.batch, 60.0 * static_cast<double>(s_.units))) {
    const int width = tile_lanes(context(), call.dtype());
    step_ = at_once() ? context().kernel(steps_source(program, call.dtype(), layout, x == 0, width), "cell_steps")
                      : context().kernel(step_source(program, call.dtype(), layout, width), "cell_step");
  }

 protected:
  Context& context() const { return tensors_.context(); }
  std::size_t lane_bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * packed_bytes(tensors_.dtype());
  }
  /// Panels for a left side of m x depth, or a right side of depth x n.
  std::size_t left_bytes(std::int64_t m, std::int64_t depth) const {
    return lane_bytes(packed_elements(m, depth, kTileRows));
  }
  std::size_t right_bytes(std::int64_t depth, std::int64_t n) const {
    return lane_bytes(packed_elements(n, depth, kPanelColumns));
  }

  void run_step(const std::vector<StepOperand>& operands, const void* bias = nullptr) const {
    Launch launch(context(), step_);
    launch.value(s_.units).value(s_.batch).value(per_item_);
    for (std::size_t i = 0; i < operands.size(); ++i) add(launch, i, operands[i]);
    if (biased_) launch.buffer(bias);
    launch.run(blocks(s_.batch, per_item_));
  }
  /// Can a work-item go through the steps by itself? It reads all weights in each, so they must stay in its cache. Not
  /// by how many rows there are: another batch should need no other kernel.
  bool at_once() const {
    constexpr std::size_t kCacheBytes = 256 * 1024;
    return context().traits().cpu_type && right_bytes(s_.units, s_.gate_width()) <= kCacheBytes;
  }
  /// `steps` steps from the one with these operands, of which the one after has `next`.
  void run_steps(std::int64_t steps, const StepProduct& product, const std::vector<StepOperand>& operands,
                 const std::vector<StepOperand>& next, const void* bias = nullptr) const {
    if (steps == 0) return;
    Launch launch(context(), step_);
    launch.value(s_.units)
        .value(s_.batch)
        .value(steps)
        .buffer(product.left.buffer)
        .value(product.left.offset)
        .value(product.left.row_stride)
        .value(product.step)
        .buffer(product.panels)
        .value(product.n)
        .value(product.depth)
        .buffer(product.to)
        .value<cl_int>(product.add);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      add(launch, i, operands[i]);
      launch.value(next[i].offset - operands[i].offset);
    }
    if (biased_) launch.buffer(bias);
    launch.run(blocks(s_.batch, kTileRows));
  }
  void add(Launch& launch, std::size_t i, const StepOperand& operand) const {
    if (i < inputs_) launch.buffer(operand.buffer);
    else launch.buffer(const_cast<void*>(operand.buffer));
    launch.value(operand.offset).value(operand.row_stride);
  }
  /// Gates side by side.
  void add_gates(std::vector<StepOperand>& to, const void* buffer, std::int64_t offset, std::int64_t row_stride,
                 int count) const {
    for (int g = 0; g < count; ++g) to.push_back({buffer, offset + g * s_.units, row_stride});
  }

  Gemm tensors_, lanes_;
  RecurrentSizes s_;
  int kernel_;
  std::size_t inputs_;  // operands of a step that are only read
  bool biased_;
  KernelFunction step_;  // of one step, or of several at once
  std::int64_t per_item_;
};

StepLayout forward_layout(CellKind kind) {
  if (kind == CellKind::simple_rnn) return {.lanes = {true, true, false}, .biased = 1};
  const bool lstm = kind == CellKind::lstm;
  std::vector<bool> lanes(lstm ? 15 : 12, false);
  std::fill_n(lanes.begin(), lstm ? 8 : 6, true);  // what x and the state give
  return {.lanes = lanes, .biased = lstm ? 4 : 6};
}

class Forward final : public Recurrent {
 public:
  explicit Forward(const KernelCall& call)
      : Recurrent(call, 0, cell_kind(call.op) == CellKind::lstm ? 3 : 2,
                  cell_forward(cell_kind(call.op), lane_dtype(call.dtype())), forward_layout(cell_kind(call.op))) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps;
    BufferPool& pool = context().pool();
    const Scratch from_x(pool, lane_bytes(rows * width)), from_state(pool, lane_bytes(s_.batch * width));
    const Scratch left(pool, std::max(left_bytes(rows, s_.inputs), left_bytes(s_.batch, u)));
    const Scratch right(pool, right_bytes(s_.inputs, width)), recurrent(pool, right_bytes(u, width));
    tensors_.pack_a({args.inputs[0], 0, s_.inputs, 1}, rows, s_.inputs, left.get());
    tensors_.pack_b({args.inputs[kernel_], 0, width, 1}, s_.inputs, width, right.get());
    lanes_.multiply(left.get(), right.get(), from_x.get(), 0, rows, width, s_.inputs, {}, false);
    tensors_.pack_b({args.inputs[kernel_ + 1], 0, width, 1}, u, width, recurrent.get());
    const auto step_at = [&](std::int64_t t) { return operands(args, t, from_x.get(), from_state.get()); };
    const void* bias = args.inputs[kernel_ + 2];
    if (at_once()) {
      const auto from = [&](std::int64_t t, std::int64_t steps) {
        run_steps(steps,
                  {.left = state_before(args, t),
                   .step = u,
                   .panels = recurrent.get(),
                   .n = width,
                   .depth = u,
                   .to = from_state.get(),
                   .add = false},
                  step_at(t), step_at(t + 1), bias);
      };
      from(0, 1);  // which has its state from elsewhere
      from(1, s_.steps - 1);
      return;
    }
    for (std::int64_t t = 0; t < s_.steps; ++t) {
      const StepOperand state = state_before(args, t);
      tensors_.pack_a({state.buffer, state.offset, state.row_stride, 1}, s_.batch, u, left.get());
      lanes_.multiply(left.get(), recurrent.get(), from_state.get(), 0, s_.batch, width, u, {}, false);
      run_step(step_at(t), bias);
    }
  }

 private:
  StepOperand state_before(const KernelArgs& args, std::int64_t t) const {
    return t ? StepOperand{args.outputs[0], (t - 1) * s_.units, s_.steps * s_.units}
             : StepOperand{args.inputs[1], 0, s_.units};
  }

  std::vector<StepOperand> operands(const KernelArgs& args, std::int64_t t, const void* from_x,
                                    const void* from_state) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), along = s_.steps * u;
    std::vector<StepOperand> step;
    add_gates(step, from_x, t * width, s_.steps * width, s_.gates);
    add_gates(step, from_state, 0, width, s_.gates);
    if (s_.reset_after()) step.push_back(state_before(args, t));
    if (s_.has_cells())
      step.push_back(t ? StepOperand{args.outputs[1], (t - 1) * u, along} : StepOperand{args.inputs[2], 0, u});
    step.push_back({args.outputs[0], t * u, along});
    if (s_.has_cells()) step.push_back({args.outputs[1], t * u, along});
    if (s_.saved)
      add_gates(step, args.outputs[s_.has_cells() ? 2 : 1], t * s_.saved_width(), s_.steps * s_.saved_width(),
                s_.saved);
    return step;
  }
};

StepLayout backward_layout(const KernelCall& call) {
  switch (cell_kind(call.op)) {
    case CellKind::lstm:  // gates, cell, cell before, dy | dh, dc | dcell | gates, dc
      return {
          .lanes = {false, false, false, false, false, false, false, true, true, false, true, true, true, true, true},
          .one_value = call.shape(1).rank() == 0 ? 9 : -1};
    case CellKind::gru:  // saved, state before, dy | dh | gates twice, dh
      return {.lanes = {false, false, false, false, false, false, true, true, true, true, true, true, true, true}};
    default: return {.lanes = {false, false, true, true}};
  }
}

constexpr std::string_view kColumnSums = R"(
KERNEL column_sums(__global const L_mem* x, __global T_mem* y, const long offset, const long rows, const long n) {
  const long first = ITEM * LANES;
  if (first >= n) return;
  const int m = PIECE(n - first);
  V sum = (V)(0);
  for (long row = 0; row < rows; ++row) sum += L_piece(x, row * n + first, m);
  T_piece_store(y, offset + first, m, sum);
}
)";

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
        narrowing_(context(), call.dtype(), s_.batch * s_.units),
        sum_width_(tile_lanes(context(), call.dtype())),
        sums_(context().kernel(text(prelude(lane_dtype(call.dtype()) == DType::f64), define_dtype("T", call.dtype()),
                                    step_pieces(call.dtype(), static_cast<int>(sum_width_)), kColumnSums),
                               "column_sums")) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t u = s_.units, width = s_.gate_width(), rows = s_.batch * s_.steps;
    BufferPool& pool = context().pool();
    const Scratch by_x(pool, lane_bytes(rows * width)), second(pool, s_.reset_after() ? lane_bytes(rows * width) : 0);
    // The last ones are results, unless these are narrower than lanes.
    const bool narrow = narrowing_.needed();
    const Scratch own_dh(pool, narrow ? lane_bytes(s_.batch * u) : 0),
        own_dc(pool, narrow && s_.has_cells() ? lane_bytes(s_.batch * u) : 0);
    void* dh = narrow ? own_dh.get() : args.outputs[1];
    void* dc = narrow || !s_.has_cells() ? own_dc.get() : args.outputs[2];
    const Scratch before(pool, static_cast<std::size_t>(rows * u) * element_);
    const void* by_state = s_.reset_after() ? second.get() : by_x.get();
    first_.run(args.inputs[x_ + 1], 0, before.get(), 0);
    if (s_.steps > 1) others_.run(args.inputs[kernel_ + 2], 0, before.get(), u);
    states_.run(dh, 0);
    if (s_.has_cells()) states_.run(dc, 0);

    const Scratch left(pool, left_bytes(s_.batch, width)), transposed(pool, right_bytes(width, u));
    tensors_.pack_b({args.inputs[kernel_ + 1], 0, 1, width}, width, u, transposed.get());
    const std::int64_t last = s_.steps - 1;
    const auto step_at = [&](std::int64_t t) { return operands(args, t, by_x.get(), by_state, dh, dc, before.get()); };
    if (at_once()) {
      const auto from = [&](std::int64_t t, std::int64_t steps) {
        run_steps(steps,
                  {.left = {by_state, t * width, s_.steps * width},
                   .step = -width,
                   .panels = transposed.get(),
                   .n = u,
                   .depth = width,
                   .to = dh,
                   .add = s_.reset_after()},
                  step_at(t), t > 1 ? step_at(t - 1) : step_at(t));
      };
      from(last, last);
      from(0, 1);  // which has its state from elsewhere
    } else {
      for (std::int64_t t = last; t >= 0; --t) {
        run_step(step_at(t));
        lanes_.pack_a({by_state, t * width, s_.steps * width, 1}, s_.batch, width, left.get());
        lanes_.multiply(left.get(), transposed.get(), dh, 0, s_.batch, u, width, {}, s_.reset_after());
      }
    }
    if (narrow) narrowing_.run(dh, args.outputs[1]);
    if (narrow && s_.has_cells()) narrowing_.run(dc, args.outputs[2]);
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

  std::vector<StepOperand> operands(const KernelArgs& args, std::int64_t t, void* by_x, const void* by_state, void* dh,
                                    void* dc, const void* before) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), along = s_.steps * u;
    const bool lstm = s_.has_cells();
    std::vector<StepOperand> step;
    if (s_.saved)
      add_gates(step, args.inputs[lstm ? 9 : 6], t * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
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
    column_sums(by_x, args.outputs[weights + 2], 0);
    if (s_.reset_after()) {
      column_sums(by_state, args.outputs[weights + 2], width);
      lanes_.pack_b({by_state, 0, width, 1}, rows, width, right.get());
    }
    tensors_.pack_a({before, 0, 1, u}, u, rows, left.get());
    tensors_.multiply(left.get(), right.get(), args.outputs[weights + 1], 0, u, width, rows, {}, false);
  }

  /// Of all steps' gates, to the result from `offset`.
  void column_sums(const void* gates, void* to, std::int64_t offset) const {
    const std::int64_t width = s_.gate_width();
    Launch(context(), sums_)
        .buffer(gates)
        .buffer(to)
        .value(offset)
        .value(s_.batch * s_.steps)
        .value(width)
        .run(blocks(width, sum_width_));
  }

  int x_;
  std::size_t element_;
  StridedCopy first_, others_;
  Filling states_;
  Narrowing narrowing_;
  std::int64_t sum_width_;  // columns that a work-item adds up
  KernelFunction sums_;
};

Support not_empty(const KernelCall& call) {
  if (call.outputs.back().shape().elements() == 0 || call.outputs[0].shape().elements() == 0 ||
      call.shape(0).elements() == 0)
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
