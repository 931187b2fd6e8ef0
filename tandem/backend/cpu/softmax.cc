// Softmax, log_softmax and the cross entropies, row by row: a block of rows passes through a few loops and folds
// while it stays in the cache.
#include <algorithm>

#include "tandem/backend/cpu/loop_call.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/row_fold.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/softmax_parts.h"
#include "tandem/base/cores.h"
#include "tandem/kernel/row_kernel.h"

namespace tandem::cpu {
namespace {

using Exprs = std::vector<expr::Expr>;

using Kind = SoftmaxKind;

/// x: logits [rows, classes]. Lane values (f32, or f64 for f64 logits) hold what is computed a row.
struct Parts {
  RowFold max;                              // x -> largest
  std::shared_ptr<const Loop> exps;         // x, largest -> exp(x - largest) as lanes
  RowFold sum;                              // lanes -> sum
  std::shared_ptr<const Loop>
      log_sum;      // sum -> log(sum); kept apart from `largest`, beside which it would lose its digits
  std::shared_ptr<const Loop> divide;       // softmax: exps, sum -> y
  std::shared_ptr<const Loop> log_softmax;  // x, largest, log_sum -> y
  std::shared_ptr<const Loop> weighted;  // dense loss: labels, x, largest, log_sum -> labels * (log_sum + largest - x)
  std::shared_ptr<const Loop> grad;  // exps, sum, labels or nothing, dy -> y
  std::shared_ptr<const Loop> store;  // dense loss: lanes -> y
};

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const Kind kind = softmax_kind(call.op);
  const DType x = call.inputs.back().dtype(), lane = lane_dtype(x);
  Parts p;
  p.max = RowFold(source, FoldKind::max, max_fold(x));
  p.exps = source.loop(program({x, lane}, lane, [](Exprs& in) { return exp(in[0] - in[1]); }), 0b10);
  p.sum = RowFold(source, FoldKind::sum, sum_fold(lane));
  p.log_sum = source.loop(program({lane}, lane, [](Exprs& in) { return log(in[0]); }), 0);
  switch (kind) {
    case Kind::softmax:
      p.divide = source.loop(program({lane, lane}, x, [](Exprs& in) { return in[0] / in[1]; }), 0b10);
      break;
    case Kind::log_softmax:
      p.log_softmax = source.loop(program({x, lane, lane}, x, [](Exprs& in) { return in[0] - in[1] - in[2]; }), 0b110);
      break;
    case Kind::sparse_loss: break;
    case Kind::sparse_grad:
      p.grad = source.loop(program({lane, lane, x}, x, [](Exprs& in) { return in[0] / in[1] * in[2]; }), 0b110);
      break;
    case Kind::dense_loss:
      p.weighted = source.loop(program({x, x, lane, lane}, lane,
                                       [](Exprs& in) {
                                         // A label of 0 gives 0 even where the logit is infinite.
                                         return select(in[0] == 0, 0, in[0] * (in[3] + (in[2] - in[1])));
                                       }),
                               0b1100);
      p.store = source.loop(program({lane}, x, [](Exprs& in) { return in[0]; }), 0);
      break;
    case Kind::dense_grad:
      p.grad = source.loop(program({lane, lane, x, x}, x, [](Exprs& in) { return (in[0] / in[1] - in[2]) * in[3]; }),
                           0b1010);
      break;
    default: break;  // softmax_grad.cc
  }
  return p;
}

class SoftmaxKernel final : public PreparedKernel, public RowKernel {
 public:
  SoftmaxKernel(const KernelCall& call, Parts parts)
      : kind_(softmax_kind(call.op)),
        parts_(std::move(parts)),
        dtype_(call.inputs.back().dtype()),
        label_dtype_(call.dtype(0)),
        element_(static_cast<std::int64_t>(dtype_size(dtype_))),
        lane_(static_cast<std::int64_t>(dtype_size(lane_dtype(dtype_)))) {
    const Shape& logits = call.shape(softmax_operand(kind_));
    classes_ = around_softmax(call).size;
    rows_ = classes_ ? logits.elements() / classes_ : 0;
    block_ = softmax_block(classes_);
    if (softmax_axis(call) > 0) first_axis_ = logits[0];
  }

  void run(const KernelArgs& args) const override {
    parallel((rows_ + block_ - 1) / block_, [&](std::int64_t slice) {
      const std::int64_t begin = slice * block_;
      run_block(args, begin, std::min(block_, rows_ - begin));
    });
  }

  std::int64_t rows() const override { return first_axis_; }
  bool reads_by_row(std::size_t) const override { return true; }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange>) const override {
    return rows_ ? cut_anywhere(*this) : nullptr;
  }
  void run_rows(const KernelArgs& args, RowRange part) const {
    const std::int64_t each = rows_ / first_axis_, end = part.end * each;
    for (std::int64_t row = part.begin * each; row < end; row += block_)
      run_block(args, row, std::min(block_, end - row));
  }

 private:
  /// What a block computes a row, side by side in scratch memory.
  struct Block {
    char* exps;  // [rows, classes] lanes
    char *largest, *sum, *log_sum;  // [rows] lanes
  };

  Block make_block() const {
    const std::int64_t columns = (block_ * lane_ + 63) / 64 * 64;
    char* base = static_cast<char*>(
        scratch(ScratchUse::rows, static_cast<std::size_t>(3 * columns + block_ * classes_ * lane_)));
    return {base + 3 * columns, base, base + columns, base + 2 * columns};
  }

  void run_block(const KernelArgs& args, std::int64_t begin, std::int64_t rows) const {
    const Block b = make_block();
    const std::int64_t x_stride = classes_ * element_, e_stride = classes_ * lane_;
    const char* x = static_cast<const char*>(args.inputs[softmax_operand(kind_)]) + begin * x_stride;
    parts_.max.run({x}, rows, classes_, b.largest);
    LoopCall(rows, classes_).in(x, x_stride).in(b.largest, lane_).out(b.exps, e_stride).run(*parts_.exps);
    parts_.sum.run({b.exps}, rows, classes_, b.sum);
    char* out = static_cast<char*>(args.outputs[0]);
    switch (kind_) {
      case Kind::softmax:
        LoopCall(rows, classes_)
            .in(b.exps, e_stride)
            .in(b.sum, lane_)
            .out(out + begin * x_stride, x_stride)
            .run(*parts_.divide);
        break;
      case Kind::log_softmax:
        log_sums(b, rows);
        LoopCall(rows, classes_)
            .in(x, x_stride)
            .in(b.largest, lane_)
            .in(b.log_sum, lane_)
            .out(out + begin * x_stride, x_stride)
            .run(*parts_.log_softmax);
        break;
      case Kind::sparse_loss: sparse_loss(args, b, x, begin, rows); break;
      case Kind::sparse_grad: sparse_grad(args, b, begin, rows); break;
      case Kind::dense_loss: dense_loss(args, b, x, begin, rows); break;
      case Kind::dense_grad: dense_grad(args, b, begin, rows); break;
      default: break;  // softmax_grad.cc
    }
  }

  void log_sums(const Block& b, std::int64_t rows) const {
    LoopCall(1, rows).in(b.sum, 0).out(b.log_sum, 0).run(*parts_.log_sum);
  }

  std::int64_t label(const KernelArgs& args, std::int64_t row) const {
    const std::int64_t value = index_at(args.inputs[0], label_dtype_, row);
    if (value < 0 || value >= classes_)
      fail(ErrorCode::index_out_of_range, "sparse_softmax_cross_entropy_with_logits: label ", value, " in row ", row,
           " is outside the ", classes_, " classes");
    return value;
  }

  /// Calls f with the C++ type of the logits.
  template <class F>
  void visit_logits(F f) const {
    switch (dtype_) {
      case DType::f16: return f(Half{});
      case DType::bf16: return f(BFloat16{});
      case DType::f32: return f(float{});
      default: return f(double{});
    }
  }

  void sparse_loss(const KernelArgs& args, const Block& b, const char* x, std::int64_t begin, std::int64_t rows) const {
    log_sums(b, rows);
    visit_logits([&](auto sample) {
      using T = decltype(sample);
      const T* logits = reinterpret_cast<const T*>(x);
      for (std::int64_t r = 0; r < rows; ++r)
        args.output<T>()[begin + r] =
            narrow<T>(lane_value(b.log_sum, r) +
                      (lane_value(b.largest, r) - widen(logits[r * classes_ + label(args, begin + r)])));
    });
  }

  double lane_value(const char* lanes, std::int64_t i) const {
    return lane_ == 8 ? reinterpret_cast<const double*>(lanes)[i] : reinterpret_cast<const float*>(lanes)[i];
  }

  void sparse_grad(const KernelArgs& args, const Block& b, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t stride = classes_ * element_;
    char* out = static_cast<char*>(args.outputs[0]) + begin * stride;
    const char* dy = static_cast<const char*>(args.inputs[2]) + begin * element_;
    LoopCall(rows, classes_)
        .in(b.exps, classes_ * lane_)
        .in(b.sum, lane_)
        .in(dy, element_)
        .out(out, stride)
        .run(*parts_.grad);
    visit_logits([&](auto sample) {
      using T = decltype(sample);
      T* y = reinterpret_cast<T*>(out);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = r * classes_ + label(args, begin + r);
        const double share = lane_value(b.exps, at) / lane_value(b.sum, r);
        y[at] = narrow<T>((share - 1) * widen(reinterpret_cast<const T*>(dy)[r]));
      }
    });
  }

  void dense_loss(const KernelArgs& args, const Block& b, const char* x, std::int64_t begin, std::int64_t rows) const {
    log_sums(b, rows);
    const std::int64_t stride = classes_ * element_, e_stride = classes_ * lane_;
    const char* labels = static_cast<const char*>(args.inputs[0]) + begin * stride;
    LoopCall(rows, classes_)
        .in(labels, stride)
        .in(x, stride)
        .in(b.largest, lane_)
        .in(b.log_sum, lane_)
        .out(b.exps, e_stride)
        .run(*parts_.weighted);
    parts_.sum.run({b.exps}, rows, classes_, b.sum);
    LoopCall(1, rows).in(b.sum, 0).out(static_cast<char*>(args.outputs[0]) + begin * element_, 0).run(*parts_.store);
  }

  void dense_grad(const KernelArgs& args, const Block& b, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t stride = classes_ * element_;
    const char* labels = static_cast<const char*>(args.inputs[0]) + begin * stride;
    const char* dy = static_cast<const char*>(args.inputs[2]) + begin * element_;
    LoopCall(rows, classes_)
        .in(b.exps, classes_ * lane_)
        .in(b.sum, lane_)
        .in(labels, stride)
        .in(dy, element_)
        .out(static_cast<char*>(args.outputs[0]) + begin * stride, stride)
        .run(*parts_.grad);
  }

  Kind kind_;
  Parts parts_;
  DType dtype_, label_dtype_;
  std::int64_t element_, lane_;  // bytes
  std::int64_t classes_ = 0, rows_ = 0, block_ = 1;
  std::int64_t first_axis_ = 1;  // of the logits, where that is not the classes
};

Support check(const KernelCall& call) { return is_loss(softmax_kind(call.op)) ? yes() : takes_rows(call); }

}  // namespace

KernelList softmax_kernels() { return TwoForms<make_parts, SoftmaxKernel, check>::kernels(); }

}  // namespace tandem::cpu
