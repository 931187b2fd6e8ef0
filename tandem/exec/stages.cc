#include "tandem/exec/stages.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tandem/base/cores.h"
#include "tandem/exec/graph_placement.h"
#include "tandem/exec/stage_kernel.h"
#include "tandem/graph/passes.h"

namespace tandem {
namespace {

// One core of the machines that were measured; only the order of magnitude counts.
constexpr double kFlopsPerUs = 8e4, kBytesPerUs = 5e4, kCallUs = 0.1;
constexpr double kMeetingUs = 0.8;  // two cores told, and waited for
constexpr double kTinyUs = 0.3;     // not worth a second core by itself
constexpr double kSharedUs = 8;     // from here on kernels share themselves out
constexpr double kLeastGain = 0.9;  // of what the ops take one by one

/// What stages make of a step.
struct Staged {
  double us = 0;                 // on one core
  bool alone = false;            // runs between stages: it shares itself out
  int level = -1;                // -1: before all stages
  StageShare share;
};

/// Steps that follow each other, none of which has to stay where it is.
class Stager {
 public:
  Stager(const Graph& graph, const StepList& list, std::span<const Step> steps, std::int64_t parts)
      : graph_(graph),
        list_(list),
        steps_(steps),
        parts_(parts),
        staged_(steps.size()),
        made_by_(graph.nodes.size(), -1) {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      made_by_[static_cast<std::size_t>(steps_[s].node)] = static_cast<std::int32_t>(s);
      look_at(s);
    }
    find_readers();
    for (std::size_t s = 0; s < steps_.size(); ++s) choose(s);
  }

  /// The steps in their new order; nothing when op by op is as fast.
  std::vector<Step> run() {
    std::vector<Step> out;
    int levels = 0;
    for (const Staged& one : staged_) levels = std::max(levels, one.level + 1);
    double us = emit_before(out);
    for (int level = 0; level < levels; ++level) us += emit(level, out);
    return us <= kLeastGain * one_by_one() - kMeetingUs ? std::move(out) : std::vector<Step>();
  }

 private:
  const Node& node(std::size_t s) const { return graph_.nodes[static_cast<std::size_t>(steps_[s].node)]; }

  // --- What is known of a step ---

  void look_at(std::size_t s) {
    const Node& op = node(s);
    std::vector<const TensorSpec*> specs;
    for (GraphValue input : op.inputs) specs.push_back(&graph_.spec(input));
    const OpWork work = work_of(*op.op, specs, op.attrs, op.outputs);
    Staged& one = staged_[s];
    one.us = kCallUs + std::max(work.flops / kFlopsPerUs, work.bytes / kBytesPerUs);
    if (const RowKernel* kernel = rows_of(s); kernel && kernel->rows() >= 2 * parts_ && one.us < kSharedUs) {
      one.share.cut = kernel->cut(ranges(kernel->rows()));
      if (one.share.cut) one.share.rows = kernel->rows();
    }
    one.alone = one.us >= kSharedUs;
  }

  const RowKernel* rows_of(std::size_t s) const { return dynamic_cast<const RowKernel*>(steps_[s].call->kernel.get()); }

  std::vector<RowRange> ranges(std::int64_t rows) const {
    std::vector<RowRange> all;
    for (std::int64_t p = 0; p < parts_; ++p) all.push_back(rows_of_part(rows, p, parts_));
    return all;
  }

  /// Which steps have readers among the steps that would go on with their rows.
  void find_readers() {
    row_readers_.resize(steps_.size());
    for (std::size_t s = 0; s < steps_.size(); ++s)
      for (std::size_t i = 0; i < node(s).inputs.size(); ++i)
        if (const std::int32_t p = maker(s, i); p >= 0 && goes_on(s, i, static_cast<std::size_t>(p)))
          row_readers_[static_cast<std::size_t>(p)] = 1;
  }

  std::int32_t maker(std::size_t s, std::size_t input) const {
    return made_by_[static_cast<std::size_t>(list_.root(node(s).inputs[input]).node)];
  }

  /// Could the step, cut, read its part of what `p`, cut, has made?
  bool goes_on(std::size_t s, std::size_t input, std::size_t p) const {
    return staged_[s].share.rows > 0 && staged_[s].share.rows == staged_[p].share.rows &&
           rows_of(s)->reads_by_row(input);
  }

  // --- Who does it, and when ---

  void choose(std::size_t s) {
    Staged& one = staged_[s];
    if (one.alone) {
      one.level = level_after(s, [](const Staged&, std::size_t) { return false; });
      return;
    }
    if (is_before(s)) {
      one.share = {.part = 0};
      return;
    }
    const int cut = one.share.rows > 0
                        ? level_after(s, [&](const Staged& p, std::size_t i) { return goes_on(s, i, index(p)); })
                        : std::numeric_limits<int>::max();
    std::int32_t best = 0;
    int whole = std::numeric_limits<int>::max();
    for (std::int32_t share = 0; share < parts_; ++share) {
      const int level = level_after(s, [&](const Staged& p, std::size_t) { return p.share.part == share; });
      if (level < whole || (level == whole && load(level, share) < load(level, best))) best = share, whole = level;
    }
    const bool worth_it = one.us - kCallUs >= kTinyUs || row_readers_[s];
    one.level = std::min(cut, whole);
    if (cut < whole || (cut == whole && worth_it)) return;
    one.share = {.part = best};
    load(whole, best) += one.us;
  }

  std::size_t index(const Staged& one) const { return static_cast<std::size_t>(&one - staged_.data()); }

  /// Tiny, and it needs only what is there before the first stage: done before anybody is called.
  bool is_before(std::size_t s) const {
    if (staged_[s].us >= kTinyUs || row_readers_[s]) return false;
    for (std::size_t i = 0; i < node(s).inputs.size(); ++i)
      if (const std::int32_t p = maker(s, i); p >= 0 && staged_[static_cast<std::size_t>(p)].level >= 0) return false;
    return true;
  }

  /// The first level at which what the step reads is there; `together(maker, input)`: already at the level of its
  /// maker.
  template <class F>
  int level_after(std::size_t s, const F& together) const {
    int level = 0;
    for (std::size_t i = 0; i < node(s).inputs.size(); ++i) {
      const std::int32_t p = maker(s, i);
      if (p < 0) continue;
      const Staged& one = staged_[static_cast<std::size_t>(p)];
      level = std::max(level, one.level < 0 ? 0 : one.level + (one.alone || !together(one, i)));
    }
    return level;
  }

  /// Microseconds that a share has to do by itself at a level.
  double& load(int level, std::int32_t share) {
    const auto at =
        static_cast<std::size_t>(level) * static_cast<std::size_t>(parts_) + static_cast<std::size_t>(share);
    if (at >= loads_.size()) loads_.resize(at + static_cast<std::size_t>(parts_));
    return loads_[at];
  }

  // --- The new order ---

  double one_by_one() const {
    double us = 0;
    for (const Staged& one : staged_) us += by_itself(one.us);
    return us;
  }
  double by_itself(double us) const { return us >= kSharedUs ? us / static_cast<double>(parts_) + kMeetingUs : us; }

  double emit_before(std::vector<Step>& out) {
    double us = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s)
      if (staged_[s].level < 0) us += staged_[s].us, out.push_back(steps_[s]);
    return us;
  }

  double emit(int level, std::vector<Step>& out) {
    double us = 0, all_rows = 0, together = 0, longest = 0;
    std::vector<std::size_t> members;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (staged_[s].level != level) continue;
      if (staged_[s].alone) us += by_itself(staged_[s].us), out.push_back(steps_[s]);
      else members.push_back(s);
    }
    for (std::size_t s : members) (staged_[s].share.cut ? all_rows : together) += staged_[s].us;
    for (std::int32_t share = 0; share < parts_; ++share) longest = std::max(longest, load(level, share));
    const double staged = all_rows / static_cast<double>(parts_) + longest + kMeetingUs;
    const bool pays = staged < all_rows + together;
    for (std::size_t m = 0; m < members.size(); ++m) {
      out.push_back(steps_[members[m]]);
      if (!pays) continue;
      out.back().together = m == 0 ? static_cast<std::uint32_t>(members.size()) : 0;
      out.back().parts = static_cast<std::uint32_t>(parts_);
      out.back().share = staged_[members[m]].share;
    }
    return us + (pays ? staged : all_rows + together);
  }

  const Graph& graph_;
  const StepList& list_;
  const std::span<const Step> steps_;
  const std::int64_t parts_;
  std::vector<Staged> staged_;          // by step
  std::vector<std::int32_t> made_by_;   // by node: the step, -1 outside
  std::vector<char> row_readers_;       // by step
  std::vector<double> loads_;           // by level and share
};

/// Stays where it is: what runs by itself, and what may change its input in place after all others have read it.
bool stays(const Graph& graph, const Step& step) {
  return !step.call || !step.space->is_host() || changes_some(graph.nodes[static_cast<std::size_t>(step.node)]);
}

/// Throws `internal` when a core would read in a stage what another one makes there.
void verify_stage(const Graph& graph, const StepList& list, std::span<const Step> stage) {
  std::map<std::int32_t, const Step*> made;
  for (const Step& step : stage) {
    const auto& inputs = graph.nodes[static_cast<std::size_t>(step.node)].inputs;
    const auto* kernel = dynamic_cast<const RowKernel*>(step.call->kernel.get());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto maker = made.find(list.root(inputs[i]).node);
      if (maker == made.end()) continue;
      const StageShare &here = step.share, &there = maker->second->share;
      const bool own_rows = here.cut && there.cut && here.rows == there.rows && kernel->reads_by_row(i);
      TANDEM_CHECK(own_rows || (!here.cut && !there.cut && here.part == there.part),
                   "a stage reads what another core makes in it");
    }
    made[step.node] = &step;
  }
}

void verify_stages(const Graph& graph, const StepList& list) {
  for (std::size_t s = 0; s < list.steps.size(); s += std::max(1u, list.steps[s].together))
    if (list.steps[s].parts > 0) verify_stage(graph, list, std::span(list.steps).subspan(s, list.steps[s].together));
}

}  // namespace

bool stage_steps(const Graph& graph, StepList& list) {
  if (!pass_enabled("stage") || list.lanes != 0 || !list.own_memory.empty()) return false;
  const std::int64_t parts = std::min(Cores::process().threads(), kMostParts);
  // What a core writes that another has read has to be fetched back, line by line: updates of weights would lose what
  // stages gain.
  if (parts < 2 || (!graph.writes.empty() && stage_use() != StageUse::together)) return false;
  bool any = false;
  std::vector<Step> ordered;
  const std::span<const Step> steps = list.steps;
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin;
    while (end < steps.size() && !stays(graph, steps[end]) && steps[end].commits == steps[begin].commits) ++end;
    std::vector<Step> staged;
    if (end > begin) staged = Stager(graph, list, steps.subspan(begin, end - begin), parts).run();
    any |= !staged.empty();
    const std::size_t after = std::max(end, begin + 1);
    if (staged.empty())
      ordered.insert(ordered.end(), steps.begin() + static_cast<std::ptrdiff_t>(begin),
                     steps.begin() + static_cast<std::ptrdiff_t>(after));
    else std::ranges::move(staged, std::back_inserter(ordered));
    begin = after;
  }
  list.steps = std::move(ordered);
  verify_stages(graph, list);
  return any;
}

}  // namespace tandem
