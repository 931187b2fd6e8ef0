// Several ops as one: records made at run time. Elementwise ops become one formula, put together from theirs; a
// reduction may follow it, a product may come before it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/expr/program.h"
#include "tandem/op/op_def.h"
#include "tandem/op/rules.h"

namespace tandem {

/// Values are numbered: the inputs of the region, then the results of its steps in order.
struct FusedOp : OpDef {
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

  /// Its results as expressions of `graph` over expressions of its inputs, which are of `dtypes`.
  std::vector<expr::Expr> build(expr::Graph& graph, std::vector<expr::Expr> inputs, std::vector<DType> dtypes) const;
  /// The loop body: the same arithmetic as the ops one by one, so for f32, f64 and integers the same bits. Values of 16
  /// bits are not rounded between steps.
  expr::Program program(const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;
};

/// A region whose one result is reduced at the end: nothing of its size reaches memory.
struct FusedReduction final : FusedOp {
  const OpDef* reduction = nullptr;
  AxisSet axes;
  Shape domain;  // of what is reduced
  DType mapped = DType::f32;  // likewise
};

/// A matrix product or a convolution with elementwise ops on its result, which is value 0 of the region. The node's
/// inputs are those of the product, then the others of the region: each of them as large as the product, or a vector
/// along its last axis, or one element. The first result has the product's dtype and is computed where the product
/// lies.
struct FusedProduct final : FusedOp {
  const OpDef* product = nullptr;
  Attrs product_attrs;
  TensorSpec product_spec;
  std::shared_ptr<const FusedOp> rest;  // all but the product, as an op of its own
};

/// `like` of the ops above: backends list their kernels under these.
extern const OpDef fused_elementwise_op, fused_reduction_op, fused_matmul_op, fused_conv2d_op;

inline bool is_fused_elementwise(const OpDef& op) { return op.like == &fused_elementwise_op; }

/// What a region is made of.
struct FusedParts {
  std::vector<FusedOp::Step> steps;
  std::vector<std::int32_t> results;
  std::vector<TensorSpec> result_specs;
};
/// `in_place` as in OpDef.
std::shared_ptr<const FusedOp> make_fused(FusedParts parts, std::uint32_t in_place = 0);

/// `reduction` is one of the reductions, with its attributes; `mapped` the spec of what it reduces.
std::shared_ptr<const FusedOp> make_fused_reduction(FusedParts parts, const OpDef& reduction, const Attrs& attrs,
                                                    const TensorSpec& mapped);

/// The `like` of a region that begins with `product`; null when there is none.
const OpDef* fused_product_like(const OpDef& product);
std::shared_ptr<const FusedOp> make_fused_product(FusedParts parts, const OpDef& product, const Attrs& attrs,
                                                  const TensorSpec& spec);

}  // namespace tandem
