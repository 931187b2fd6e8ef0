#include "tandem/exec/graph_placement.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "tandem/graph/split.h"

namespace tandem {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::vector<const TensorSpec*> input_specs(const Graph& graph, const Node& node) {
  std::vector<const TensorSpec*> specs;
  for (GraphValue input : node.inputs) specs.push_back(&graph.spec(input));
  return specs;
}

std::vector<Operand> operands(std::span<const TensorSpec* const> specs) {
  std::vector<Operand> list;
  for (const TensorSpec* spec : specs) list.emplace_back(*spec);
  return list;
}

std::int64_t bytes_of(const Node& node) {
  std::int64_t bytes = 0;
  for (const TensorSpec& spec : node.outputs) bytes += static_cast<std::int64_t>(spec.bytes());
  return bytes;
}

std::string saved_text(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << (us >= 1e3 ? us / 1e3 : us)
      << (us >= 1e3 ? " ms" : " us");  // below 1000: three digits are enough
  return out.str();
}

/// In place of a kernel, for an op that runs others: loops, branches, calls of Python.
constexpr std::string_view kControl = "control";

/// A graph as the placer sees it. Views and what every device may keep a copy of (constants, variables that are only
/// read) have no node there.
class Question {
 public:
  Question(const Graph& graph, const GraphSetting& setting)
      : graph_(graph),
        setting_(setting),
        machine_(setting.machine) {
    for (const MachineDevice& device : machine_.devices) {
      const auto found =
          std::ranges::find_if(setting.devices, [&](const Device* d) { return d->name().short_name() == device.name; });
      here_.push_back(found == setting.devices.end() ? nullptr : *found);
    }
    for (const Graph::Write& write : graph.writes) written_.insert(write.cell.get());
    count_uses();
    place_of_.assign(graph.nodes.size(), -1);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) add(static_cast<std::int32_t>(n));
    keep_together();
  }

  GraphPlacement answer() {
    Constraints constraints{.soft = true, .contention = setting_.contention};
    if (setting_.only_here)
      for (std::size_t d = 0; d < here_.size(); ++d)
        if (here_[d]) constraints.visible.push_back(machine_.devices[d].name);
    const Schedule schedule = place(question_, machine_, constraints);
    GraphPlacement placement{.ops = std::vector<GraphPlacement::Op>(graph_.nodes.size())};
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const std::int32_t p = place_of_[n];
      if (p < 0 || is_source(graph_.nodes[n])) continue;
      const Placement& chosen = schedule.nodes[at(p)];
      placement.ops[n].start_us = chosen.start_us;
      if (!asks(graph_.nodes[n])) placement.ops[n].choice = choice_of(chosen);
    }
    placement.explanation = explained(schedule);
    return placement;
  }

 private:
  // --- The graph ---

  void count_uses() {
    uses_.assign(graph_.nodes.size(), 0);
    for (const Node& node : graph_.nodes)
      for (GraphValue input : node.inputs) ++uses_[at(input.node)];
    for (GraphValue result : graph_.results) ++uses_[at(result.node)];
    for (const Graph::Write& write : graph_.writes) ++uses_[at(write.value.node)];
  }

  void add(std::int32_t n) {
    const Node& node = graph_.nodes[at(n)];
    if (node.op == &constant_op || (node.op == &variable_op && !written_.contains(node.cell.get()))) return;
    if (node.op->view) return;
    PlaceNode place{.id = text("%", n, " ", node.op->name), .memory = bytes_of(node)};
    if (node.op == &parameter_op) {
      add_argument(n, place);
    } else if (node.op == &variable_op) {
      place.id = node.cell->name();
      anywhere(place);
    } else {
      describe(n, place);
    }
    place_of_[at(n)] = static_cast<std::int32_t>(question_.nodes.size());
    node_of_.push_back(n);
    question_.nodes.push_back(std::move(place));
    add_edges(n);
  }

  void add_edges(std::int32_t n) {
    for (GraphValue input : graph_.nodes[at(n)].inputs)
      if (const std::int32_t from = place_of(input); from >= 0)
        question_.edges.push_back({from, place_of_[at(n)], static_cast<std::int64_t>(graph_.spec(input).bytes())});
  }

  /// The node that makes a value, seen through views; -1 when it has none.
  std::int32_t place_of(GraphValue value) const {
    while (graph_.node(value).op->view) value = graph_.node(value).inputs[at(value.output)];
    return place_of_[at(value.node)];
  }

  void anywhere(PlaceNode& place) const {
    for (const MachineDevice& device : machine_.devices) place.costs.push_back({device.name, 0});
  }

  void add_argument(std::int32_t n, PlaceNode& place) const {
    const auto index = static_cast<std::size_t>(std::ranges::find(graph_.parameters, n) - graph_.parameters.begin());
    place.id = text("input ", index);
    const std::string home = index < setting_.homes.size() ? setting_.homes[index] : "";
    const bool known = !home.empty() && machine_.find(home);
    place.costs.push_back({known ? home : machine_.devices[0].name, 0});
  }

  /// A variable that is replaced lies where its new value is made.
  void keep_together() {
    std::map<const Cell*, std::int32_t> variables;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (graph_.nodes[n].op == &variable_op) variables[graph_.nodes[n].cell.get()] = static_cast<std::int32_t>(n);
    for (const Graph::Write& write : graph_.writes)
      if (const auto found = variables.find(write.cell.get()); found != variables.end())
        join(at(found->second), write.value);
  }

  void join(std::size_t source, GraphValue made) {
    const std::int32_t a = place_of_[source], b = place_of(made);
    if (a >= 0 && b >= 0 && a != b) question_.nodes[at(a)].together = b;
  }

  // --- An op ---

  const DeviceName* asks(const Node& node) const {
    if (node.requested) return &*node.requested;
    return setting_.scope ? &*setting_.scope : nullptr;
  }

  void describe(std::int32_t n, PlaceNode& place) {
    const Node& node = graph_.nodes[at(n)];
    const auto specs = input_specs(graph_, node);
    place.work = work_of(*node.op, specs, node.attrs, node.outputs);
    if (lies_in_place(node)) cost_nothing_here(place);
    std::vector<std::string>& kernels = kernels_[static_cast<std::int32_t>(question_.nodes.size())];
    kernels.resize(machine_.devices.size());
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      if (has_effects(node) && d > 0)
        place.refusals.push_back({machine_.devices[d].name, "what it does besides computing happens on the host"});
      if (node.op->execute) kernels[d] = kControl;
      if (!here_[d] || node.op->execute) continue;
      std::vector<Candidate> asked;
      if (const Kernel* kernel = kernel_of(node, specs, node.outputs, *here_[d], asked)) kernels[d] = kernel->name;
      else place.refusals.push_back({machine_.devices[d].name, asked.back().refusal});
    }
    if (const Decision* ran = how_it_ran(n)) place.requested = ran->device;
    else if (const DeviceName* wanted = asks(node)) request(*wanted, place);
    else if (!setting_.only.empty())
      place.requested = refuses(place, setting_.only) ? machine_.devices[0].name : setting_.only;
  }

  /// Rows of a source, and parts put together, are not copied on the host (step_list.cc, value_homes.cc).
  bool lies_in_place(const Node& node) const {
    if (rows_taken(node))
      return is_source(graph_.node(node.inputs[0])) && offset_of_rows(graph_, node) % kRowAlignment == 0;
    std::size_t offset = 0;
    return joins_rows(node) && std::ranges::all_of(node.inputs, [&](GraphValue part) {
             return std::exchange(offset, offset + graph_.spec(part).bytes()) % kRowAlignment == 0 &&
                    uses_[at(part.node)] == 1;
           });
  }

  void cost_nothing_here(PlaceNode& place) const {
    const OpWork work = *std::exchange(place.work, std::nullopt);
    for (const MachineDevice& device : machine_.devices) {
      const bool host = DeviceName::parse(device.name).kind == "CPU";
      place.costs.push_back({device.name, host ? 0 : predict(work, device, machine_.measured).total()});
    }
  }

  const Decision* how_it_ran(std::int32_t n) const {
    return at(n) < setting_.ran.size() ? setting_.ran[at(n)] : nullptr;
  }

  static bool refuses(const PlaceNode& place, const std::string& device) {
    return std::ranges::any_of(place.refusals, [&](const auto& r) { return r.device == device; });
  }

  static const Kernel* kernel_of(const Node& node, std::span<const TensorSpec* const> inputs, const Specs& outputs,
                                 Device& device, std::vector<Candidate>& asked) {
    const auto in = operands(inputs);
    std::vector<Operand> out;
    for (const TensorSpec& spec : outputs) out.emplace_back(spec);
    return find_kernel({*node.op, node.attrs, in, out, &device}, asked);
  }

  /// As eager execution does: a device that is missing or has no kernel gives way to the host.
  void request(const DeviceName& wanted, PlaceNode& place) {
    place.requested = wanted.short_name();
    const auto device = machine_.find(place.requested);
    const bool refused = refuses(place, place.requested);
    const bool there = device && (here_[at(*device)] || !setting_.only_here);
    if (there && !refused) return;
    const ReasonCode missing = setting_.registry ? setting_.registry->why_missing(wanted) : ReasonCode::device_missing;
    gave_way_.push_back(
        {static_cast<std::int32_t>(question_.nodes.size()), there ? ReasonCode::no_kernel : missing, place.requested});
    place.requested = machine_.devices[0].name;
  }

  // --- The answer ---

  std::optional<DeviceChoice> choice_of(const Placement& placed) const {
    Device* device = here_[at(placed.device)];
    if (!device) return std::nullopt;
    return DeviceChoice{device, placed.reason};
  }

  Explanation explained(const Schedule& schedule) const {
    Explanation all = explain(schedule, question_, machine_);
    Explanation e{.crossings = std::move(all.crossings),
                  .devices = std::move(all.devices),
                  .makespan_us = all.makespan_us,
                  .optimal = all.optimal,
                  .doubt = std::move(all.doubt)};
    std::vector<std::int32_t> record_of(question_.nodes.size(), -1);
    for (std::size_t p = 0; p < question_.nodes.size(); ++p) {
      const Node& node = graph_.nodes[at(node_of_[p])];
      if (is_source(node)) continue;
      record_of[p] = static_cast<std::int32_t>(e.ops.size());
      OpRecord& op = e.ops.emplace_back(std::move(all.ops[p]));
      op.op = node.op->name;
      op.node = node_of_[p];
      if (!node.outputs.empty()) {
        op.dtype = dtype_name(node.outputs[0].dtype());
        op.shape = text(node.outputs[0].shape());
      }
      op.kernel = kernels_.at(static_cast<std::int32_t>(p))[at(schedule.nodes[p].device)];
      if (const Decision* ran = how_it_ran(op.node)) note_run(*ran, static_cast<std::int32_t>(p), op);
      else note_request(static_cast<std::int32_t>(p), op);
      if (op.reason == ReasonCode::no_kernel) op.remedy = remedy(node, static_cast<std::int32_t>(p), schedule.nodes[p]);
      if (op.remedy.empty()) op.remedy = other_remedy(op, question_.nodes[p]);
    }
    for (const auto& [from, to] : all.edges)
      if (record_of[at(from)] >= 0) e.edges.emplace_back(record_of[at(from)], record_of[at(to)]);
    return e;
  }

  void note_run(const Decision& ran, std::int32_t p, OpRecord& op) const {
    op.requested = ran.requested;
    op.reason = ran.reason;
    op.text = ran.text();
    if (op.kernel != kControl) op.kernel = ran.kernel;
    const PlaceNode& place = question_.nodes[at(p)];
    if (!ran.requested.empty() || !place.work) return;
    for (OpRecord::Candidate& c : op.candidates)  // none was asked for
      if (!refuses(place, c.device))
        c = {c.device, predict(*place.work, machine_.devices[at(*machine_.find(c.device))], machine_.measured).total(),
             ""};
  }

  void note_request(std::int32_t p, OpRecord& op) const {
    for (const GaveWay& request : gave_way_)
      if (request.node == p) {
        op.requested = request.wanted;
        op.reason = request.reason;
        op.text = text(request.wanted, " was requested but ", why_not(request.reason));
      }
  }

  static std::string_view why_not(ReasonCode reason) {
    switch (reason) {
      case ReasonCode::no_kernel: return "has no kernel for it";
      case ReasonCode::not_visible: return "is hidden from this program";
      case ReasonCode::device_lost: return "has disappeared";
      default: return "does not exist here";
    }
  }

  /// What a cast to float32 would gain, where float64 is in the way.
  std::string remedy(const Node& node, std::int32_t p, const Placement& placed) const {
    const auto given = input_specs(graph_, node);
    Specs inputs, outputs;
    for (const TensorSpec* spec : given)
      inputs.emplace_back(spec->dtype() == DType::f64 ? DType::f32 : spec->dtype(), spec->shape());
    for (const TensorSpec& spec : node.outputs)
      outputs.emplace_back(spec.dtype() == DType::f64 ? DType::f32 : spec.dtype(), spec.shape());
    std::vector<const TensorSpec*> specs;
    for (const TensorSpec& spec : inputs) specs.push_back(&spec);
    const OpWork work = work_of(*node.op, specs, node.attrs, outputs);
    for (std::size_t d = 0; d < here_.size(); ++d) {
      std::vector<Candidate> asked;
      const bool refused = refuses(question_.nodes[at(p)], machine_.devices[d].name);
      if (!refused || !here_[d] || !kernel_of(node, specs, outputs, *here_[d], asked)) continue;
      const double saved =
          placed.finish_us - placed.start_us - predict(work, machine_.devices[d], machine_.measured).total();
      if (saved > 0)
        return text("cast to float32: runs on ", machine_.devices[d].name, ", saves ", saved_text(saved), " a step");
    }
    return "";
  }

  /// What to ask for instead of what was asked for, or of more memory than there is.
  std::string other_remedy(const OpRecord& op, const PlaceNode& place) const {
    if (op.reason == ReasonCode::not_visible)
      return text("make ", op.requested, " visible, or ask for one of ", names_here());
    if (op.reason == ReasonCode::device_missing || op.reason == ReasonCode::device_lost)
      return text("ask for one of ", names_here());
    if (op.reason == ReasonCode::no_kernel && !op.requested.empty())
      return text(
          "ask for ", op.chosen, ", which has a kernel for it",
          op.transfer_us > 0 ? text("; now what it reads is copied there for ", saved_text(op.transfer_us)) : "");
    if (op.reason == ReasonCode::memory) return "a smaller batch, or a higher memory limit";
    if (op.reason != ReasonCode::requested || !place.work) return "";
    const double here = op.finish_us - op.start_us;
    const MachineDevice* best = nullptr;
    double least = 0.9 * here;  // what saves less is not worth a change
    for (const MachineDevice& device : machine_.devices) {
      const double us = predict(*place.work, device, machine_.measured).total();
      if (device.name != op.chosen && !refuses(place, device.name) && us < least) best = &device, least = us;
    }
    if (!best) return "";
    return text("ask for no device: ", best->name, " computes it in ", saved_text(least), ", ",
                saved_text(here - least), " less");
  }

  std::string names_here() const {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < here_.size(); ++d)
      if (here_[d] || !setting_.only_here) names.push_back(machine_.devices[d].name);
    return tandem::join(names);
  }

  struct GaveWay {
    std::int32_t node;
    ReasonCode reason;
    std::string wanted;
  };
  const Graph& graph_;
  const GraphSetting& setting_;
  const Machine& machine_;
  std::vector<Device*> here_;           // by device of the machine
  PlaceGraph question_;
  std::vector<std::int32_t> uses_;      // by node of the graph: of what it makes
  std::vector<std::int32_t> place_of_;  // by node of the graph; -1: it has none
  std::vector<std::int32_t> node_of_;   // by node of the question
  std::map<std::int32_t, std::vector<std::string>> kernels_;  // by node of the question, then device
  std::vector<GaveWay> gave_way_;
  std::set<const Cell*> written_;
};

}  // namespace

OpWork work_of(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs, const Specs& outputs) {
  const Cost work = cost(op, inputs, attrs, outputs);
  const DType dtype = !inputs.empty() ? inputs[0]->dtype() : outputs.empty() ? DType::f32 : outputs[0].dtype();
  // The steps of an op that runs other ops are kernels of their own.
  const double steps = op.depth ? op.depth({op, inputs, {op, attrs}}) : 0;
  return {.op = std::string(op.name),
          .dtype = dtype,
          .flops = work.flops,
          .bytes = work.bytes,
          .depth = op.execute ? 0 : steps,
          .launches = op.execute ? std::max(1.0, steps) : 1};
}

GraphPlacement place(const Graph& graph, const GraphSetting& setting) { return Question(graph, setting).answer(); }

}  // namespace tandem
