// The gradients of softmax and log_softmax along an axis that no others follow: a block of rows is summed up and
// finished while it stays in the cache.
#include <algorithm>

#include "tandem/backend/cpu/loop_call.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/row_fold.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/softmax_parts.h"
#include "tandem/base/cores.h"
#include "tandem/kernel/row_kernel.h"

namespace tandem::cpu {
namespace {

/// y: what softmax or log_softmax answered.
struct Parts {
  RowFold sum;                         // y, dy -> sum, a lane
  std::shared_ptr<const Loop> finish;  // y, dy, sum -> dx
};

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const SoftmaxKind kind = softmax_kind(call.op);
  const DType dtype = call.dtype(), lane = lane_dtype(dtype);
  FoldProgram sum = sum_fold(dtype);
  sum.map = program({dtype, dtype}, lane, [&](auto& in) { return softmax_grad_term(kind, in[0], in[1]); });
  return {.sum = RowFold(source, FoldKind::sum, sum),
          .finish = source.loop(program({dtype, dtype, lane}, dtype,
                                        [&](auto& in) { return softmax_grad_result(kind, in[0], in[1], in[2]); }),
                                0b100)};
}

class SoftmaxGradient final : public PreparedKernel, public RowKernel {
 public:
  SoftmaxGradient(const KernelCall& call, Parts parts)
      : parts_(std::move(parts)),
        element_(static_cast<std::int64_t>(dtype_size(call.dtype()))),
        lane_(static_cast<std::int64_t>(dtype_size(lane_dtype(call.dtype())))),
        classes_(around_softmax(call).size),
        rows_(call.shape().elements() / classes_),
        block_(softmax_block(classes_)) {
    if (softmax_axis(call) > 0) first_axis_ = call.shape()[0];
  }

  void run(const KernelArgs& args) const override {
    parallel((rows_ + block_ - 1) / block_,
             [&](std::int64_t slice) { run_block(args, slice * block_, std::min(block_, rows_ - slice * block_)); });
  }

  std::int64_t rows() const override { return first_axis_; }
  bool reads_by_row(std::size_t) const override { return true; }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange>) const override { return cut_anywhere(*this); }
  void run_rows(const KernelArgs& args, RowRange part) const {
    const std::int64_t each = rows_ / first_axis_, end = part.end * each;
    for (std::int64_t row = part.begin * each; row < end; row += block_)
      run_block(args, row, std::min(block_, end - row));
  }

 private:
  void run_block(const KernelArgs& args, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t stride = classes_ * element_, at = begin * stride;
    const char *y = args.input<char>(0) + at, *dy = args.input<char>(1) + at;
    char* sums = static_cast<char*>(scratch(ScratchUse::rows, static_cast<std::size_t>(block_ * lane_)));
    parts_.sum.run({y, dy}, rows, classes_, sums);
    LoopCall(rows, classes_)
        .in(y, stride)
        .in(dy, stride)
        .in(sums, lane_)
        .out(args.output<char>() + at, stride)
        .run(*parts_.finish);
  }

  Parts parts_;
  std::int64_t element_, lane_;  // bytes
  std::int64_t classes_, rows_, block_;
  std::int64_t first_axis_ = 1;  // where that is not the classes
};

}  // namespace

KernelList softmax_grad_kernels() { return TwoForms<make_parts, SoftmaxGradient, takes_rows>::kernels(); }

}  // namespace tandem::cpu
