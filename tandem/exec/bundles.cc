#include "tandem/exec/bundles.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tandem/base/cores.h"
#include "tandem/exec/graph_placement.h"
#include "tandem/graph/passes.h"
#include "tandem/kernel/joinable.h"

namespace tandem {
namespace {

constexpr double kFlopsPerUs = 3e4,
                 kBytesPerUs = 5e4;  // of one core and its cache, about: only the order of magnitude counts
constexpr double kLeastUs = 1;    // less is done before another core has heard of it
constexpr double kMostUs = 30;    // more is shared out by the kernel itself
constexpr double kLeastGainUs = 4;  // what waking another core has to save
constexpr std::size_t kWindow = 256;  // steps looked at for companions, so that long graphs take linear time

class Bundler {
 public:
  Bundler(const Graph& graph, StepList& list) : graph_(graph), list_(list), made_by_(graph.nodes.size(), -1) {
    for (std::size_t s = 0; s < steps().size(); ++s) {
      made_by_[static_cast<std::size_t>(steps()[s].node)] = static_cast<std::int32_t>(s);
      cost_us_.push_back(cost_of(steps()[s]));
    }
    placed_.resize(steps().size());
  }

  void run() {
    for (std::size_t s = 0; s < steps().size(); ++s) {
      if (placed_[s]) continue;
      Bundle bundle = is_small(s) ? bundle_from(s) : Bundle{.members = {s}};
      if (gain_of(bundle.members) < kLeastGainUs) {
        for (std::size_t early : bundle.before) placed_[early] = false;
        bundle = {.members = {s}};
      }
      // The longest first: then the cores end at about the same time.
      std::ranges::stable_sort(bundle.members, std::greater{}, [&](std::size_t m) { return cost_us_[m]; });
      for (std::size_t early : bundle.before) ordered_.push_back(steps()[early]);
      for (std::size_t m : bundle.members) {
        placed_[m] = true;
        ordered_.push_back(steps()[m]);
        ordered_.back().together = m == bundle.members[0] ? static_cast<std::uint32_t>(bundle.members.size()) : 0;
      }
      share_out(bundle.members.size());
    }
    list_.steps = std::move(ordered_);
  }

 private:
  struct Bundle {
    std::vector<std::size_t> before = {};  // tiny steps that some members need
    std::vector<std::size_t> members;
  };

  std::vector<Step>& steps() { return list_.steps; }

  /// Each of N cores takes every Nth of the last `count` steps: in the next bundle those that read their results have
  /// the same places.
  void share_out(std::size_t count) {
    const std::size_t parts =
        std::min(count, static_cast<std::size_t>(std::max(2, Cores::process().threads())));  // one now may be two later
    if (count < 2) return;
    for (std::size_t i = 0; i < count; ++i) {
      Step& step = ordered_[ordered_.size() - count + i];
      step.parts = static_cast<std::uint32_t>(parts);
      step.share = {.part = static_cast<std::int32_t>(i % parts)};
    }
  }
  const Node& node(const Step& step) const { return graph_.nodes[static_cast<std::size_t>(step.node)]; }

  double cost_of(const Step& step) const {
    const Node& op = node(step);
    // Stays where it is: after others that read its input it may work in place.
    if (!step.call || changes_some(op)) return std::numeric_limits<double>::infinity();
    std::vector<const TensorSpec*> specs;
    for (GraphValue input : op.inputs) specs.push_back(&graph_.spec(input));
    const OpWork work = work_of(*op.op, specs, op.attrs, op.outputs);
    return std::max(work.flops / kFlopsPerUs, work.bytes / kBytesPerUs);
  }

  bool is_small(std::size_t s) const { return cost_us_[s] >= kLeastUs && cost_us_[s] <= kMostUs; }

  /// Is everything there that the step reads, once all before it in the new order have run?
  bool is_ready(const Step& step) const {
    return std::ranges::all_of(node(step).inputs, [&](GraphValue input) {
      const std::int32_t maker = made_by_[static_cast<std::size_t>(list_.root(input).node)];
      return maker < 0 || placed_[static_cast<std::size_t>(maker)];
    });
  }

  /// The step and small ones after it that could run now. What an op that runs by itself may change is not passed by.
  Bundle bundle_from(std::size_t first) {
    Bundle found{.members = {first}};
    const std::size_t end = std::min(steps().size(), first + kWindow);
    for (std::size_t s = first + 1; s < end && found.members.size() < kMostTogether; ++s) {
      if (!steps()[s].call || steps()[s].commits != steps()[first].commits) break;
      if (placed_[s] || !is_ready(steps()[s])) continue;
      if (is_small(s)) found.members.push_back(s);
      if (cost_us_[s] >= kLeastUs) continue;
      placed_[s] = true;
      found.before.push_back(s);
    }
    return found;
  }

  /// Microseconds that a second core would save.
  double gain_of(const std::vector<std::size_t>& members) const {
    double total = 0, longest = 0;
    for (std::size_t m : members) total += cost_us_[m], longest = std::max(longest, cost_us_[m]);
    return std::min(total / 2, total - longest);
  }

  const Graph& graph_;
  StepList& list_;
  std::vector<std::int32_t> made_by_;  // by node: the step
  std::vector<double> cost_us_;  // by step
  std::vector<char> placed_;  // by step
  std::vector<Step> ordered_;
};

/// Updates come last and need nothing of each other: those that can be joined move together.
void join_updates(std::vector<Step>& steps) {
  const auto begin = std::ranges::find_if(steps, &Step::commits);
  std::map<std::string, std::vector<Step>> groups;
  std::vector<Step> others;
  for (const Step& step : std::ranges::subrange(begin, steps.end())) {
    const auto* kernel = dynamic_cast<const JoinableKernel*>(step.call->kernel.get());
    const std::string key = kernel ? kernel->joins_with() : "";
    (key.empty() ? others : groups[key]).push_back(step);
  }
  auto next = std::ranges::copy(others, begin).out;
  for (auto& [key, members] : groups) {
    const std::size_t most =
        std::min(kMostTogether, dynamic_cast<const JoinableKernel&>(*members[0].call->kernel).most_joined());
    for (std::size_t m = 0; m < members.size(); ++m)
      members[m].together = m % most ? 0 : static_cast<std::uint32_t>(std::min(most, members.size() - m));
    next = std::ranges::copy(members, next).out;
  }
}

}  // namespace

void bundle_steps(const Graph& graph, StepList& list) {
  if (!pass_enabled("bundle")) return;
  if (!list.own_memory.empty()) return join_updates(list.steps);
  if (list.lanes == 0) Bundler(graph, list).run();
}

}  // namespace tandem
