// Several elementwise ops as one: a record made at run time, whose formula is put together from theirs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/expr/program.h"
#include "tandem/op/op_def.h"

namespace tandem {

/// Values are numbered: the inputs of the region, then the results of its steps in order.
struct FusedOp final : OpDef {
  struct Step {
    const OpDef* op;
    std::vector<std::int32_t> inputs;  // values
    std::vector<DType> outputs;
    double literal = 0;                // of a fill
  };
  std::vector<Step> steps;
  std::vector<std::int32_t> results;   // values that are stored
  std::vector<TensorSpec> result_specs;
  std::string name_storage;

  /// The loop body: the same arithmetic as the ops one by one, so for f32, f64 and integers the same bits. Values of 16
  /// bits are not rounded between steps.
  expr::Program program(const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;
};

/// `like` of every fused region: backends list its kernels, which are those of any elementwise op.
extern const OpDef fused_elementwise_op;

inline bool is_fused(const OpDef& op) { return op.like == &fused_elementwise_op; }

std::shared_ptr<const FusedOp> make_fused(std::vector<FusedOp::Step> steps, std::vector<std::int32_t> results,
                                          std::vector<TensorSpec> result_specs);

}  // namespace tandem
