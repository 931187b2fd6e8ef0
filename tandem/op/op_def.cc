#include "tandem/op/op_def.h"

namespace tandem {
namespace {

void check_arity(const OpDef& op, std::size_t given) {
  const auto wanted = static_cast<std::size_t>(op.arity());
  if (op.variadic ? given >= wanted : given == wanted) return;
  fail(ErrorCode::wrong_arity, op.name, " takes ", op.variadic ? "at least " : "", wanted, " tensors (",
       join(op.inputs), "), got ", given);
}

void check_dtypes(const OpDef& op, std::span<const TensorSpec* const> inputs) {
  const TensorSpec* first = nullptr;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i < 32 && (op.free_dtypes >> i & 1)) continue;
    const DType dtype = inputs[i]->dtype();
    if (!op.dtypes.contains(dtype))
      fail(ErrorCode::unsupported_dtype, op.name, " is not defined for ", dtype, "; it takes ", op.dtypes.to_string(),
           "; use cast()");
    if (first && first->dtype() != dtype)
      fail(ErrorCode::dtype_mismatch, op.name, ": dtypes ", first->dtype(), " and ", dtype,
           " are mixed; dtypes never mix silently: cast one of them");
    if (!first) first = inputs[i];
  }
}

}  // namespace

Specs infer(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs) {
  if (!op.execute) {  // what was made at run time takes what it was made for
    check_arity(op, inputs.size());
    check_dtypes(op, inputs);
  }
  return op.infer({op, inputs, {op, attrs}});
}

Cost cost(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs, const Specs& outputs) {
  Cost cost;
  double elements = 0;
  for (const TensorSpec* input : inputs) {
    cost.bytes += static_cast<double>(input->bytes());
    elements = std::max(elements, static_cast<double>(input->shape().elements()));
  }
  for (const TensorSpec& output : outputs) {
    cost.bytes += static_cast<double>(output.bytes());
    elements = std::max(elements, static_cast<double>(output.shape().elements()));
  }
  cost.flops = op.flops ? op.flops({op, inputs, {op, attrs}}) : op.flops_per_element * elements;
  return cost;
}

}  // namespace tandem
