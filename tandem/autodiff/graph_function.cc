#include "tandem/autodiff/graph_function.h"

#include <algorithm>

#include "tandem/autodiff/gradient_graph.h"
#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/tape.h"
#include "tandem/exec/device_error.h"
#include "tandem/exec/eager.h"
#include "tandem/exec/effect_log.h"
#include "tandem/exec/planned_steps.h"
#include "tandem/exec/run_ahead.h"
#include "tandem/graph/passes.h"
#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"
#include "tandem/op/grad.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/adaptive_plans.h"
#include "tandem/runtime/placement_lock.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

Specs result_specs(const Graph& graph) {
  Specs specs;
  for (GraphValue result : graph.results) specs.push_back(graph.spec(result));
  return specs;
}

std::optional<DeviceName> copy_of(const DeviceName* name) { return name ? std::optional(*name) : std::nullopt; }

}  // namespace

std::vector<std::string> homes_of(std::span<const TensorRef> arguments) {
  std::vector<std::string> homes;
  for (const TensorRef& argument : arguments) {
    const Device* device = argument->is_symbolic() ? nullptr : argument->storage().space().device();
    homes.push_back(device ? device->name().short_name() : "");
  }
  return homes;
}

// --- The function under a tape: a forward graph that also returns what the backward graph reads ---

struct GraphFunction::Differentiable final : OpDef {
  std::shared_ptr<const GraphFunction> forward, backward;
  std::vector<Ref<Cell>> variables;          // inputs after the arguments: so that tapes see them
  std::size_t results = 0;                   // outputs that the caller asked for; the rest is for the backward graph
  std::vector<bool> differentiated;          // by result: the backward graph takes its gradient
  std::vector<int> gradient_of;              // by result of the backward graph: which input
  std::string name_storage;

  explicit Differentiable(const GraphFunction& function);
  Tensors gradients(GradContext& context) const;
  static void execute_forward(OpCall& call) { static_cast<const Differentiable&>(call.op).forward->run(call); }

 private:
  Tensors recomputed(GradContext& context) const;
};

namespace {

/// The nodes that depend on a node in `from`.
std::vector<bool> dependents(const Graph& graph, const std::vector<std::int32_t>& from) {
  std::vector<bool> depends(graph.nodes.size());
  for (std::int32_t node : from) depends[static_cast<std::size_t>(node)] = true;
  for (std::size_t at = 0; at < graph.nodes.size(); ++at)
    for (GraphValue input : graph.nodes[at].inputs)
      if (depends[static_cast<std::size_t>(input.node)]) depends[at] = true;
  return depends;
}

/// Forward and backward in one graph, cut where the gradients of the results come in.
struct Joint {
  Graph graph;
  std::vector<std::int32_t> gradient_parameters;  // nodes
  std::size_t results;                            // forward results; gradients follow
};

/// The graph that runs the nodes with depends == true and reads the others as parameters, listed in `boundary`.
Graph backward_part(const Joint& joint, const std::vector<bool>& depends, std::vector<GraphValue>& boundary) {
  Graph graph;
  std::map<GraphValue, GraphValue> moved;
  auto use = [&](GraphValue value) {
    if (depends[static_cast<std::size_t>(value.node)] || moved.contains(value)) return;
    const Node& source = joint.graph.node(value);
    if (source.op == &constant_op) {
      moved[value] = graph.add(source);
      return;
    }
    moved[value] = graph.add({.op = &parameter_op, .outputs = {joint.graph.spec(value)}});
    graph.parameters.push_back(moved[value].node);
    boundary.push_back(value);
  };
  const auto results = std::span(joint.graph.results).subspan(joint.results);
  for (std::size_t at = 0; at < joint.graph.nodes.size(); ++at)
    if (depends[at])
      for (GraphValue input : joint.graph.nodes[at].inputs) use(input);
  for (GraphValue result : results) use(result);
  for (std::size_t at = 0; at < joint.graph.nodes.size(); ++at) {
    if (!depends[at]) continue;
    Node node = joint.graph.nodes[at];
    for (GraphValue& input : node.inputs) input = moved.at(input);
    const std::int32_t made = graph.add(std::move(node)).node;
    for (std::size_t k = 0; k < joint.graph.nodes[at].outputs.size(); ++k)
      moved[{static_cast<std::int32_t>(at), static_cast<std::int32_t>(k)}] = {made, static_cast<std::int32_t>(k)};
  }
  for (std::int32_t node : joint.gradient_parameters) graph.parameters.push_back(moved.at({node, 0}).node);
  for (GraphValue result : results) graph.results.push_back(moved.at(result));
  return graph;
}

}  // namespace

GraphFunction::Differentiable::Differentiable(const GraphFunction& function) : name_storage(function.name_storage_) {
  const Graph& graph = function.graph_;
  for (const Node& node : graph.nodes)
    if (node.op == &variable_op && node.cell->id().watched) variables.push_back(node.cell);
  results = graph.results.size();

  Joint joint{.results = results};
  {
    Trace trace;
    GradientTape tape;
    Tensors arguments, sources;
    for (std::int32_t parameter : graph.parameters)
      arguments.push_back(trace.parameter(graph.nodes[static_cast<std::size_t>(parameter)].outputs[0]));
    for (const Tensor& argument : arguments)
      if (is_floating(argument.dtype())) tape.watch(argument);
    sources = arguments;
    for (const Ref<Cell>& cell : variables) sources.push_back(trace.read(cell));
    const auto all = replay(graph, arguments);
    Tensors outputs = pick(all, graph.results);
    std::vector<GraphValue> written;
    for (const Graph::Write& write : graph.writes) written.push_back(write.value);
    const Tensors new_values = pick(all, written);

    Tensors targets, target_gradients;
    for (const Tensor& output : outputs) {
      differentiated.push_back(is_floating(output.dtype()));
      if (!differentiated.back()) continue;
      targets.push_back(output);
      target_gradients.push_back(trace.parameter(output.spec()));
    }
    Tensors gradients = targets.empty() ? Tensors(sources.size())
                                        : tape.gradient(targets, sources, Unconnected::none, target_gradients);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      gradient_of.push_back(static_cast<int>(i));
      outputs.push_back(gradients[i]);
    }
    for (std::size_t i = 0; i < graph.writes.size(); ++i) trace.write(graph.writes[i].cell, new_values[i]);
    joint.graph = trace.finish(outputs);
  }
  const auto& parameters = joint.graph.parameters;
  joint.gradient_parameters.assign(parameters.begin() + static_cast<std::ptrdiff_t>(graph.parameters.size()),
                                   parameters.end());

  std::vector<GraphValue> boundary;
  const auto depends = dependents(joint.graph, joint.gradient_parameters);
  Graph back = backward_part(joint, depends, boundary);
  back.group = graph.group;
  backward = GraphFunction::make(std::move(back), name_storage + " gradient");

  Graph front;
  std::vector<std::int32_t> moved(joint.graph.nodes.size(), -1);
  const auto to_front = [&](GraphValue value) {
    return GraphValue{moved[static_cast<std::size_t>(value.node)], value.output};
  };
  for (std::size_t at = 0; at < joint.graph.nodes.size(); ++at) {
    if (depends[at]) continue;
    Node node = joint.graph.nodes[at];
    // Trainable variables come in as arguments, so that the tape knows them.
    const auto variable = std::find(variables.begin(), variables.end(), node.cell);
    if (node.cell && variable != variables.end()) node = {.op = &parameter_op, .outputs = node.outputs};
    for (GraphValue& input : node.inputs) input = to_front(input);
    moved[at] = front.add(std::move(node)).node;
  }
  for (std::size_t i = 0; i < graph.parameters.size(); ++i)
    front.parameters.push_back(moved[static_cast<std::size_t>(parameters[i])]);
  for (const Ref<Cell>& cell : variables)
    for (std::size_t at = 0; at < joint.graph.nodes.size(); ++at)
      if (joint.graph.nodes[at].cell == cell) front.parameters.push_back(moved[at]);
  for (std::size_t i = 0; i < results; ++i) front.results.push_back(to_front(joint.graph.results[i]));
  for (GraphValue value : boundary) front.results.push_back(to_front(value));
  for (const Graph::Write& write : joint.graph.writes) front.writes.push_back({write.cell, to_front(write.value)});
  front.group = graph.group;
  forward = GraphFunction::make(std::move(front), name_storage);

  static_cast<OpDef&>(*this) = {
      .name = name_storage,
      .doc = "A traced function and what its gradient needs.",
      .variadic = true,
      .outputs = forward->outputs,
      .infer =
          [](const InferContext& c) { return result_specs(static_cast<const Differentiable&>(c.op).forward->graph()); },
      .grad = [](GradContext& g) { return static_cast<const Differentiable&>(g.attrs().op()).gradients(g); },
      .grad_reads = {.inputs = GradReads::kAll, .outputs = GradReads::kAll},
      .flops =
          [](const InferContext& c) { return static_cast<const Differentiable&>(c.op).forward->graph().work().flops; },
      .depth =
          [](const InferContext& c) {
            return static_cast<double>(static_cast<const Differentiable&>(c.op).forward->graph().op_count());
          },
      .like = forward->graph().effects(),
      .execute = execute_forward,
  };
}

Tensors GraphFunction::Differentiable::gradients(GradContext& g) const {
  const std::size_t outputs = forward->graph().results.size();
  for (std::size_t i = results; i < outputs; ++i)
    if (g.has_output_grad(static_cast<int>(i))) return recomputed(g);
  Tensors arguments;
  for (std::size_t i = results; i < outputs; ++i) arguments.push_back(g.output(static_cast<int>(i)));
  for (std::size_t i = 0; i < results; ++i) {
    if (differentiated[i]) arguments.push_back(g.output_grad(static_cast<int>(i)));
  }
  const Tensors computed = (*backward)(arguments);
  Tensors gradients(static_cast<std::size_t>(g.count()));
  for (std::size_t i = 0; i < computed.size(); ++i) gradients[static_cast<std::size_t>(gradient_of[i])] = computed[i];
  return gradients;
}

/// For gradients of gradients, which reach what the forward graph keeps as well: op by op, so that any tape can follow.
Tensors GraphFunction::Differentiable::recomputed(GradContext& g) const {
  Tensors inputs, targets, target_gradients;
  for (int i = 0; i < g.count(); ++i) inputs.push_back(g.input(i));
  GradientTape tape;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype())) tape.watch(input);
  const Tensors outputs = pick(replay(forward->graph(), inputs), forward->graph().results);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!g.has_output_grad(static_cast<int>(i)) || !is_floating(outputs[i].dtype())) continue;
    targets.push_back(outputs[i]);
    target_gradients.push_back(g.output_grad(static_cast<int>(i)));
  }
  return tape.gradient(targets, inputs, Unconnected::none, target_gradients);
}

// --- GraphFunction ---

GraphFunction::GraphFunction(Graph graph, std::string name) : graph_(std::move(graph)), name_storage_(std::move(name)) {
  static_cast<OpDef&>(*this) = {
      .name = name_storage_,
      .doc = "A traced function.",
      .variadic = true,
      .outputs = static_cast<int>(graph_.results.size()),
      .infer = [](const InferContext& c) { return result_specs(static_cast<const GraphFunction&>(c.op).graph_); },
      .grad = [](GradContext& g) { return static_cast<const GraphFunction&>(g.attrs().op()).gradients(g); },
      .grad_reads = {.inputs = GradReads::kAll},
      .flops = [](const InferContext& c) { return static_cast<const GraphFunction&>(c.op).graph_.work().flops; },
      .depth =
          [](const InferContext& c) {
            return static_cast<double>(static_cast<const GraphFunction&>(c.op).graph_.op_count());
          },
      .like = graph_.effects(),
      .execute = execute_call,
  };
  for (std::size_t at = 0; at < graph_.nodes.size(); ++at)
    if (const Node& node = graph_.nodes[at]; node.op == &constant_op && is_floating(node.constant.dtype()))
      constants_.push_back(static_cast<std::int32_t>(at));
}

void GraphFunction::execute_call(OpCall& call) { static_cast<const GraphFunction&>(call.op).run(call); }

/// Under a tape: what the backward graph reads is among the results, and a gradient of the call computes it again.
std::shared_ptr<const GraphFunction> GraphFunction::called_by(const OpDef& op) {
  if (op.execute == execute_call) return static_cast<const GraphFunction&>(op).shared_from_this();
  return op.execute == Differentiable::execute_forward ? static_cast<const Differentiable&>(op).forward : nullptr;
}

std::optional<OpParts> made_op::call_parts(const OpDef& op) {
  auto function = GraphFunction::called_by(op);
  if (!function) return std::nullopt;
  return OpParts{.kind = "call", .functions = {std::move(function)}};
}

std::shared_ptr<GraphFunction> GraphFunction::make(Graph graph, std::string name, TraceOrigin origin) {
  std::shared_ptr<GraphFunction> made(new GraphFunction(std::move(graph), std::move(name)));
  made->origin_ = std::move(origin);
  return made;
}

const Graph& GraphFunction::optimized() const {
  std::lock_guard lock(mutex_);
  if (!optimized_) optimized_ = optimize(graph_);
  return *optimized_;
}

void GraphFunction::until_done(const std::function<void()>& attempt) const {
  if (!graph_.is_repeated()) return attempt();
  EffectLog effects;
  const RandomState::Position numbers = random_state().position();
  for (;;) {
    const std::uint64_t before = graph_.group->departures();
    try {
      return attempt();
    } catch (const Error& error) {
      if (!goes_on_after(error, *graph_.group, before)) throw;
    }
    random_state().set_position(numbers);
    effects.rewind();
  }
}

void GraphFunction::run(OpCall& call) const {
  const CachedPlan found = cached_plan(call.requested, call.near, call.inputs);
  const auto run_at_once = [&call](const CachedPlan& now) {
    if (now.adaptive) now.adaptive->run(call.inputs, call.outputs);
    else now.plan->run(call.inputs, call.outputs);
  };
  if (!found.adaptive && RunAhead::may(*found.plan) && asks_for_several_devices(graph_)) hand_over(found.plan, call);
  else if (!graph_.is_repeated()) run_at_once(found);
  else until_done([&] { run_at_once(cached_plan(call.requested, call.near, call.inputs)); });
  if (found.large_work_us > 0) default_runtime().dispatcher().note_large_work(found.large_work_us);
}

void GraphFunction::run(const DeviceName* scope, const DeviceName* near, std::span<const TensorRef> arguments,
                        std::span<Tensor> results) const {
  until_done([&] { plan(scope, near)->run(arguments, results); });
}

void GraphFunction::hand_over(const std::shared_ptr<const Plan>& plan, OpCall& call) const {
  RunAhead::Attempts attempts;
  if (graph_.is_repeated())
    attempts = [self = shared_from_this(), scope = copy_of(call.requested),
                near = copy_of(call.near)](const auto& run_plan) {
      self->until_done([&] { run_plan(*self->plan(scope ? &*scope : nullptr, near ? &*near : nullptr)); });
    };
  RunAhead::run(plan, call.inputs, call.outputs, std::move(attempts));
}

std::shared_ptr<const Plan> GraphFunction::plan(const DeviceName* scope, const DeviceName* near,
                                                std::span<const TensorRef> arguments) const {
  const CachedPlan found = cached_plan(scope, near, arguments);
  return found.adaptive ? found.adaptive->current() : found.plan;
}

Graph GraphFunction::for_those_left() const {
  Graph graph = optimized();
  for (Node& node : graph.nodes)
    if (node.requested) node.requested = graph_.group->stand_in(*node.requested);
  return graph;
}

GraphFunction::CachedPlan GraphFunction::cached_plan(const DeviceName* scope, const DeviceName* near,
                                                     std::span<const TensorRef> arguments) const {
  EagerDispatcher& eager = default_runtime().dispatcher();
  const std::uint64_t epoch = eager.epoch();
  std::uint64_t departures = graph_.group ? graph_.group->departures() : 0;
  const std::string key = scope ? scope->short_name() : near ? "near " + near->short_name() : "";
  {
    std::lock_guard lock(mutex_);
    const CachedPlan& cached = plans_[key];
    if ((cached.plan || cached.adaptive) && cached.epoch == epoch && cached.departures == departures) return cached;
  }
  if (graph_.group) {
    graph_.group->part_from_lost();
    departures = graph_.group->departures();
  }
  std::optional<Graph> instead;
  if (departures > 0) instead = for_those_left();
  else if (!near) instead = locked_graph(optimized(), name_storage_);
  const Graph& graph = instead ? *instead : optimized();
  LowerOptions options{.devices = eager.devices(), .rules = eager.rules(), .brings_results = graph_.is_repeated()};
  // Once a device has failed, what nobody placed stays on the host, which does not fail.
  Device* beside = departures > 0 ? &eager.devices().host_device() : near ? eager.devices().find(*near) : nullptr;
  if (scope) options.scope = *scope;
  else if (beside) options.rules.chosen = DeviceChoice{beside, ReasonCode::colocated};
  else options.placement = default_runtime().place(graph, homes_of(arguments));
  if (graph_.group && options.placement) note_planned_step(graph, *graph_.group, *options.placement);
  std::shared_ptr<const GraphPlacement> split;
  if (!instead && options.placement)
    split = default_runtime().place_split(graph_, *options.placement, homes_of(arguments));
  CachedPlan made;
  const bool adapts = !instead && options.placement && default_runtime().adapts() && !leaves_little_to_place(graph);
  if (adapts && AdaptivePlans::pays(*options.placement)) {
    made.adaptive =
        std::make_shared<AdaptivePlans>(graph, options, homes_of(arguments), AdaptivePlans::Split{split, graph_});
  } else {
    if (split) options.placement = split;
    made.plan = lower(split ? *split->graph : graph, options);
  }
  if (!scope && !near && !options.placement && !eager.devices().searched())
    made.large_work_us = large_work_us(graph.work());
  made.departures = departures;
  made.epoch = eager.epoch();  // looking for devices may have changed it
  std::lock_guard lock(mutex_);
  return plans_[key] = made;
}

std::shared_ptr<const GraphFunction::Differentiable> GraphFunction::differentiable() const {
  std::lock_guard lock(mutex_);
  if (!differentiable_) differentiable_ = std::make_shared<Differentiable>(*this);
  return differentiable_;
}

/// Of a call inside a graph that was traced without a tape: what the function computes is computed again.
Tensors GraphFunction::gradients(GradContext& g) const {
  for (const Node& node : graph_.nodes)
    if (node.op == &variable_op && node.cell->id().watched)
      fail(ErrorCode::no_gradient, name_storage_, " reads the variable '", node.cell->name(),
           "' and was called inside a traced "
           "function; call what it was traced from instead, so that it becomes part of that function");
  Tensors inputs;
  for (int i = 0; i < g.count(); ++i) inputs.push_back(g.input(i));
  for (std::size_t i = 0; i < graph_.results.size(); ++i) {
    const TensorSpec& spec = graph_.spec(graph_.results[i]);
    if (!is_floating(spec.dtype())) continue;
    inputs.push_back(g.output_grad(static_cast<int>(i)));
  }
  std::shared_ptr<const GraphFunction> gradient;
  {
    std::lock_guard lock(mutex_);
    if (!gradient_) gradient_ = gradient_function(graph_, name_storage_);
    gradient = gradient_;
  }
  const Tensors made = (*gradient)(inputs);
  Tensors all(static_cast<std::size_t>(g.count()));
  std::size_t next = 0;
  for (int i = 0; i < g.count(); ++i)
    if (is_floating(g.input_spec(i).dtype())) all[static_cast<std::size_t>(i)] = made[next++];
  return all;
}

std::vector<std::int32_t> GraphFunction::followed_constants() const {
  std::vector<std::int32_t> followed;
  for (std::int32_t at : constants_)
    if (GradientTape::any_follows(graph_.nodes[static_cast<std::size_t>(at)].constant)) followed.push_back(at);
  return followed;
}

std::shared_ptr<const GraphFunction> GraphFunction::taking(const std::vector<std::int32_t>& constants) const {
  std::lock_guard lock(mutex_);
  auto& made = taking_[constants];
  if (made) return made;
  Graph graph = graph_;
  for (std::int32_t at : constants) {
    Node& node = graph.nodes[static_cast<std::size_t>(at)];
    node = {.op = &parameter_op, .outputs = node.outputs};
    graph.parameters.push_back(at);
  }
  return made = make(std::move(graph), name_storage_, origin_);
}

Tensors GraphFunction::operator()(std::span<const Tensor> arguments) const {
  if (!GradientTape::any_recording()) return call_op(shared_from_this(), arguments);
  if (const auto followed = followed_constants(); !followed.empty()) {
    Tensors all(arguments.begin(), arguments.end());
    for (std::int32_t at : followed) all.push_back(graph_.nodes[static_cast<std::size_t>(at)].constant);
    return (*taking(followed))(all);
  }
  const auto variant = differentiable();
  Tensors inputs(arguments.begin(), arguments.end());
  for (const Ref<Cell>& cell : variant->variables)
    inputs.push_back(Trace::current() ? Trace::current()->read(cell) : cell->read());
  Tensors outputs = call_op(variant, inputs);
  outputs.resize(variant->results);
  return outputs;
}

}  // namespace tandem
