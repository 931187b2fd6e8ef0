// Elementwise ops: the record's formula as a loop.
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_nest.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::cpu {
namespace {

LoopNest nest_of(const KernelCall& call) {
  return {call.outputs[0].shape(), call.inputs, call.outputs, call.op.flops_per_element};
}

/// While it lives, this thread computes with 0 instead of numbers too small for a normal float.
class FlushedDenormals {
 public:
  FlushedDenormals() : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(before_ | kFlushResults | kFlushOperands);
  }
  ~FlushedDenormals() { __builtin_ia32_ldmxcsr(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  static constexpr unsigned kFlushResults = 1u << 15, kFlushOperands = 1u << 6;
  const unsigned before_;
};

/// Averages that decay, as optimizers keep them, end below the normal floats where a gradient stays 0 (units that no
/// longer fire) and never leave that range, since rounding keeps them from 0; the processor takes thirty times as long
/// for those.
class UpdateLoop final : public Loop {
 public:
  explicit UpdateLoop(std::shared_ptr<const Loop> loop) : loop_(std::move(loop)) {}
  void run(const LoopArgs& args) const override {
    const FlushedDenormals flushed;
    loop_->run(args);
  }

 private:
  std::shared_ptr<const Loop> loop_;
};

/// The loop for the op: one that writes variables over their old values is an update.
std::shared_ptr<const Loop> loop_for(const KernelCall& call, std::shared_ptr<const Loop> loop) {
  if (!call.op.in_place) return loop;
  return std::make_shared<UpdateLoop>(std::move(loop));
}

class LoopKernel final : public PreparedKernel, public RowKernel {
 public:
  LoopKernel(LoopNest nest, std::shared_ptr<const Loop> loop) : nest_(std::move(nest)), loop_(std::move(loop)) {}
  void run(const KernelArgs& args) const override { nest_.run(*loop_, args); }

  std::int64_t rows() const override { return nest_.first_axis(); }
  bool reads_by_row(std::size_t input) const override { return nest_.follows_first_axis(input); }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange>) const override { return cut_anywhere(*this); }
  void run_rows(const KernelArgs& args, RowRange rows) const { nest_.run_part(*loop_, args, rows); }

 private:
  LoopNest nest_;
  std::shared_ptr<const Loop> loop_;
};

Support jit_supports(const KernelCall& call) {
  const LoopNest nest = nest_of(call);
  if (!nest.refusal().empty()) return no(nest.refusal());
  std::string refusal;
  return jit_loop(elementwise_program(call), nest.scalars(), refusal) ? yes() : no(refusal);
}

Prepared prepare_jit(const KernelCall& call) {
  LoopNest nest = nest_of(call);
  std::string refusal;
  auto loop = jit_loop(elementwise_program(call), nest.scalars(), refusal);
  TANDEM_CHECK(loop, refusal);
  return std::make_unique<LoopKernel>(std::move(nest), loop_for(call, std::move(loop)));
}

Support tiles_support(const KernelCall& call) {
  const LoopNest nest = nest_of(call);
  return nest.refusal().empty() ? yes() : no(nest.refusal());
}

Prepared prepare_tiles(const KernelCall& call) {
  LoopNest nest = nest_of(call);
  auto loop = tile_loop(elementwise_program(call), nest.scalars());
  return std::make_unique<LoopKernel>(std::move(nest), loop_for(call, std::move(loop)));
}

}  // namespace

KernelList elementwise_kernels() {
  return {{.name = "jit", .supports = jit_supports, .prepare = prepare_jit},
          {.name = "tiles", .supports = tiles_support, .prepare = prepare_tiles}};
}

}  // namespace tandem::cpu
