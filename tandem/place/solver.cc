#include "tandem/place/solver.h"

#include <algorithm>
#include <cmath>

#include "tandem/place/annealing.h"
#include "tandem/place/exact.h"
#include "tandem/place/list_scheduler.h"
#include "tandem/place/partition.h"
#include "tandem/place/relisting.h"

namespace tandem::placer {
namespace {

// Beyond these sizes an exact search would not end.
constexpr int kExactNodes = 14;
constexpr std::int64_t kExactSteps = 1'000'000, kExactStepsWithoutPlan = 10'000'000;
// With more devices or nodes than this not every set of devices, and no thrift, is tried.
constexpr int kDevicesForSets = 4;
constexpr int kNodesForSets = 2000;
// Ending soon on a slow device costs later what the device would have done meanwhile; how much is seen by trying.
constexpr double kThrifts[] = {0.25, 1, 4};
constexpr std::size_t kStarts = 2;
// Beyond this size a list schedule takes too much of the time.
constexpr int kNodesForRounds = 1000;
constexpr int kRounds = 6, kRoundsLater = 3;
// What all crossings count in the partitions that are tried as starts, and how many changes each of them tries.
constexpr double kCrossingWeights[] = {0.02, 0.1, 0.3};
constexpr std::int64_t kPartitionSteps = 2000;

class Solver {
 public:
  Solver(const Problem& problem, const Effort& effort) : p_(problem), effort_(effort), decoder_(problem), dear_(crossings_are_dear()) {}

  Solution run() {
    collect_candidates();
    search_locally();
    if (p_.nodes <= kExactNodes || plans_.empty()) search_exactly_too();
    else finish(plans_[0]);
    solution_.optimal = solution_.optimal || solution_.makespan <= p_.bound * (1 + 1e-12);
    return std::move(solution_);
  }

 private:
  void try_plan(const Order& order, const std::optional<Assignment>& assignment) {
    if (!assignment) return;
    const bool known = std::ranges::any_of(plans_, [&](const Plan& p) { return p.assignment == *assignment; });
    if (known) return;
    const double makespan = decoder_.run(order, *assignment);
    if (makespan != kNever) plans_.push_back({order, *assignment, makespan});
    else if (decoder_.shortage().node >= 0 && (solution_.shortage.node < 0 || decoder_.shortage().missing < solution_.shortage.missing))
      solution_.shortage = decoder_.shortage();
  }

  void try_order(const Order& order, bool with_thrift) {
    const std::uint64_t all = p_.devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << p_.devices) - 1;
    for (const bool look_ahead : {false, true}) try_plan(order, list_schedule(p_, order, {all, look_ahead}));
    for (int d = 0; d < p_.devices; ++d) try_plan(order, list_schedule(p_, order, {std::uint64_t{1} << d, false}));
    if (p_.nodes > kNodesForSets) return;
    for (const double thrift : with_thrift ? std::span(kThrifts) : std::span<const double>{})
      for (const bool look_ahead : {false, true})
        if (look_ahead || !p_.any_limited) try_plan(order, list_schedule(p_, order, {all, look_ahead, thrift}));
    if (p_.devices <= 2 || p_.devices > kDevicesForSets || (p_.any_limited && with_thrift)) return;
    for (std::uint64_t set = 1; set < all; ++set)
      if (set & (set - 1)) try_plan(order, list_schedule(p_, order, {set, true}));
  }

  void collect_candidates() {
    const Order by_rank = rank_order(p_);
    try_order(by_rank, true);
    if (p_.any_limited) {
      const Order light = light_order(p_);
      const std::size_t before = plans_.size();
      try_order(light, false);
      for (std::size_t i = 0; i < before; ++i) try_plan(light, plans_[i].assignment);
      if (plans_.empty()) try_plan(light, any_assignment(p_));
    }
    if (plans_.empty()) try_plan(by_rank, any_assignment(p_));
    sort_plans();
  }

  void sort_plans() {
    std::stable_sort(plans_.begin(), plans_.end(), [](const Plan& a, const Plan& b) { return a.makespan < b.makespan; });
  }

  void list_best_again(std::size_t plans, int rounds) {
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes) return;
    for (std::size_t i = 0; i < std::min(plans, plans_.size()); ++i) list_again(p_, decoder_, plans_[i], rounds);
    sort_plans();
  }

  /// Whether what crosses takes longer than what computes, in the mean.
  bool crossings_are_dear() const {
    double latency = 0, per_byte = 0, links = 0, bytes = 0, costs = 0, pairs = 0;
    for (int from = 0; from < p_.devices; ++from)
      for (int to = 0; to < p_.devices; ++to)
        if (from != to && p_.linked(from, to)) latency += p_.latency[p_.pair(from, to)], per_byte += p_.per_byte[p_.pair(from, to)], links += 1;
    for (const Neighbour& c : p_.consumers.list) bytes += static_cast<double>(c.bytes);
    for (int v = 0; v < p_.nodes; ++v)
      for (int d = 0; d < p_.devices; ++d)
        if (p_.may(v, d)) costs += p_.us(v, d), pairs += 1;
    const auto edges = static_cast<double>(p_.consumers.list.size());
    return (latency * edges + per_byte * bytes) * pairs > costs * links * edges;
  }

  /// Each from another of the best lists: where neighbours have to stay together, lists that go node by node all look alike.
  void add_partitions() {
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes || (p_.all_linked && !dear_)) return;
    const std::size_t listed = plans_.size();
    for (std::size_t i = 0; i < std::size(kCrossingWeights); ++i) {
      Assignment assignment = plans_[std::min(i, listed - 1)].assignment;
      partition(p_, assignment, {.steps = kPartitionSteps, .crossing_weight = kCrossingWeights[i]}, i);
      try_plan(order_of(p_, assignment), assignment);
    }
    sort_plans();
  }

  /// A few milliseconds for a hundred nodes, some more for two hundred; from there on it grows ever slower, so that the whole
  /// stays below n log n.
  std::int64_t local_work() const {
    if (effort_.local_work >= 0) return effort_.local_work;
    if (p_.nodes <= kExactNodes) return 20'000;
    const std::int64_t nodes = p_.nodes;
    const std::int64_t work = 95'000 + 2100 * std::clamp<std::int64_t>(nodes - 100, 0, 150) + 60 * std::max<std::int64_t>(nodes - 250, 0);
    return p_.any_limited ? work / 2 : work;  // decoding with memory takes twice as long
  }

  void search_locally() {
    if (plans_.empty()) return;
    add_partitions();
    list_best_again(kStarts, kRounds);
    const std::size_t starts = std::min(plans_.size(), kStarts);
    plans_.resize(starts);
    // The best start gets most: as much is spent to see which it is.
    const std::int64_t work = local_work(), each = work / 2 / static_cast<std::int64_t>(starts);
    for (std::size_t i = 0; i < starts; ++i) anneal(p_, decoder_, plans_[i], each, i, {.first = 0.01, .last = 0.002});
    sort_plans();
    list_best_again(1, kRoundsLater);
    anneal(p_, decoder_, plans_[0], work - each * static_cast<std::int64_t>(starts), starts, {.first = 0.006, .last = 0.0003});
  }

  void finish(const Plan& plan) {
    solution_.makespan = decoder_.run(plan.order, plan.assignment);
    solution_.assignment = plan.assignment;
    solution_.timeline.starts.assign(decoder_.starts().begin(), decoder_.starts().end());
    solution_.timeline.ends.assign(decoder_.ends().begin(), decoder_.ends().end());
    solution_.timeline.copies.assign(decoder_.copies().begin(), decoder_.copies().end());
  }

  void search_exactly_too() {
    const bool found = !plans_.empty();
    if (found) finish(plans_[0]);
    if (p_.nodes > 64) return;
    if (found && solution_.makespan <= p_.bound * (1 + 1e-12)) return;
    const double limit = found ? solution_.makespan * (1 - 1e-9) : kNever;
    Exact exact = search_exactly(p_, limit, effort_.exact_steps >= 0 ? effort_.exact_steps : found ? kExactSteps : kExactStepsWithoutPlan);
    if (exact.timeline) {
      solution_.assignment = std::move(exact.assignment);
      solution_.timeline = std::move(*exact.timeline);
      solution_.makespan = exact.makespan;
    }
    solution_.optimal = exact.complete;
  }

  const Problem& p_;
  const Effort& effort_;
  Decoder decoder_;
  const bool dear_;
  std::vector<Plan> plans_;
  Solution solution_;
};

}  // namespace

Solution solve(const Problem& problem, const Effort& effort) { return Solver(problem, effort).run(); }

double plain_heft(const Problem& problem) {
  const Order order = rank_order(problem);
  const auto assignment = list_schedule(problem, order, {});
  return assignment ? Decoder(problem).run(order, *assignment) : kNever;
}

double best_single_device(const Problem& problem) {
  double best = kNever;
  Decoder decoder(problem);
  const Order order = rank_order(problem);
  for (int d = 0; d < problem.devices; ++d)
    if (const auto assignment = list_schedule(problem, order, {std::uint64_t{1} << d, false}))
      best = std::min(best, decoder.run(order, *assignment));
  return best;
}

}  // namespace tandem::placer
