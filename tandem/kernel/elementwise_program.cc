#include "tandem/kernel/elementwise_program.h"

#include "tandem/kernel/fused.h"
#include "tandem/op/records.h"

namespace tandem {

expr::Program elementwise_program(const KernelCall& call) {
  std::vector<DType> inputs, outputs;
  for (const Operand& input : call.inputs) inputs.push_back(input.dtype());
  for (const Operand& output : call.outputs) outputs.push_back(output.dtype());
  if (is_fused_elementwise(call.op)) return static_cast<const FusedOp&>(call.op).program(inputs, outputs);
  const DType dtype = inputs.back();  // a mask comes first, so the last input has the dtype of the op
  const DType compute = call.op.compute_dtype ? call.op.compute_dtype(dtype) : dtype;
  return expr::make_program(call.op.scalar, inputs, compute, outputs);
}

}  // namespace tandem
