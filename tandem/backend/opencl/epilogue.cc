#include "tandem/backend/opencl/epilogue.h"

#include <algorithm>

#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

/// How the elements of an operand are loaded that belong to those of the product at `at`.
std::string load(const Operand& operand, const Shape& product, std::size_t i) {
  // By its shape, not by the number of its elements: a product with one row should have the text of one with many.
  const std::string d = slot_of(operand.dtype());
  const bool whole = operand.shape() == product;
  if (!whole && operand.shape().elements() == 1) return text("(", d, "_lane8)(", d, "_load(x", i, ", 0))");
  const char* at = whole ? "at" : "column";
  return text("m == 8 ? ", d, "_load8(x", i, ", ", at, ") : ", d, "_part(x", i, ", ", at, ", 1, m, 0)");
}

}  // namespace

Epilogue::Epilogue()
    : source_("#define EPILOGUE_PARAMETERS\n#define EPILOGUE_ARGUMENTS\n#define EPILOGUE(v, at, column, m) (v)\n") {}

Epilogue::Epilogue(const KernelCall& fused) : fused_(true) {
  const auto& op = static_cast<const FusedProduct&>(fused.op);
  arity_ = static_cast<std::size_t>(op.product->arity());
  inputs_ = fused.inputs.size() - arity_;
  outputs_ = fused.outputs.size();
  std::vector<DType> inputs{op.product_spec.dtype()}, outputs;
  for (std::size_t i = 0; i < inputs_; ++i) inputs.push_back(fused.inputs[arity_ + i].dtype());
  for (const Operand& output : fused.outputs) outputs.push_back(output.dtype());
  const expr::Program program = op.program(inputs, outputs);
  std::string parameters, names, body;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Operand& operand = fused.inputs[arity_ + i - 1];
    parameters += text(", __global const ", slot_of(operand.dtype()), "_mem* x", i);
    names += text(", x", i);
    body += text("      const ", slot_of(operand.dtype()), "_lane8 in", i, " = ",
                 load(operand, op.product_spec.shape(), i), ";\n");
  }
  body += statements(program);
  for (std::size_t k = 1; k < outputs.size(); ++k) {
    const std::string d = slot_of(outputs[k]), v = text("v", program.outputs[k].node);
    parameters += text(", __global ", d, "_mem* y", k);
    names += text(", y", k);
    body += text("      if (m == 8) ", d, "_store8(y", k, ", at, ", v, "); else ", d, "_store_part(y", k, ", at, ", v,
                 ", 1, m);\n");
  }
  const std::string lanes = text(slot_of(inputs[0]), "_lane8");
  source_ =
      text(define_dtypes(program), "static ", lanes, " epilogue(", lanes, " in0, long at, long column, int m",
           parameters, ") {\n", body, "      return v", program.outputs[0].node,
           ";\n}\n#define EPILOGUE_PARAMETERS , const int last", parameters, "\n#define EPILOGUE_ARGUMENTS , last",
           names, "\n#define EPILOGUE(v, at, column, m) (last ? epilogue(v, at, column, m", names, ") : (v))\n");
}

void Epilogue::add(Launch& launch, const KernelArgs& args, bool last) const {
  if (!fused_) return;
  launch.value<cl_int>(last);
  for (std::size_t i = 0; i < inputs_; ++i) launch.buffer(args.inputs[arity_ + i]);
  for (std::size_t k = 1; k < outputs_; ++k) launch.buffer(args.outputs[k]);
}

namespace {

const Kernel& first_supported(const KernelCall& product, const KernelList& kernels) {
  for (const Kernel& kernel : kernels)
    if (!kernel.supports || kernel.supports(product)) return kernel;
  TANDEM_CHECK(false, "no kernel for ", product.op.name);
  return kernels.back();
}

}  // namespace

Support product_and_rest_supported(const KernelCall& fused, const KernelList& products,
                                   std::initializer_list<std::string_view> but) {
  const ProductCall product(fused);
  Support last = no("no kernel for the product");
  for (const Kernel& kernel : products) {
    last = kernel.supports ? kernel.supports(product.call()) : yes();
    if (last)
      return std::ranges::find(but, kernel.name) != but.end() ? no("the product's own kernel goes on with the rest")
                                                              : yes();
  }
  return last;
}

Prepared prepare_product_and_rest(const KernelCall& fused, const KernelList& products) {
  const auto& op = static_cast<const FusedProduct&>(fused.op);
  const ProductCall product(fused);
  std::vector<Operand> inputs{Operand(op.product_spec)};
  const auto others = fused.inputs.subspan(static_cast<std::size_t>(op.product->arity()));
  inputs.insert(inputs.end(), others.begin(), others.end());
  const Attrs none{};
  const KernelCall rest{*op.rest, none, inputs, fused.outputs, fused.device};
  return prepared(
      [arity = static_cast<std::size_t>(op.product->arity()), count = inputs.size(),
       first = std::shared_ptr<PreparedKernel>(first_supported(product.call(), products).prepare(product.call())),
       then = std::shared_ptr<PreparedKernel>(elementwise_kernels()[0].prepare(rest))](const KernelArgs& args) {
        first->run(args);
        std::vector<const void*> operands{args.outputs[0]};
        operands.insert(operands.end(), args.inputs + arity, args.inputs + arity + count - 1);
        then->run({operands.data(), args.outputs, {}});
      });
}

}  // namespace tandem::opencl
