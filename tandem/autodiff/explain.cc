#include "tandem/autodiff/explain.h"

#include <algorithm>

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
Explanation explain_here(const GraphFunction& function, std::span<const TensorRef> inputs,
                         const std::optional<DeviceName>& scope) {
  const auto plan = function.plan(scope ? &*scope : nullptr, nullptr, inputs);
  if (plan->placement()) return plan->placement()->explanation;
  const auto machine = default_runtime().machine();
  const auto locked = locked_graph(function.optimized(), function.name);
  GraphSetting setting = setting_here(*machine, inputs);
  if (scope) setting.scope = scope;
  return place(locked ? *locked : function.optimized(), setting).explanation;
}

/// As a plan would be placed: with ops split where that pays.
Explanation placed(const GraphFunction& function, const GraphSetting& setting) {
  GraphPlacement whole = place(function.optimized(), setting);
  if (auto split = place_split(function.graph(), whole, setting)) return std::move(split->explanation);
  return std::move(whole.explanation);
}

/// Puts the ops of a traced function in the place of the one op that called it.
void open_call(Explanation& e, std::size_t call, const Explanation& inside) {
  const auto added = static_cast<std::int32_t>(inside.ops.size()), at = static_cast<std::int32_t>(call);
  if (added == 0) return;
  const double begin = e.ops[call].start_us, longer = inside.makespan_us - (e.ops[call].finish_us - begin);
  for (std::size_t i = call + 1; i < e.ops.size(); ++i) e.ops[i].start_us += longer, e.ops[i].finish_us += longer;
  e.makespan_us += longer;
  for (auto& [from, to] : e.edges) {
    if (from >= at) from += added - 1;  // its last op gives the result
    if (to > at) to += added - 1;
  }
  for (const auto& [from, to] : inside.edges) e.edges.emplace_back(at + from, at + to);
  std::vector<OpRecord> ops = inside.ops;
  for (OpRecord& op : ops) op.start_us += begin, op.finish_us += begin;
  e.ops.erase(e.ops.begin() + at);
  e.ops.insert(e.ops.begin() + at, ops.begin(), ops.end());
  for (Crossing crossing : inside.crossings) {
    crossing.start_us += begin;
    e.crossings.push_back(std::move(crossing));
  }
}

template <class F>
void open_calls(Explanation& e, const RunNotes& notes, F ops_of) {
  for (std::size_t i = e.ops.size(); i-- > 0;)
    if (const auto call = std::ranges::find(notes.inside(), e.ops[i].node, &RunNotes::Inside::node);
        call != notes.inside().end())
      open_call(e, i, ops_of(*call));
}

}  // namespace

Explanation explain(const RunNotes& notes, const ExplainOptions& options) {
  Machine machine = *default_runtime().machine();
  for (MachineDevice& device : machine.devices) device.memory = kUnlimited;  // what ran has found room
  GraphSetting setting = setting_here(machine, {});
  setting.homes = notes.homes();
  setting.ran = notes.decisions();
  Explanation here = place(notes.graph(), setting).explanation;
  open_calls(here, notes, [](const RunNotes::Inside& call) { return call.ops; });
  here.op_by_op = true;
  here.optimal = false;
  if (!options.machine) return here;
  const GraphSetting elsewhere = setting_there(*options.machine);
  Explanation there = place(notes.graph(), elsewhere).explanation;
  open_calls(there, notes, [&](const RunNotes::Inside& call) { return placed(*call.function, elsewhere); });
  there.optimal = false;
  there.machine = options.machine->name;
  there.here_us = here.makespan_us;
  there.op_by_op = true;
  return there;
}

Explanation explain(const GraphFunction& function, std::span<const TensorRef> inputs, const ExplainOptions& options) {
  if (!options.machine && options.scopes) return explain_here(function, inputs, options.scope);
  const Graph graph = options.scopes ? function.optimized() : without_requests(function.optimized());
  if (!options.machine) return place(graph, setting_here(*default_runtime().machine(), inputs)).explanation;
  const GraphSetting setting = setting_there(*options.machine);
  Explanation there = options.scopes ? placed(function, setting) : place(graph, setting).explanation;
  there.machine = options.machine->name;
  there.here_us = explain_here(function, inputs, options.scope).makespan_us;
  return there;
}

Explanation explain(const Function& function, const Tensors& inputs, const ExplainOptions& options) {
  if (functions_run_eagerly()) {
    RunNotes notes;
    function.call(inputs, options.key);
    notes.stop();
    return explain(notes, options);
  }
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
