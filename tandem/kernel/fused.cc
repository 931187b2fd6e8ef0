#include "tandem/kernel/fused.h"

#include "tandem/op/records.h"

namespace tandem {

const OpDef fused_elementwise_op{.name = "fused", .doc = "Several elementwise ops in one loop."};
const OpDef fused_reduction_op{.name = "fused_reduction",
                               .doc = "Elementwise ops and the reduction of their result in one loop."};
const OpDef fused_matmul_op{.name = "fused_matmul", .doc = "A matrix product and elementwise ops on its result."};
const OpDef fused_conv2d_op{.name = "fused_conv2d", .doc = "A convolution and elementwise ops on its result."};

namespace {

std::vector<expr::Expr> run_step(const FusedOp::Step& step, const std::vector<expr::Expr>& values,
                                 const std::vector<DType>& dtypes, expr::Graph& graph) {
  if (step.op == &fill_op) return {graph.constant(expr::lane_of(step.outputs[0]), step.literal)};
  const Formula& formula = step.op->scalar;
  // As in elementwise_program: a mask comes first, so the last input has the dtype of the op.
  const DType dtype = dtypes[static_cast<std::size_t>(step.inputs.back())];
  const DType compute = step.op->compute_dtype ? step.op->compute_dtype(dtype) : dtype;
  std::vector<expr::Expr> operands, results(step.outputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const expr::Lane wanted = formula.masks >> i & 1 ? expr::Lane::mask : expr::lane_of(compute);
    graph.compute_as(dtypes[static_cast<std::size_t>(step.inputs[i])]);
    operands.push_back(convert(values[static_cast<std::size_t>(step.inputs[i])], wanted));
  }
  graph.compute_as(compute);
  formula.tree(operands.data(), results.data());
  for (std::size_t k = 0; k < results.size(); ++k) {
    graph.compute_as(step.outputs[k] == DType::u64 ? step.outputs[k] : compute);
    results[k] = convert(results[k], expr::lane_of(step.outputs[k]));
  }
  return results;
}

/// "fused(matmul, bias_add, relu)", long lists cut.
std::string name_of(const std::vector<FusedOp::Step>& steps, const OpDef* before, const OpDef* after) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string_view> names;
  if (before) names.push_back(before->name);
  for (const FusedOp::Step& step : steps)
    if (step.op != &fill_op) names.push_back(step.op->name);
  if (names.size() > kMost) {
    names.resize(kMost);
    names.push_back("…");
  }
  if (after) names.push_back(after->name);
  std::string name;
  for (std::string_view one : names) name += text(name.empty() ? "fused(" : ", ", one);
  return name + ")";
}

/// The record: its shape rule gives what the region's ops gave when they were fused.
void fill_record(FusedOp& op, FusedParts parts, const OpDef& like, const OpDef* before = nullptr,
                 const OpDef* after = nullptr) {
  op.name_storage = name_of(parts.steps, before, after);
  double flops = after ? after->flops_per_element : 0;
  for (const FusedOp::Step& step : parts.steps) flops += step.op->flops_per_element;
  op.steps = std::move(parts.steps);
  op.results = std::move(parts.results);
  op.result_specs = std::move(parts.result_specs);
  static_cast<OpDef&>(op) = {
      .name = op.name_storage,
      .doc = like.doc,
      .variadic = true,
      .dtypes = kFixedSize,
      .free_dtypes = ~0u,
      .outputs = static_cast<int>(op.result_specs.size()),
      .infer = [](const InferContext& c) { return static_cast<const FusedOp&>(c.op).result_specs; },
      .flops_per_element = flops,
      .like = &like,
  };
}

double product_flops(const InferContext& c) {
  const auto& op = static_cast<const FusedProduct&>(c.op);
  const auto elements = static_cast<double>(op.product_spec.shape().elements());
  const auto inputs = c.inputs.first(static_cast<std::size_t>(op.product->arity()));
  return op.product->flops({*op.product, inputs, {*op.product, op.product_attrs}}) + op.flops_per_element * elements;
}

}  // namespace

std::vector<expr::Expr> FusedOp::build(expr::Graph& graph, std::vector<expr::Expr> values,
                                       std::vector<DType> dtypes) const {
  for (const Step& step : steps) {
    const auto made = run_step(step, values, dtypes, graph);
    values.insert(values.end(), made.begin(), made.end());
    dtypes.insert(dtypes.end(), step.outputs.begin(), step.outputs.end());
  }
  std::vector<expr::Expr> out;
  for (std::int32_t result : results) out.push_back(values[static_cast<std::size_t>(result)]);
  return out;
}

expr::Program FusedOp::program(const std::vector<DType>& inputs, const std::vector<DType>& outputs) const {
  expr::Graph graph;
  std::vector<expr::Expr> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(graph.input(static_cast<int>(i), expr::lane_of(inputs[i])));
  return expr::make_program(graph, inputs, build(graph, values, inputs), outputs);
}

std::shared_ptr<const FusedOp> make_fused(FusedParts parts, std::uint32_t in_place) {
  auto op = std::make_shared<FusedOp>();
  fill_record(*op, std::move(parts), fused_elementwise_op);
  op->in_place = in_place;
  return op;
}

std::shared_ptr<const FusedOp> make_fused_reduction(FusedParts parts, const OpDef& reduction, const Attrs& attrs,
                                                    const TensorSpec& mapped) {
  auto op = std::make_shared<FusedReduction>();
  fill_record(*op, std::move(parts), fused_reduction_op, nullptr, &reduction);
  op->reduction = &reduction;
  op->domain = mapped.shape();
  op->mapped = mapped.dtype();
  op->axes = reduced_axes(reduction.name, AttrView(reduction, attrs).ints("axis"), op->domain.rank());
  return op;
}

const OpDef* fused_product_like(const OpDef& product) {
  if (&product == &matmul_op) return &fused_matmul_op;
  return &product == &conv2d_op ? &fused_conv2d_op : nullptr;
}

std::shared_ptr<const FusedOp> make_fused_product(FusedParts parts, const OpDef& product, const Attrs& attrs,
                                                  const TensorSpec& spec) {
  auto op = std::make_shared<FusedProduct>();
  op->rest = make_fused(parts);
  fill_record(*op, std::move(parts), *fused_product_like(product), &product);
  op->flops = product_flops;
  op->product = &product;
  op->product_attrs = attrs;
  op->product_spec = spec;
  return op;
}

}  // namespace tandem
