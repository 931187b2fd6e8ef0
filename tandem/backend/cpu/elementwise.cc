// Elementwise ops: the record's formula as a loop.
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_nest.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::cpu {
namespace {

LoopNest nest_of(const KernelCall& call) {
  return {call.outputs[0].shape(), call.inputs, call.outputs, call.op.flops_per_element};
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
  return std::make_unique<LoopKernel>(std::move(nest), std::move(loop));
}

Support tiles_support(const KernelCall& call) {
  const LoopNest nest = nest_of(call);
  return nest.refusal().empty() ? yes() : no(nest.refusal());
}

Prepared prepare_tiles(const KernelCall& call) {
  LoopNest nest = nest_of(call);
  auto loop = tile_loop(elementwise_program(call), nest.scalars());
  return std::make_unique<LoopKernel>(std::move(nest), std::move(loop));
}

}  // namespace

KernelList elementwise_kernels() {
  return {{.name = "jit", .supports = jit_supports, .prepare = prepare_jit},
          {.name = "tiles", .supports = tiles_support, .prepare = prepare_tiles}};
}

}  // namespace tandem::cpu
