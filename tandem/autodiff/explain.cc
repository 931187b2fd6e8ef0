#include "tandem/autodiff/explain.h"

#include "tandem/exec/eager.h"
#include "tandem/exec/locked_graph.h"
#include "tandem/exec/split_placement.h"
#include "tandem/graph/fingerprint.h"
#include "tandem/runtime/placement_lock.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// On the machine at hand, without a lock.
GraphSetting setting_here(const Machine& machine, std::span<const TensorRef> inputs) {
  Runtime& runtime = default_runtime();
  const auto devices = runtime.dispatcher().devices().known();
  GraphSetting setting{.machine = machine,
                       .devices = {devices.begin(), devices.end()},
                       .registry = &runtime.dispatcher().devices(),
                       .homes = homes_of(inputs)};
  if (runtime.placement_policy() == PlacementPolicy::first_gpu) setting.scope = DeviceName{"GPU", 0};
  return setting;
}

GraphSetting setting_there(const Machine& machine) {
  const auto devices = default_runtime().dispatcher().devices().known();
  return {.machine = machine, .devices = {devices.begin(), devices.end()}, .only_here = false};
}

/// On the machine at hand. What the plan was placed by is read; without a placer the one device, or the policy's, is
/// asked.
Explanation explain_here(const GraphFunction& function, std::span<const TensorRef> inputs) {
  const auto plan = function.plan(nullptr, nullptr, inputs);
  if (plan->placement()) return plan->placement()->explanation;
  const auto machine = default_runtime().machine();
  const auto locked = locked_graph(function.optimized(), function.name);
  return place(locked ? *locked : function.optimized(), setting_here(*machine, inputs)).explanation;
}

/// As a plan would be placed: with ops split where that pays.
Explanation placed(const GraphFunction& function, const GraphSetting& setting) {
  GraphPlacement whole = place(function.optimized(), setting);
  if (auto split = place_split(function.graph(), whole, setting)) return std::move(split->explanation);
  return std::move(whole.explanation);
}

}  // namespace

Explanation explain(const GraphFunction& function, std::span<const TensorRef> inputs, const ExplainOptions& options) {
  if (!options.machine && options.scopes) return explain_here(function, inputs);
  const Graph graph = options.scopes ? function.optimized() : without_requests(function.optimized());
  if (!options.machine) return place(graph, setting_here(*default_runtime().machine(), inputs)).explanation;
  const GraphSetting setting = setting_there(*options.machine);
  Explanation there = options.scopes ? placed(function, setting) : place(graph, setting).explanation;
  there.machine = options.machine->name;
  there.here_us = explain_here(function, inputs).makespan_us;
  return there;
}

Explanation explain(const Function& function, const Tensors& inputs, const ExplainOptions& options) {
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  return explain(*function.concrete(inputs, options.key), refs, options);
}

std::vector<Suggestion> suggest(const GraphFunction& function, std::span<const TensorRef> inputs,
                                const ExplainOptions& options) {
  if (options.machine) return suggest(function.optimized(), setting_there(*options.machine));
  const auto machine = default_runtime().machine();
  return suggest(function.optimized(), setting_here(*machine, inputs));
}

LockedFunction locked(const GraphFunction& function, const Explanation& explanation) {
  return locked(explanation.whole ? *explanation.whole : explanation, std::string(function.name),
                fingerprint(function.optimized()));
}

}  // namespace tandem
