// From steps to a plan: values given a place, instructions in order.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tandem/exec/frame.h"
#include "tandem/exec/key_word.h"
#include "tandem/exec/step_list.h"
#include "tandem/exec/stepwise.h"
#include "tandem/exec/value_homes.h"
#include "tandem/graph/split.h"
#include "tandem/kernel/fused.h"
#include "tandem/kernel/joinable.h"
#include "tandem/kernel/overwriting.h"
#include "tandem/memory/arena_plan.h"

namespace tandem {
namespace {

/// True when output 0 may be computed over input i: elementwise, same elements, same width.
bool may_overwrite(const Node& node, std::size_t i, const TensorSpec& input, const MemorySpace& space) {
  const TensorSpec& output = node.outputs[0];
  if (changes_some(node)) return i == 0 && space.is_host() && input == output;
  if (i < 32 && (node.op->in_place >> i & 1) && i == 0) return input == output;
  return (node.op->scalar || is_fused_elementwise(*node.op)) && node.outputs.size() == 1 &&
         input.shape() == output.shape() && dtype_size(input.dtype()) == dtype_size(output.dtype());
}

}  // namespace

class Lowering {
 public:
  Lowering(const Graph& graph, const LowerOptions& options)
      : graph_(graph),
        options_(options),
        plan_(new Plan),
        list_(list_steps(graph, options)),
        steps_(list_.steps),
        homes_(graph, list_) {
    plan_->placement_ = options.placement;
    plan_->prepared_ = list_.calls;
    plan_->own_memory_ = list_.own_memory;
    plan_->lanes_.resize(list_.lanes);
  }

  std::unique_ptr<Plan> run() {
    find_idle_point();
    make_slots();
    emit();
    if (last_stage_) last_stage_->set_last();
    finish_actions();
    finish_lanes();
    finish_writes();
    prepare_for_shortage();
    return std::move(plan_);
  }

 private:
  using User = std::pair<MemorySpace*, std::uint32_t>;  // space and lane

  Home& home(GraphValue value) { return homes_.of(value); }

  /// After the last work for devices with memory of their own that comes before the host first waits for one of them.
  void find_idle_point() {
    std::optional<std::size_t> given;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if (step.call && !step.space->is_host()) {
        given = s;
        continue;
      }
      const auto& inputs = graph_.nodes[static_cast<std::size_t>(step.node)].inputs;
      if (!std::any_of(inputs.begin(), inputs.end(), [&](GraphValue input) { return home(input).read_by_host; }))
        continue;
      idle_after_ = given;
      return;
    }
  }

  void make_slots() {
    std::set<const Cell*> written;
    for (const Graph::Write& write : graph_.writes) written.insert(write.cell.get());
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const Node& node = graph_.nodes[at];
      if (node.op->view) continue;
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        Home& h = homes_.made_by(static_cast<std::int32_t>(at))[k];
        if (!h.stored) continue;
        h.slot = static_cast<std::uint32_t>(plan_->slots_.size());
        plan_->slots_.push_back(slot_of(node, k, written));
        if (!list_.lent[at]) continue;
        Plan::Slot& part = plan_->slots_.back();
        part.kind = Plan::Slot::Kind::part;
        part.index = home(node.inputs[0]).slot;
        part.offset = offset_of_rows(graph_, node);
      }
    }
    for (std::size_t i = 0; i < graph_.parameters.size(); ++i)
      plan_->slots_[homes_.made_by(graph_.parameters[i])[0].slot].index = static_cast<std::uint32_t>(i);
  }

  Plan::Slot slot_of(const Node& node, std::size_t k, const std::set<const Cell*>& written) const {
    using Kind = Plan::Slot::Kind;
    Plan::Slot slot{.kind = Kind::computed, .spec = node.outputs[k]};
    if (node.op == &parameter_op) slot.kind = Kind::argument;
    if (node.op == &constant_op) slot.kind = Kind::constant, slot.constant = node.constant;
    if (node.op == &variable_op)
      slot.kind = Kind::variable, slot.cell = node.cell, slot.written = written.contains(node.cell.get());
    return slot;
  }

  // --- Instructions ---

  void emit() {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (s > 0 && steps_[s].commits && !steps_[s - 1].commits) plan_->commit_ = count();
      if (steps_[s].together > 0) bundle_ = count();
      if (steps_[s].call) emit_kernel(s);
      else emit_call(s);
      if (s + 1 == steps_.size() || steps_[s + 1].together > 0) release_after_bundle(s);
      if (idle_after_ == s) plan_->actions_.push_back({.kind = Plan::Action::Kind::meanwhile, .before = count()});
    }
    if (steps_.empty() || !steps_.back().commits) plan_->commit_ = count();
    else if (steps_.front().commits) plan_->commit_ = 0;
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(plan_->instructions_.size()); }

  void emit_kernel(std::size_t s) {
    const Step& step = steps_[s];
    const Node& node = graph_.nodes[static_cast<std::size_t>(step.node)];
    Plan::Instruction instruction{.kernel = step.call->kernel.get(),
                                  .inputs = plan_->operand_count_,
                                  .outputs = plan_->operand_count_ + static_cast<std::uint32_t>(node.inputs.size()),
                                  .words = static_cast<std::uint32_t>(plan_->words_.size()),
                                  .word_count = static_cast<std::uint32_t>(node.attrs.run_time().size()),
                                  .call = step.call.get(),
                                  .told = step.space->is_host() ? nullptr : step.call->device,
                                  .together = step.together};
    plan_->operand_count_ += static_cast<std::uint32_t>(node.inputs.size() + node.outputs.size());
    plan_->words_.insert(plan_->words_.end(), node.attrs.run_time().begin(), node.attrs.run_time().end());
    if (draws_each_run(*node.op, node.attrs.run_time())) draws_[step.node] = {instruction.words + key_word(*node.op)};
    place_outputs(s, node);
    await_inputs(step, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      operand(instruction.inputs + static_cast<std::uint32_t>(i), node.inputs[i], step);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      operand(instruction.outputs + static_cast<std::uint32_t>(k), {step.node, static_cast<std::int32_t>(k)}, step);
    if (step.together > 1 || (step.together == 1 && step.parts > 0)) instruction.joined = joined(s);
    plan_->instructions_.push_back(instruction);
    for (const Home& made : homes_.made_by(step.node))
      if (made.read_by_host && !step.commits)
        plan_->actions_.push_back({.kind = Plan::Action::Kind::to_host,
                                   .before = count(),
                                   .tensor = made.slot,
                                   .lane = step.lane,
                                   .over = made.whole ? static_cast<std::int32_t>(made.whole->slot) : -1,
                                   .offset = made.offset});
  }

  /// The kernel that does the steps of a stage or bundle: cores that share them, or a device in one launch.
  const JoinedKernel* joined(std::size_t first) {
    if (steps_[first].parts > 0) return staged(first);
    std::vector<const JoinableKernel*> kernels;
    for (std::size_t s = first; s < first + steps_[first].together; ++s)
      kernels.push_back(dynamic_cast<const JoinableKernel*>(steps_[s].call->kernel.get()));
    plan_->joined_.push_back(kernels[0]->join(kernels));
    return plan_->joined_.back().get();
  }

  const JoinedKernel* staged(std::size_t first) {
    std::vector<StageKernel::Op> ops;
    for (std::size_t s = first; s < first + steps_[first].together; ++s)
      ops.push_back({steps_[s].call.get(), steps_[s].share});
    auto stage = std::make_unique<StageKernel>(std::move(ops), steps_[first].parts, trial_);
    if (!last_stage_) stage->set_first();
    last_stage_ = stage.get();
    plan_->joined_.push_back(std::move(stage));
    return last_stage_;
  }

  /// What other lanes make has to be there. Without calls, step s is instruction s.
  void await_inputs(const Step& step, const Node& node) {
    for (GraphValue input : node.inputs) {
      const Home& h = home(input);
      if (!h.crosses || h.lane == step.lane || step.commits) continue;
      plan_->actions_.push_back({.kind = Plan::Action::Kind::await,
                                 .before = count(),
                                 .tensor = h.lane,
                                 .first = static_cast<std::uint32_t>(h.made) + 1,
                                 .lane = step.lane});
      awaited_.insert(h.made);
    }
  }

  /// Finds a place for what the step makes, over an input that ends here where that is possible.
  void place_outputs(std::size_t s, const Node& node) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      Home& made = homes_.made_by(steps_[s].node)[k];
      if (made.whole) allocate(*made.whole);
      if (made.whole && !made.stored) continue;
      if (made.stored) {
        plan_->slots_[made.slot].decision = steps_[s].call->decision;
        if (is_in_place(steps_[s].node, k)) continue;
        allocate(made);
        if (k == 0) take_argument(s, node, made);
        continue;
      }
      bool reused = false;
      for (std::size_t i = 0; i < node.inputs.size() && k == 0 && !reused; ++i) {
        Home& old = home(node.inputs[i]);
        if (old.stored || old.leaves || old.last_use != static_cast<std::int32_t>(s) ||
            !(may_overwrite(node, i, graph_.spec(node.inputs[i]), *steps_[s].space) ||
              kernel_may_overwrite(s, node, i)) ||
            taken_over_.contains(&old) || (in_bundle(s) && old.uses > 1))  // others of the bundle may read it meanwhile
          continue;
        made.arena = old.arena, made.offset = old.offset;
        taken_over_.insert(&old);
        reused = true;
      }
      if (!reused) take(made, node.outputs[k].bytes());
    }
  }

  /// As may_overwrite, for kernels that say so themselves.
  bool kernel_may_overwrite(std::size_t s, const Node& node, std::size_t i) {
    const auto* kernel = dynamic_cast<const OverwritingKernel*>(steps_[s].call->kernel.get());
    const auto lies_there = [&](GraphValue input) { return &home(input) == &home(node.inputs[i]); };
    return kernel && kernel->may_lie_on(i) && graph_.spec(node.inputs[i]).bytes() == node.outputs[0].bytes() &&
           std::ranges::count_if(node.inputs, lies_there) == 1;
  }

  bool is_in_place(std::int32_t node, std::size_t k) const {
    const Node& maker = graph_.nodes[static_cast<std::size_t>(node)];
    if (k >= 32 || !(maker.op->in_place >> k & 1) || k >= maker.inputs.size()) return false;
    const auto found = list_.in_place.find(graph_.node(list_.root(maker.inputs[k])).cell.get());
    return found != list_.in_place.end() && found->second == GraphValue{node, static_cast<std::int32_t>(k)};
  }

  /// What changes some elements of an argument that nobody reads any more may do it there, if the caller gives the
  /// argument up.
  void take_argument(std::size_t s, const Node& node, const Home& made) {
    if (!changes_some(node) || in_bundle(s) || !plan_->lanes_.empty() || !steps_[s].space->is_host()) return;
    const GraphValue from = list_.root(node.inputs[0]);
    const Home& old = home(from);
    const bool last = old.last_use == static_cast<std::int32_t>(s) && !old.leaves;
    if (graph_.node(from).op == &parameter_op && last && graph_.spec(from) == node.outputs[0])
      over_[made.slot] = static_cast<std::int32_t>(old.slot);
  }

  /// Before the step that is being written down, if not before an earlier one.
  void allocate(const Home& made) {
    const User maker{made.space, made.lane};
    if (auto& binding = bindings_[{made.slot, maker}]; binding.first_use < 0)
      binding.first_use = static_cast<std::int32_t>(bundle_);
    allocated_.emplace(made.slot, maker);
  }

  void take(Home& made, std::size_t bytes) {
    if (made.space->is_host()) {
      auto [found, fresh] = host_arenas_.try_emplace({made.space, made.lane});
      if (fresh) {
        found->second.index = static_cast<std::uint32_t>(plan_->arenas_.size());
        plan_->arenas_.push_back({made.space, 0});
      }
      made.arena = found->second.index;
      made.offset = found->second.plan.take(bytes);
      plan_->arenas_[made.arena].bytes = found->second.plan.size();
      return;
    }
    // Elsewhere an address cannot be moved along: whole blocks are handed on.
    auto& blocks = free_blocks_[made.space];
    const auto fit = blocks.lower_bound(bytes);
    if (fit != blocks.end() && fit->first <= 2 * bytes + 4096) {
      made.arena = fit->second;
      blocks.erase(fit);
      return;
    }
    made.arena = static_cast<std::uint32_t>(plan_->arenas_.size());
    plan_->arenas_.push_back({made.space, bytes});
  }

  bool in_bundle(std::size_t s) const { return steps_[s].together != 1; }

  /// What a step of a bundle does not need any more, another may still read: all is released after the last.
  void release_after_bundle(std::size_t last) {
    std::size_t first = last;
    while (steps_[first].together == 0) --first;
    for (std::size_t s = first; s <= last; ++s) release_after(s);
  }

  void release_after(std::size_t s) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(steps_[s].node)];
    std::set<Home*> ended;
    for (GraphValue input : node.inputs)
      if (Home& h = home(input); h.last_use == static_cast<std::int32_t>(s)) ended.insert(&h);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (Home& h = homes_.made_by(steps_[s].node)[k]; h.uses == 0) ended.insert(&h);
    for (Home* h : ended) {
      if (h->made < 0 || h->leaves) continue;
      if (h->crosses || (h->whole && !h->stored)) continue;  // the frame lets go of it at the end, or with the whole
      if (h->stored)
        plan_->actions_.push_back(
            {.kind = Plan::Action::Kind::release, .before = count(), .tensor = h->slot, .lane = steps_[s].lane});
      else if (!taken_over_.contains(h)) give_back(*h);
    }
  }

  void give_back(const Home& h) {
    if (h.space->is_host()) host_arenas_.at({h.space, h.lane}).plan.give_back(h.offset);
    else free_blocks_[h.space].emplace(plan_->arenas_[h.arena].bytes, h.arena);
  }

  void operand(std::uint32_t at, GraphValue value, const Step& step) {
    const Home& h = home(value);
    if (h.whole && !h.stored) return bound(at, *h.whole, {h.whole->space, h.whole->lane}, h.offset);
    if (!h.stored) {
      plan_->arena_operands_.push_back({at, h.arena, h.offset});
      return;
    }
    if (is_in_place(list_.root(value).node, static_cast<std::size_t>(list_.root(value).output))) {
      write_operands_[list_.root(value)].push_back({at});
      return;
    }
    bound(at, h, {step.space, step.lane}, list_.offsets[static_cast<std::size_t>(value.node)]);
  }

  /// The operand is the address of a tensor of the frame, so many bytes on.
  void bound(std::uint32_t at, const Home& h, const User& user, std::size_t offset) {
    Binding& binding = bindings_[{h.slot, user}];
    if (binding.first_use < 0) binding.first_use = static_cast<std::int32_t>(bundle_);
    binding.operands.push_back({at, offset});
  }

  void emit_call(std::size_t s) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(steps_[s].node)];
    Plan::Call call{.op = node.op,
                    .owner = node.owner,
                    .attrs = node.attrs,
                    .requested = node.requested ? node.requested : options_.scope};
    PlacementRules rules = options_.rules;
    if (!call.requested && is_placed(options_, static_cast<std::size_t>(steps_[s].node), rules))
      call.near = rules.chosen->device->name();
    for (GraphValue input : node.inputs)
      call.inputs.push_back(home(input).slot), call.input_specs.push_back(graph_.spec(input));
    for (const Home& h : homes_.made_by(steps_[s].node)) call.outputs.push_back(h.slot);
    plan_->actions_.push_back({.kind = Plan::Action::Kind::call,
                               .before = count(),
                               .tensor = static_cast<std::uint32_t>(plan_->calls_.size())});
    plan_->calls_.push_back(std::move(call));
  }

  // --- The rest ---

  void finish_actions() {
    // Numbers are drawn in the order of the program, whatever the order in which ops start.
    for (const auto& [node, draw] : draws_) plan_->draws_.push_back(draw);
    std::vector<Plan::Action> bindings;
    for (auto& [key, binding] : bindings_) {
      const auto first = static_cast<std::uint32_t>(plan_->targets_.size());
      plan_->targets_.insert(plan_->targets_.end(), binding.operands.begin(), binding.operands.end());
      const auto& [slot, user] = key;
      const auto& [space, lane] = user;
      const auto made = allocated_.find(slot);
      const bool makes = made != allocated_.end() && made->second == user;
      bindings.push_back({.kind = makes ? Plan::Action::Kind::allocate : Plan::Action::Kind::bind,
                          .before = static_cast<std::uint32_t>(binding.first_use),
                          .tensor = slot,
                          .space = space,
                          .first = first,
                          .last = static_cast<std::uint32_t>(plan_->targets_.size()),
                          .lane = lane});
      if (const auto over = over_.find(slot); makes && over != over_.end()) bindings.back().over = over->second;
      if (is_known_at_once(bindings.back())) bindings.back().before = 0;
    }
    // Calls and releases keep their order; what binds comes after them and before its instruction.
    plan_->actions_.insert(plan_->actions_.end(), bindings.begin(), bindings.end());
    std::stable_sort(plan_->actions_.begin(), plan_->actions_.end(),
                     [](const auto& a, const auto& b) { return a.before < b.before; });
  }

  /// Where all is in the host's memory, addresses of what comes from outside are found before the first kernel: then
  /// nothing stands between kernels, which costs as much as the small ones take.
  bool is_known_at_once(const Plan::Action& action) const {
    return action.kind == Plan::Action::Kind::bind && plan_->slots_[action.tensor].kind != Plan::Slot::Kind::computed &&
           plan_->own_memory_.empty() && plan_->lanes_.empty();
  }

  void finish_lanes() {
    if (plan_->lanes_.empty()) return;
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < plan_->commit_; ++i) {
      for (; at < plan_->actions_.size() && plan_->actions_[at].before <= i; ++at)
        plan_->lanes_[plan_->actions_[at].lane].push_back({.is_action = true, .index = static_cast<std::uint32_t>(at)});
      plan_->lanes_[steps_[i].lane].push_back(
          {.is_action = false, .index = i, .awaited = awaited_.contains(static_cast<std::int32_t>(i))});
    }
  }

  Plan::Output output_of(GraphValue value) {
    const Home& h = home(value);
    if (h.copied) return {0, graph_.spec(value), steps_[static_cast<std::size_t>(h.made)].call->decision};
    return {h.slot, graph_.spec(value), plan_->slots_[h.slot].decision};
  }

  void finish_writes() {
    std::map<std::uint32_t, int> given;  // slots: how often
    for (GraphValue result : graph_.results) {
      plan_->results_.push_back(output_of(result));
      plan_->results_.back().again = given[plan_->results_.back().slot]++ > 0;
    }
    for (const Graph::Write& write : graph_.writes)
      if (const Home& h = home(write.value); !h.copied) ++given[h.slot];
    for (const Graph::Write& write : graph_.writes) {
      const Home& h = home(write.value);
      Plan::Write out{.cell = write.cell,
                      .output = output_of(write.value),
                      .copied = h.copied,
                      .space = h.space,
                      .arena = h.arena,
                      .offset = h.offset};
      out.also_given = !h.copied && given[h.slot] > 1;
      if (const auto found = list_.in_place.find(write.cell.get()); found != list_.in_place.end()) {
        out.in_place = true;
        out.first = static_cast<std::uint32_t>(plan_->targets_.size());
        const auto& operands = write_operands_[found->second];
        plan_->targets_.insert(plan_->targets_.end(), operands.begin(), operands.end());
        out.last = static_cast<std::uint32_t>(plan_->targets_.size());
      }
      plan_->writes_.push_back(std::move(out));
    }
    std::sort(plan_->writes_.begin(), plan_->writes_.end(),
              [](const auto& a, const auto& b) { return a.cell.get() < b.cell.get(); });
  }

  void prepare_for_shortage() {
    if (std::ranges::all_of(steps_, [](const Step& step) { return !step.space || step.space->is_host(); })) return;
    std::vector<std::optional<DeviceName>> devices;
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const Node& node = graph_.nodes[at];
      const Device* device = list_.devices[at];
      devices.push_back(node.requested ? node.requested : device ? std::optional(device->name()) : options_.scope);
    }
    plan_->stepwise_ = std::make_unique<const Stepwise>(graph_, std::move(devices));
    plan_->too_large_ = plan_->is_too_large();
    plan_->brings_results_ = options_.brings_results;
  }

  const Graph& graph_;
  const LowerOptions& options_;
  std::unique_ptr<Plan> plan_;
  const StepList list_;
  const std::vector<Step>& steps_;
  std::map<std::int32_t, Plan::Draw> draws_;  // by node
  std::map<GraphValue, std::vector<Plan::Target>> write_operands_;
  ValueHomes homes_;
  std::set<const Home*> taken_over_;  // whose bytes were handed on to an output
  std::map<std::uint32_t, std::int32_t> over_;  // slots that may be the bytes of an argument
  std::map<std::uint32_t, User> allocated_;  // slots that a kernel fills
  /// Operands that read or write one tensor in one memory space.
  struct Binding {
    std::int32_t first_use = -1;
    std::vector<Plan::Target> operands;
  };
  std::map<std::pair<std::uint32_t, User>, Binding> bindings_;
  std::uint32_t bundle_ = 0;  // first instruction of the bundle that is being written down
  std::shared_ptr<StageTrial> trial_ = std::make_shared<StageTrial>();
  StageKernel* last_stage_ = nullptr;  // so far
  std::set<std::int32_t> awaited_;  // steps that other lanes wait for
  std::optional<std::size_t> idle_after_;  // the step after which the host has time
  struct HostArena {
    std::uint32_t index = 0;
    ArenaPlan plan;
  };
  std::map<std::pair<MemorySpace*, std::uint32_t>, HostArena> host_arenas_;  // by space and lane
  std::map<MemorySpace*, std::multimap<std::size_t, std::uint32_t>> free_blocks_;
};

std::unique_ptr<Plan> lower(const Graph& graph, const LowerOptions& options) { return Lowering(graph, options).run(); }

}  // namespace tandem
