// Softmax, log_softmax and their gradients along an axis that others follow: the tensor is [outer, size, inner], and
// some columns of one [size, inner] pass through a few loops while they stay in the cache.
#include <algorithm>
#include <limits>

#include "tandem/backend/cpu/loop_call.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/softmax_parts.h"
#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

using Kind = SoftmaxKind;

/// Lane values (f32, or f64 for f64) hold what is computed a column; running values are replaced row by row.
struct Parts {
  std::shared_ptr<const Loop> largest;  // running, x -> running
  std::shared_ptr<const Loop> exps;     // x, largest -> exp(x - largest) as lanes
  std::shared_ptr<const Loop> sum;      // running, exps -> running; gradients: running, y, dy -> running
  std::shared_ptr<const Loop> log;      // sum -> log(sum)
  std::shared_ptr<const Loop>
      finish;   // softmax: exps, sum -> y; log_softmax: x, largest, log -> y; gradients: y, dy, sum -> dx
};

Parts gradient_parts(Kind kind, DType dtype, LoopSource& source) {
  const DType lane = lane_dtype(dtype);
  return {.sum = source.loop(program({lane, dtype, dtype}, lane,
                                     [&](auto& in) { return in[0] + softmax_grad_term(kind, in[1], in[2]); }),
                             0),
          .finish = source.loop(program({dtype, dtype, lane}, dtype,
                                        [&](auto& in) { return softmax_grad_result(kind, in[0], in[1], in[2]); }),
                                0)};
}

Parts make_parts(const KernelCall& call, LoopSource& source) {
  const Kind kind = softmax_kind(call.op);
  const DType x = call.dtype(), lane = lane_dtype(x);
  if (is_softmax_grad(kind)) return gradient_parts(kind, x, source);
  Parts p{.largest = source.loop(
              program({lane, x}, lane, [](auto& in) { return fold_combine(FoldKind::max, in[0], in[1]); }), 0),
          .exps = source.loop(program({x, lane}, lane, [](auto& in) { return exp(in[0] - in[1]); }), 0),
          .sum = source.loop(program({lane, lane}, lane, [](auto& in) { return in[0] + in[1]; }), 0)};
  if (kind == Kind::softmax) {
    p.finish = source.loop(program({lane, lane}, x, [](auto& in) { return in[0] / in[1]; }), 0);
  } else {
    p.log = source.loop(program({lane}, lane, [](auto& in) { return log(in[0]); }), 0);
    p.finish = source.loop(program({x, lane, lane}, x, [](auto& in) { return in[0] - in[1] - in[2]; }), 0);
  }
  return p;
}

class SoftmaxColumns final : public PreparedKernel {
 public:
  SoftmaxColumns(const KernelCall& call, Parts parts)
      : kind_(softmax_kind(call.op)),
        parts_(std::move(parts)),
        at_(around_softmax(call)),
        element_(static_cast<std::int64_t>(dtype_size(call.dtype()))),
        lane_(static_cast<std::int64_t>(dtype_size(lane_dtype(call.dtype())))),
        width_(std::clamp<std::int64_t>(kTileElements / at_.size, std::min(kFewestColumns, at_.inner), at_.inner)) {}

  void run(const KernelArgs& args) const override {
    const std::int64_t across = (at_.inner + width_ - 1) / width_, tiles = at_.outer * across;
    const std::int64_t together = std::max<std::int64_t>(1, kTileElements / (at_.size * width_));
    parallel((tiles + together - 1) / together, [&](std::int64_t slice) {
      for (std::int64_t tile = slice * together; tile < std::min((slice + 1) * together, tiles); ++tile)
        run_tile(args, tile / across, tile % across * width_);
    });
  }

 private:
  static constexpr std::int64_t kTileElements = 32 * 1024, kFewestColumns = 256;

  void run_tile(const KernelArgs& args, std::int64_t outer, std::int64_t column) const {
    const std::int64_t at = (outer * at_.size * at_.inner + column) * element_,
                       width = std::min(width_, at_.inner - column);
    if (is_softmax_grad(kind_))
      gradient(args.input<char>(0) + at, args.input<char>(1) + at, args.output<char>() + at, width);
    else forward(args.input<char>() + at, args.output<char>() + at, width);
  }

  void gradient(const char* y, const char* dy, char* dx, std::int64_t width) const {
    const std::int64_t stride = at_.inner * element_;
    char* sums = columns(1);
    fill(sums, 0, width);
    LoopCall(at_.size, width).in(sums, 0).in(y, stride).in(dy, stride).out(sums, 0).run(*parts_.sum);
    LoopCall(at_.size, width).in(y, stride).in(dy, stride).in(sums, 0).out(dx, stride).run(*parts_.finish);
  }

  void forward(const char* x, char* y, std::int64_t width) const {
    const std::int64_t stride = at_.inner * element_, e_stride = width * lane_;
    char* largest = columns(2 + at_.size);
    char *sums = largest + width_ * lane_, *exps = sums + width_ * lane_;
    fill(largest, -std::numeric_limits<double>::infinity(), width);
    fill(sums, 0, width);
    LoopCall(at_.size, width).in(largest, 0).in(x, stride).out(largest, 0).run(*parts_.largest);
    LoopCall(at_.size, width).in(x, stride).in(largest, 0).out(exps, e_stride).run(*parts_.exps);
    LoopCall(at_.size, width).in(sums, 0).in(exps, e_stride).out(sums, 0).run(*parts_.sum);
    if (kind_ == Kind::softmax) {
      LoopCall(at_.size, width).in(exps, e_stride).in(sums, 0).out(y, stride).run(*parts_.finish);
      return;
    }
    LoopCall(1, width).in(sums, 0).out(sums, 0).run(*parts_.log);
    LoopCall(at_.size, width).in(x, stride).in(largest, 0).in(sums, 0).out(y, stride).run(*parts_.finish);
  }

  /// Room for `count` rows of lanes.
  char* columns(std::int64_t count) const {
    return static_cast<char*>(scratch(ScratchUse::rows, static_cast<std::size_t>(count * width_ * lane_)));
  }

  void fill(char* lanes, double value, std::int64_t count) const {
    if (lane_ == 8) std::fill_n(reinterpret_cast<double*>(lanes), count, value);
    else std::fill_n(reinterpret_cast<float*>(lanes), count, static_cast<float>(value));
  }

  Kind kind_;
  Parts parts_;
  AroundAxis at_;
  std::int64_t element_, lane_;  // bytes
  std::int64_t width_;           // columns of a tile
};

}  // namespace

KernelList softmax_column_kernels() {
  return TwoForms<make_parts, SoftmaxColumns, takes_columns>::kernels("jit columns", "tile columns");
}

}  // namespace tandem::cpu
