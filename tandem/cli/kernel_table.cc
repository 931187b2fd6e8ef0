#include "tandem/cli/kernel_table.h"

#include <algorithm>

#include "tandem/kernel/kernel.h"
#include "tandem/op/samples.h"

namespace tandem::cli {
namespace {

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

/// Asks the kernels in order, as dispatch does, and notes the answers.
void ask(Device& device, const OpDef& op, const OpSample& sample, KernelChoice& choice) {
  std::vector<Operand> inputs, outputs;
  std::vector<const TensorSpec*> specs;
  for (const SampleInput& input : sample.inputs) {
    inputs.emplace_back(input.spec);
    specs.push_back(&input.spec);
  }
  for (const TensorSpec& spec : infer(op, specs, sample.attrs)) outputs.emplace_back(spec);

  const KernelCall call{op, sample.attrs, inputs, outputs, &device};
  for (const Kernel& kernel : device.kernels().of(op)) {
    const Support support = kernel.supports ? kernel.supports(call) : yes();
    if (support) return add_once(choice.kernels, std::string(kernel.name));
    add_once(choice.refused, Refusal{std::string(kernel.name), support.reason});
  }
}

}  // namespace

std::vector<KernelChoice> kernel_choices(const OpDef& op, Device& device) {
  std::vector<KernelChoice> choices;
  for (DType dtype : sample_dtypes(op)) {
    KernelChoice choice{.op = &op, .dtype = dtype, .device = device.name().short_name()};
    if (op.view) choice.kernels = {"view"};  // nothing runs: the output is the input under another shape
    else
      for (const OpSample& sample : samples(op, dtype)) ask(device, op, sample, choice);
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace tandem::cli
