#include "tandem/kernel/fused.h"

#include "tandem/op/records.h"

namespace tandem {

const OpDef fused_elementwise_op{.name = "fused", .doc = "Several elementwise ops in one loop."};

namespace {

std::vector<expr::Expr> run_step(const FusedOp::Step& step, const std::vector<expr::Expr>& values, const std::vector<DType>& dtypes,
                                 expr::Graph& graph) {
  if (step.op == &fill_op) return {graph.constant(expr::lane_of(step.outputs[0]), step.literal)};
  const Formula& formula = step.op->scalar;
  // As in elementwise_program: a mask comes first, so the last input has the dtype of the op.
  const DType dtype = dtypes[static_cast<std::size_t>(step.inputs.back())];
  const DType compute = step.op->compute_dtype ? step.op->compute_dtype(dtype) : dtype;
  std::vector<expr::Expr> operands, results(step.outputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const expr::Lane wanted = formula.masks >> i & 1 ? expr::Lane::mask : expr::lane_of(compute);
    operands.push_back(convert(values[static_cast<std::size_t>(step.inputs[i])], wanted));
  }
  formula.tree(operands.data(), results.data());
  for (std::size_t k = 0; k < results.size(); ++k) results[k] = convert(results[k], expr::lane_of(step.outputs[k]));
  return results;
}

/// "fused(multiply, add, tanh)", long lists cut.
std::string name_of(const std::vector<FusedOp::Step>& steps) {
  constexpr std::size_t kMost = 6;
  std::string name = "fused(";
  std::size_t listed = 0;
  for (const FusedOp::Step& step : steps) {
    if (step.op == &fill_op) continue;
    if (listed == kMost) return name + ", …)";
    name += text(listed++ ? ", " : "", step.op->name);
  }
  return name + ")";
}

}  // namespace

expr::Program FusedOp::program(const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  expr::Graph graph;
  std::vector<expr::Expr> values;
  std::vector<DType> dtypes = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(graph.input(static_cast<int>(i), expr::lane_of(inputs[i])));
  for (const Step& step : steps) {
    const auto made = run_step(step, values, dtypes, graph);
    values.insert(values.end(), made.begin(), made.end());
    dtypes.insert(dtypes.end(), step.outputs.begin(), step.outputs.end());
  }
  std::vector<expr::Expr> stored;
  for (std::int32_t result : results) stored.push_back(values[static_cast<std::size_t>(result)]);
  return expr::make_program(graph, inputs, stored, outputs);
}

std::shared_ptr<const FusedOp> make_fused(std::vector<FusedOp::Step> steps, std::vector<std::int32_t> results,
                                          std::vector<TensorSpec> result_specs) {
  auto op = std::make_shared<FusedOp>();
  op->name_storage = name_of(steps);
  double flops = 0;
  for (const FusedOp::Step& step : steps) flops += step.op->flops_per_element;
  op->steps = std::move(steps);
  op->results = std::move(results);
  op->result_specs = std::move(result_specs);
  static_cast<OpDef&>(*op) = {
      .name = op->name_storage,
      .doc = fused_elementwise_op.doc,
      .variadic = true,
      .dtypes = kFixedSize,
      .free_dtypes = ~0u,
      .outputs = static_cast<int>(op->results.size()),
      .infer = [](const InferContext& c) { return static_cast<const FusedOp&>(c.op).result_specs; },
      .flops_per_element = flops,
      .like = &fused_elementwise_op,
  };
  return op;
}

}  // namespace tandem
