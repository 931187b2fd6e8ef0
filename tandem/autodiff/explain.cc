#include "tandem/autodiff/explain.h"

#include "tandem/exec/eager.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// On the machine at hand. What the plan was placed by is read; without a placer the one device, or the policy's, is asked.
Explanation explain_here(const GraphFunction& function, std::span<const TensorRef> inputs) {
  Runtime& runtime = default_runtime();
  const auto plan = function.plan(nullptr, nullptr, inputs);
  if (plan->placement()) return plan->placement()->explanation;
  const auto machine = runtime.machine();
  const auto devices = runtime.dispatcher().devices().known();
  GraphSetting setting{.machine = *machine, .devices = {devices.begin(), devices.end()}, .homes = homes_of(inputs)};
  if (runtime.placement_policy() == PlacementPolicy::first_gpu) setting.scope = DeviceName{"GPU", 0};
  return place(function.optimized(), setting).explanation;
}

}  // namespace

Explanation explain(const GraphFunction& function, std::span<const TensorRef> inputs, const ExplainOptions& options) {
  if (!options.machine) return explain_here(function, inputs);
  const auto devices = default_runtime().dispatcher().devices().known();
  const GraphSetting setting{.machine = *options.machine, .devices = {devices.begin(), devices.end()}, .only_here = false};
  Explanation there = place(function.optimized(), setting).explanation;
  there.machine = options.machine->name;
  there.here_us = explain_here(function, inputs).makespan_us;
  return there;
}

Explanation explain(const Function& function, const Tensors& inputs, const ExplainOptions& options) {
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  return explain(*function.concrete(inputs, options.key), refs, options);
}

}  // namespace tandem
