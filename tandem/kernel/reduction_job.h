// What a reduction reduces: its operand, or what a fused region makes of several.
#pragma once
#include "tandem/kernel/fold_kind.h"
#include "tandem/kernel/fused.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

struct ReductionJob {
  FoldKind kind;
  AxisSet axes;
  Shape domain;                  // of what is reduced
  DType mapped;                  // likewise
  const FusedReduction* region;  // null: the operand itself
  std::vector<DType> inputs;

  explicit ReductionJob(const KernelCall& call)
      : ReductionJob(call,
                     call.op.like == &fused_reduction_op ? static_cast<const FusedReduction*>(&call.op) : nullptr) {}

 private:
  ReductionJob(const KernelCall& call, const FusedReduction* fused)
      : kind(fold_kind(fused ? *fused->reduction : call.op)),
        axes(fused ? fused->axes : reduced_axes(call.op.name, call.attr().ints("axis"), call.shape().rank())),
        domain(fused ? fused->domain : call.shape()),
        mapped(fused ? fused->mapped : call.dtype()),
        region(fused) {
    for (const Operand& input : call.inputs) inputs.push_back(input.dtype());
  }
};

}  // namespace tandem
