// Kernels chosen and put in order.
#include "tandem/exec/step_list.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tandem/exec/bundles.h"
#include "tandem/exec/stages.h"
#include "tandem/exec/start_order.h"
#include "tandem/graph/split.h"
#include "tandem/op/array_records.h"

namespace tandem {
namespace {

// --- Rows of an argument, for a part of a split graph, that are read where they lie ---

enum Reader : char { kHost = 1, kOther = 2, kTensor = 4 };  // other: a device with memory of its own

/// Who reads what a node makes, seen through views: a set of Reader.
std::vector<char> readers(const Graph& graph, const GraphPlacement& placement) {
  std::vector<char> all(graph.nodes.size());
  for (GraphValue result : graph.results) all[static_cast<std::size_t>(result.node)] |= kTensor;
  for (const Graph::Write& write : graph.writes) all[static_cast<std::size_t>(write.value.node)] |= kTensor;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {  // readers come after what they read
    const Node& node = graph.nodes[n];
    const auto& choice = placement.ops[n].choice;
    char reader = kTensor;
    if (node.op->view) reader = all[n];
    else if (!node.op->execute && choice) reader = choice->device->memory().is_host() ? kHost : kOther;
    for (GraphValue input : node.inputs) all[static_cast<std::size_t>(input.node)] |= reader;
  }
  return all;
}

enum class Rows : char {
  made,  // by a kernel, as anything else
  in_place,  // kernels of the host find them in their source
  lent,  // a tensor that lies in its source: devices copy from there
};

std::vector<Rows> rows_of_sources(const Graph& graph, const GraphPlacement* placement) {
  std::vector<Rows> rows(graph.nodes.size(), Rows::made);
  if (!placement || !placement->graph) return rows;
  const std::vector<char> read_by = readers(graph, *placement);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!rows_taken(node) || offset_of_rows(graph, node) % kRowAlignment != 0 || (read_by[n] & kTensor)) continue;
    const Node& source = graph.node(node.inputs[0]);
    const auto& choice = placement->ops[n].choice;
    const bool here = choice && choice->device->memory().is_host();
    if (read_by[n] == kHost && is_source(source)) rows[n] = Rows::in_place;
    else if ((read_by[n] & kOther) && here && (source.op == &parameter_op || source.op == &constant_op))
      rows[n] = Rows::lent;
  }
  return rows;
}

class StepLister {
 public:
  StepLister(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}

  StepList run() {
    prepare_steps();
    find_own_memory();
    if (options_.placement || !out_.own_memory.empty()) order_by_start();
    choose_commits();
    choose_lanes();
    if (!stage_steps(graph_, out_)) bundle_steps(graph_, out_);
    return std::move(out_);
  }

 private:
  // --- Kernels ---

  void prepare_steps() {
    out_.roots.resize(graph_.nodes.size());
    out_.offsets.resize(graph_.nodes.size());
    out_.devices.resize(graph_.nodes.size());
    const std::vector<Rows> rows = rows_of_sources(graph_, options_.placement.get());
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const Node& node = graph_.nodes[at];
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        out_.roots[at].push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(k)});
      out_.lent.push_back(rows[at] == Rows::lent);
      if (is_source(node) || out_.lent[at]) continue;
      if (node.op->view || rows[at] == Rows::in_place) {
        out_.offsets[at] = out_.offsets[static_cast<std::size_t>(node.inputs[0].node)] + offset_of_rows(graph_, node);
        for (std::size_t k = 0; k < node.outputs.size(); ++k) out_.roots[at][k] = out_.root(node.inputs[k]);
        out_.devices[at] = out_.devices[static_cast<std::size_t>(node.inputs[0].node)];
        continue;
      }
      Step step{.node = static_cast<std::int32_t>(at)};
      if (!node.op->execute) {
        step.call = prepared(at);
        step.space = &step.call->device->memory();
        out_.devices[at] = step.call->device;
      }
      out_.steps.push_back(std::move(step));
    }
  }

  std::shared_ptr<const PreparedCall> prepared(std::size_t at) {
    const Node& node = graph_.nodes[at];
    Tensors operands;
    for (GraphValue input : node.inputs) operands.push_back(Tensor::symbolic(graph_.spec(input)));
    std::vector<TensorRef> inputs(operands.begin(), operands.end());
    OpCall call{.op = *node.op, .inputs = inputs, .attrs = node.attrs, .outputs = {}};
    PlacementRules rules = options_.rules;
    if (node.requested) call.requested = &*node.requested;
    else if (options_.scope) call.requested = &*options_.scope;
    else if (!is_placed(options_, at, rules)) call.near = near(node);
    if (call.requested) rules.chosen = {};
    auto& known = calls_[hash_of(call)];
    for (const auto& [candidate, chosen] : known)
      if (chosen == rules.chosen && candidate->key.matches(call)) return candidate;
    known.push_back({prepare(call, options_.devices, rules), rules.chosen});
    out_.calls.push_back(known.back().call);
    return known.back().call;
  }

  /// The device that made most of what the node reads; null for the host.
  const DeviceName* near(const Node& node) const {
    Device* device = nullptr;
    std::size_t most = 0;
    for (GraphValue input : node.inputs) {
      const std::size_t bytes = graph_.spec(input).bytes();
      if (bytes < most) continue;
      most = bytes;
      device = out_.devices[static_cast<std::size_t>(input.node)];
    }
    return device && device->memory().device() ? &device->name() : nullptr;
  }

  // --- Order: what writes variables in place comes last ---

  /// In the order in which the placer starts them; without it devices that work by themselves get their work as early
  /// as can be.
  void order_by_start() {
    std::vector<std::int32_t> step_of(graph_.nodes.size(), -1);
    for (std::size_t s = 0; s < out_.steps.size(); ++s)
      step_of[static_cast<std::size_t>(out_.steps[s].node)] = static_cast<std::int32_t>(s);
    std::vector<StartItem> items;
    std::int32_t last_effect = -1;  // effects keep the order of the program
    for (const Step& step : out_.steps) {
      const auto node = static_cast<std::size_t>(step.node);
      items.push_back({.start = options_.placement ? options_.placement->ops[node].start_us : 0,
                       .queue = step.call && !step.space->is_host() ? step.call->device : nullptr});
      for (GraphValue input : graph_.nodes[node].inputs)
        if (const std::int32_t maker = step_of[static_cast<std::size_t>(out_.root(input).node)]; maker >= 0)
          items.back().inputs.push_back(maker);
      if (!has_effects(graph_.nodes[node])) continue;
      if (last_effect >= 0) items.back().inputs.push_back(last_effect);
      last_effect = static_cast<std::int32_t>(items.size()) - 1;
    }
    std::vector<Step> ordered;
    for (std::int32_t s : start_order(items)) ordered.push_back(std::move(out_.steps[static_cast<std::size_t>(s)]));
    out_.steps = std::move(ordered);
  }

  /// The variable that output k of a step may overwrite: its own input k, replaced by exactly this output.
  const Cell* overwritten(const Step& step, std::size_t k) const {
    const Node& node = graph_.nodes[static_cast<std::size_t>(step.node)];
    if (!step.call || k >= 32 || !(node.op->in_place >> k & 1) || k >= node.inputs.size()) return nullptr;
    const GraphValue old = out_.root(node.inputs[k]);
    const Node& source = graph_.node(old);
    if (source.op != &variable_op) return nullptr;
    for (const Graph::Write& write : graph_.writes)
      if (write.value == GraphValue{step.node, static_cast<std::int32_t>(k)} && write.cell == source.cell)
        return source.cell.get();
    return nullptr;
  }

  void choose_commits() {
    std::vector<std::vector<int>> users(graph_.nodes.size());  // steps that read a node's outputs
    for (std::size_t s = 0; s < out_.steps.size(); ++s)
      for (GraphValue input : graph_.nodes[static_cast<std::size_t>(out_.steps[s].node)].inputs)
        users[static_cast<std::size_t>(out_.root(input).node)].push_back(static_cast<int>(s));
    for (Step& step : out_.steps) {
      if (!users[static_cast<std::size_t>(step.node)].empty()) continue;
      for (std::size_t k = 0; k < graph_.nodes[static_cast<std::size_t>(step.node)].outputs.size(); ++k)
        step.commits |= overwritten(step, k) != nullptr;
    }
    std::set<GraphValue> given;  // results, and what other variables take
    for (GraphValue result : graph_.results) given.insert(out_.root(result));
    for (const Graph::Write& write : graph_.writes) given.insert(out_.root(write.value));
    // A variable read by another step that also comes last, or given away as it was, keeps its old bytes until all have
    // run.
    for (std::size_t s = 0; s < out_.steps.size(); ++s) {
      if (!out_.steps[s].commits) continue;
      const Node& node = graph_.nodes[static_cast<std::size_t>(out_.steps[s].node)];
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const Cell* cell = overwritten(out_.steps[s], k);
        if (!cell) continue;
        bool alone = !given.contains(out_.root(node.inputs[k]));
        for (int user : users[static_cast<std::size_t>(out_.root(node.inputs[k]).node)])
          alone &= static_cast<std::size_t>(user) == s || !out_.steps[static_cast<std::size_t>(user)].commits;
        const GraphValue old = out_.root(node.inputs[k]);
        const auto reads =
            std::ranges::count_if(node.inputs, [&](GraphValue input) { return out_.root(input) == old; });
        if (alone && reads == 1) out_.in_place[cell] = {out_.steps[s].node, static_cast<std::int32_t>(k)};
      }
    }
    std::stable_partition(out_.steps.begin(), out_.steps.end(), [](const Step& step) { return !step.commits; });
  }

  // --- Threads ---

  static void add_once(std::vector<Device*>& devices, Device* device) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }

  void find_own_memory() {
    for (const Step& step : out_.steps)
      if (step.call && !step.space->is_host()) add_once(out_.own_memory, step.call->device);
  }

  /// A lane for each device that computes on the host: devices with memory of their own work by themselves, the first
  /// lane gives them what to do. What runs by itself (control flow) keeps everything on one thread.
  void choose_lanes() {
    std::vector<Device*> hosts;
    for (const Step& step : out_.steps) {
      if (!step.call) return;
      if (step.space->is_host()) add_once(hosts, step.call->device);
    }
    if (hosts.size() < 2) return;
    std::sort(hosts.begin(), hosts.end(), [](Device* a, Device* b) { return a->name().index < b->name().index; });
    for (Step& step : out_.steps)
      if (step.space->is_host() && !step.commits)
        step.lane =
            static_cast<std::uint32_t>(std::find(hosts.begin(), hosts.end(), step.call->device) - hosts.begin());
    out_.lanes = hosts.size();
  }

  const Graph& graph_;
  const LowerOptions& options_;
  StepList out_;
  struct KnownCall {
    std::shared_ptr<const PreparedCall> call;
    std::optional<DeviceChoice> chosen;
  };
  std::unordered_map<std::uint64_t, std::vector<KnownCall>> calls_;
};

}  // namespace

StepList list_steps(const Graph& graph, const LowerOptions& options) { return StepLister(graph, options).run(); }

bool changes_some(const Node& node) {
  return node.inputs.size() == 3 && std::ranges::find(kScatterFamily, node.op) != std::end(kScatterFamily);
}

bool is_placed(const LowerOptions& options, std::size_t node, PlacementRules& rules) {
  if (options.placement && options.placement->ops[node].choice) rules.chosen = options.placement->ops[node].choice;
  return rules.placed = rules.chosen.has_value();
}

}  // namespace tandem
