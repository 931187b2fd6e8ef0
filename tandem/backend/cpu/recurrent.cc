// Recurrent layers: what x contributes to all steps is one product; then each step is a small product with the state
// and one loop over the units. Slices of the batch walk through the steps on their own, without waiting for each other.
#include "tandem/backend/cpu/copy.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/kernel/recurrent_cell.h"

namespace tandem::cpu {
namespace {

/// Rows of a slice: enough for the products to be worth their packing, few enough for several cores to have some. It
/// follows from the batch alone: sums are the same for any number of threads.
std::int64_t rows_of_slice(std::int64_t batch) { return batch >= 64 ? 32 : batch > 16 ? 16 : 8; }

void multiply(const Gemm<float>& g) { library_gemm(g); }
void multiply(const Gemm<double>& g) { openblas_gemm(g); }

/// Operands of a step's loop over [rows, units], in the order of its program.
template <class T>
class Step {
 public:
  Step(std::int64_t rows, std::int64_t units) {
    args_.rows = rows;
    args_.length = units;
  }
  /// `count` operands side by side, each `units` wide.
  void in(const T* base, std::int64_t row_stride, int count = 1) {
    for (int k = 0; k < count; ++k) {
      args_.inputs[inputs_] = base + k * args_.length;
      args_.input_row_strides[inputs_++] = row_stride * static_cast<std::int64_t>(sizeof(T));
    }
  }
  void out(T* base, std::int64_t row_stride, int count = 1) {
    for (int k = 0; k < count; ++k) {
      args_.outputs[outputs_] = base + k * args_.length;
      args_.output_row_strides[outputs_++] = row_stride * static_cast<std::int64_t>(sizeof(T));
    }
  }
  void run(const Loop& loop) const { loop.run(args_); }

 private:
  LoopArgs args_;
  int inputs_ = 0, outputs_ = 0;
};

/// `rows` rows of `width`, each a copy of `row`.
template <class T>
void fill_rows(T* to, const T* row, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(row, width, to + r * width);
}

template <class T>
T* take(ScratchUse use, std::int64_t elements) {
  return static_cast<T*>(scratch(use, static_cast<std::size_t>(elements) * sizeof(T)));
}

struct Slices {
  std::int64_t batch, rows, count;
  explicit Slices(const RecurrentSizes& s)
      : batch(s.batch),
        rows(rows_of_slice(batch)),
        count((batch + rows - 1) / rows) {}
  std::int64_t first(std::int64_t slice) const { return slice * rows; }
  std::int64_t rows_of(std::int64_t slice) const { return std::min(rows, batch - first(slice)); }
};

using Part = std::shared_ptr<const Loop>;

Part make_forward(const KernelCall& call, LoopSource& source) {
  return source.loop(cell_forward(cell_kind(call.op), call.dtype()), 0);
}

template <class T>
class Forward final : public PreparedKernel {
 public:
  Forward(const KernelCall& call, Part step)
      : s_(call, 0, cell_kind(call.op) == CellKind::lstm ? 4 : 3),
        step_(std::move(step)) {}

  void run(const KernelArgs& args) const override {
    const Slices slices(s_);
    parallel(slices.count, [&](std::int64_t slice) { run_slice(args, slices.first(slice), slices.rows_of(slice)); });
  }

 private:
  void run_slice(const KernelArgs& args, std::int64_t first, std::int64_t rows) const {
    const bool lstm = s_.has_cells();
    const int kernel = lstm ? 3 : 2;
    const std::int64_t u = s_.units, width = s_.gate_width(), start = first * s_.steps;
    T* y = args.output<T>(0) + start * u;
    T* cells = lstm ? args.output<T>(1) + start * u : nullptr;
    T* saved = s_.saved ? args.output<T>(lstm ? 2 : 1) + start * s_.saved_width() : nullptr;
    // What x gives lies where the step's result will, if that is as wide.
    T* from_x = lstm ? saved : s_.saved ? take<T>(ScratchUse::columns, rows * s_.steps * width) : y;
    T* from_state = take<T>(ScratchUse::rows, rows * width);
    const T* bias = args.input<T>(kernel + 2);
    fill_rows(from_x, bias, rows * s_.steps, width);
    if (s_.inputs > 0)
      multiply({.m = rows * s_.steps,
                .n = width,
                .k = s_.inputs,
                .a = args.input<T>(0) + start * s_.inputs,
                .lda = s_.inputs,
                .b = args.input<T>(kernel),
                .ldb = width,
                .c = from_x,
                .ldc = width,
                .accumulate = true});
    for (std::int64_t t = 0; t < s_.steps; ++t) {
      const T* state = t ? y + (t - 1) * u : args.input<T>(1) + first * u;
      const T* cell = !lstm ? nullptr : t ? cells + (t - 1) * u : args.input<T>(2) + first * u;
      const std::int64_t stride = t ? s_.steps * u : u;
      if (s_.reset_after()) fill_rows(from_state, bias + width, rows, width);
      multiply({.m = rows,
                .n = width,
                .k = u,
                .a = state,
                .lda = stride,
                .b = args.input<T>(kernel + 1),
                .ldb = width,
                .c = from_state,
                .ldc = width,
                .accumulate = s_.reset_after()});
      Step<T> step(rows, u);
      step.in(from_x + t * width, s_.steps * width, s_.gates);
      step.in(from_state, width, s_.gates);
      if (s_.reset_after()) step.in(state, stride);
      if (lstm) step.in(cell, stride);
      step.out(y + t * u, s_.steps * u);
      if (lstm) step.out(cells + t * u, s_.steps * u);
      step.out(saved + t * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
      step.run(*step_);
    }
  }

  RecurrentSizes s_;
  Part step_;
};

/// Which inputs of the gradient op are which.
struct GradInputs {
  int x, h0, kernel, output, saved;
  explicit GradInputs(CellKind kind)
      : x(kind == CellKind::lstm ? 2 : 1),
        h0(x + 1),
        kernel(kind == CellKind::lstm ? 5 : 3),
        output(kernel + 2),
        saved(kind == CellKind::lstm ? 9 : 6) {}
};

bool one_cell_gradient(const KernelCall& call) {
  return cell_kind(call.op) == CellKind::lstm && call.shape(1).rank() == 0;
}

Part make_backward(const KernelCall& call, LoopSource& source) {
  return source.loop(cell_backward(cell_kind(call.op), call.dtype()), one_cell_gradient(call) ? 1u << 9 : 0);
}

template <class T>
class Backward final : public PreparedKernel {
 public:
  Backward(const KernelCall& call, Part step)
      : in_(cell_kind(call.op)),
        s_(call, in_.x, in_.kernel + 1),
        one_cell_gradient_(one_cell_gradient(call)),
        turns_(s_.steps * Slices(s_).count >= kProductsThatPay),
        turn_(make_copy({s_.gate_width(), s_.units}, Strides{1, s_.gate_width()})),
        step_(std::move(step)) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t width = s_.gate_width(), sums = (s_.inputs + s_.units + 2) * width;
    const Slices slices(s_);
    T* turned = take<T>(ScratchUse::partials, s_.units * width + slices.count * sums);
    T* partials = turned + s_.units * width;
    if (turns_) run_copy(turn_, sizeof(T), args.input<T>(in_.kernel + 1), turned);
    parallel(slices.count, [&](std::int64_t slice) {
      run_slice(args, slices.first(slice), slices.rows_of(slice), turned, partials + slice * sums);
    });
    const int weights = s_.has_cells() ? 3 : 2;
    auto add_up = [&](const T* first, std::int64_t rows, T* to) {
      parallel_ranges(rows * width, slices.count * static_cast<std::int64_t>(sizeof(T)),
                      [&](std::int64_t begin, std::int64_t end) {
                        std::copy(first + begin, first + end, to + begin);
                        for (std::int64_t slice = 1; slice < slices.count; ++slice)
                          for (std::int64_t i = begin; i < end; ++i) to[i] += first[slice * sums + i];
                      });
    };
    add_up(partials, s_.inputs, args.output<T>(weights));
    add_up(partials + s_.inputs * width, s_.units, args.output<T>(weights + 1));
    add_up(partials + (s_.inputs + s_.units) * width, s_.reset_after() ? 2 : 1, args.output<T>(weights + 2));
  }

 private:
  /// So many products with the transposed recurrent kernel are worth turning it round once: the libraries would do it
  /// for each.
  static constexpr std::int64_t kProductsThatPay = 8;

  /// What a slice works on, [rows, steps, …] or [rows, …].
  struct Slice {
    std::int64_t first, rows;
    const T* turned;  // the recurrent kernel's transpose, where there is one
    T *by_x, *by_state;  // gradients of what x and the state gave
    T *dh, *dc, *before;  // carried from step to step; the states before each step
  };

  Slice make_slice(const KernelArgs& args, std::int64_t first, std::int64_t rows, const T* turned) const {
    const std::int64_t u = s_.units, all = rows * s_.steps * s_.gate_width();
    Slice v{.first = first, .rows = rows, .turned = turned};
    v.by_x = take<T>(ScratchUse::columns, all);
    v.by_state = s_.reset_after() ? take<T>(ScratchUse::weights, all) : v.by_x;
    v.dh = take<T>(ScratchUse::rows, rows * u * (2 + s_.steps));
    v.dc = v.dh + rows * u;
    v.before = v.dc + rows * u;
    std::fill_n(v.dh, 2 * rows * u, T{0});
    const T *h0 = args.input<T>(in_.h0) + first * u, *y = args.input<T>(in_.output) + first * s_.steps * u;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(h0 + r * u, u, v.before + r * s_.steps * u);
      std::copy_n(y + r * s_.steps * u, (s_.steps - 1) * u, v.before + (r * s_.steps + 1) * u);
    }
    return v;
  }

  void run_slice(const KernelArgs& args, std::int64_t first, std::int64_t rows, const T* turned, T* partials) const {
    const Slice v = make_slice(args, first, rows, turned);
    for (std::int64_t t = s_.steps - 1; t >= 0; --t) step_back(args, v, t);
    std::copy_n(v.dh, rows * s_.units, args.output<T>(1) + first * s_.units);
    if (s_.has_cells()) std::copy_n(v.dc, rows * s_.units, args.output<T>(2) + first * s_.units);
    by_weights(args, v, partials);
  }

  void step_back(const KernelArgs& args, const Slice& v, std::int64_t t) const {
    const std::int64_t u = s_.units, width = s_.gate_width(), start = v.first * s_.steps + t, along = s_.steps * u;
    Step<T> step(v.rows, u);
    if (s_.saved) step.in(args.input<T>(in_.saved) + start * s_.saved_width(), s_.steps * s_.saved_width(), s_.saved);
    else step.in(args.input<T>(in_.output) + start * u, along);
    if (s_.has_cells()) {
      const T* cells = args.input<T>(8);
      step.in(cells + start * u, along);
      if (t) step.in(cells + (start - 1) * u, along);
      else step.in(args.input<T>(4) + v.first * u, u);
    }
    if (s_.reset_after()) step.in(v.before + t * u, along);
    step.in(args.input<T>(0) + start * u, along);
    step.in(v.dh, u);
    if (s_.has_cells()) {
      step.in(v.dc, u);
      if (one_cell_gradient_) step.in(args.input<T>(1), 0);
      else step.in(args.input<T>(1) + start * u, along);
    }
    step.out(v.by_x + t * width, s_.steps * width, s_.gates);
    if (s_.reset_after()) {
      step.out(v.by_state + t * width, s_.steps * width, s_.gates);
      step.out(v.dh, u);
    }
    if (s_.has_cells()) step.out(v.dc, u);
    step.run(*step_);
    multiply({.m = v.rows,
              .n = u,
              .k = width,
              .transpose_b = !turns_,
              .a = v.by_state + t * width,
              .lda = s_.steps * width,
              .b = turns_ ? v.turned : args.input<T>(in_.kernel + 1),
              .ldb = turns_ ? u : width,
              .c = v.dh,
              .ldc = u,
              .accumulate = s_.reset_after()});
  }

  /// The gradient of x, and this slice's share of those of the weights: kernel, recurrent kernel, one or two biases.
  void by_weights(const KernelArgs& args, const Slice& v, T* partials) const {
    const std::int64_t width = s_.gate_width(), all = v.rows * s_.steps, start = v.first * s_.steps;
    const T* x = args.input<T>(in_.x) + start * s_.inputs;
    if (s_.inputs > 0) {
      multiply({.m = all,
                .n = s_.inputs,
                .k = width,
                .transpose_b = true,
                .a = v.by_x,
                .lda = width,
                .b = args.input<T>(in_.kernel),
                .ldb = width,
                .c = args.output<T>(0) + start * s_.inputs,
                .ldc = s_.inputs});
      multiply({.m = s_.inputs,
                .n = width,
                .k = all,
                .transpose_a = true,
                .a = x,
                .lda = s_.inputs,
                .b = v.by_x,
                .ldb = width,
                .c = partials,
                .ldc = width});
    }
    T* recurrent = partials + s_.inputs * width;
    multiply({.m = s_.units,
              .n = width,
              .k = all,
              .transpose_a = true,
              .a = v.before,
              .lda = s_.units,
              .b = v.by_state,
              .ldb = width,
              .c = recurrent,
              .ldc = width});
    T* bias = recurrent + s_.units * width;
    std::fill_n(bias, 2 * width, T{0});
    for (std::int64_t row = 0; row < all; ++row)
      for (std::int64_t i = 0; i < width; ++i) bias[i] += v.by_x[row * width + i];
    for (std::int64_t row = 0; s_.reset_after() && row < all; ++row)
      for (std::int64_t i = 0; i < width; ++i) bias[width + i] += v.by_state[row * width + i];
  }

  GradInputs in_;
  RecurrentSizes s_;
  bool one_cell_gradient_;
  bool turns_;
  StridedCopy turn_;
  Part step_;
};

Support by_products(const KernelCall& call) {
  if (call.dtype() != DType::f32 && call.dtype() != DType::f64)
    return no("for float32 and float64, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  if (call.outputs.back().shape().elements() == 0 || call.outputs[0].shape().elements() == 0 ||
      call.shape(0).elements() == 0)
    return no("nothing to compute: an operand is empty");
  return yes();
}

/// The kernel for float or double.
template <template <class> class Body>
class ByDtype final : public PreparedKernel {
 public:
  ByDtype(const KernelCall& call, Part step) {
    if (call.dtype() == DType::f32) body_ = std::make_unique<Body<float>>(call, std::move(step));
    else body_ = std::make_unique<Body<double>>(call, std::move(step));
  }
  void run(const KernelArgs& args) const override { body_->run(args); }

 private:
  Prepared body_;
};

}  // namespace

KernelList recurrent_kernels() { return TwoForms<make_forward, ByDtype<Forward>, by_products>::kernels(); }
KernelList recurrent_grad_kernels() { return TwoForms<make_backward, ByDtype<Backward>, by_products>::kernels(); }

}  // namespace tandem::cpu
