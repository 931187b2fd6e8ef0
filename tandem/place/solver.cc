#include "tandem/place/solver.h"

#include <algorithm>
#include <cmath>

#include "tandem/place/annealing.h"
#include "tandem/place/exact.h"
#include "tandem/place/list_scheduler.h"
#include "tandem/place/packing.h"
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
// A plan that does not fit the memory yet is searched on if it is shorter than the best that fits by so much, and further if by this.
constexpr double kShorter = 0.9, kFarShorter = 0.7;
constexpr std::int64_t kMostWorkToFit = 16'000'000;
// Beyond this size a list schedule takes too much of the time.
constexpr int kNodesForRounds = 1000;
constexpr int kRounds = 6, kRoundsLater = 3;
// What all crossings count in the partitions that are tried as starts, and the part of the work that each may take.
constexpr double kCrossingWeights[] = {0.02, 0.1, 0.3};
constexpr std::int64_t kPartitionShare = 16;

// Edges smaller than this share of all may be cut; how many devices are tried for all parts together.
constexpr double kEdgeShares[] = {0.1, 0.3, 0.6};
constexpr std::int64_t kPackingSteps = 5000;

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
  void try_list(const Order& order, const ListRule& rule) {
    try_plan(order, list_schedule(p_, order, rule));
    spent_ += list_work();
  }

  /// What a list schedule takes, in nodes decoded.
  std::int64_t list_work() const {
    const std::int64_t size = p_.nodes + static_cast<std::int64_t>(p_.inputs.list.size());
    return size * p_.devices * (p_.any_limited ? 3 : 1) * 4 / 3;
  }

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
    for (const bool look_ahead : {false, true}) try_list(order, {all, look_ahead});
    for (int d = 0; d < p_.devices; ++d) try_list(order, {std::uint64_t{1} << d, false});
    if (p_.nodes > kNodesForSets) return;
    for (const double thrift : with_thrift ? std::span(kThrifts) : std::span<const double>{})
      for (const bool look_ahead : {false, true})
        if (look_ahead || !p_.any_limited) try_list(order, {all, look_ahead, thrift});
    if (p_.devices <= 2 || p_.devices > kDevicesForSets || (p_.any_limited && with_thrift)) return;
    for (std::uint64_t set = 1; set < all; ++set)
      if (set & (set - 1)) try_list(order, {set, true});
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
    try_whole_parts();
    if (plans_.empty()) try_plan(by_rank, any_assignment(p_));
    sort_plans();
  }

  /// What nothing joins is shared out as a whole, and where crossings are dear, what only small edges join.
  void try_whole_parts() {
    std::vector<std::int64_t> bytes{0};
    if (dear_ && p_.all_linked && p_.nodes <= kNodesForSets && !p_.consumers.list.empty())
      for (const double share : kEdgeShares) {
        std::vector<Neighbour> edges = p_.consumers.list;
        const auto nth = edges.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(edges.size()));
        std::ranges::nth_element(edges, nth, {}, &Neighbour::bytes);
        bytes.push_back(nth->bytes);
      }
    for (const std::int64_t least : bytes) {
      const auto assignment = pack_parts(p_, least, kPackingSteps);
      if (assignment) try_plan(order_of(p_, *assignment), assignment);
    }
  }

  void sort_plans() {
    std::stable_sort(plans_.begin(), plans_.end(), [](const Plan& a, const Plan& b) { return a.makespan < b.makespan; });
  }

  void list_best_again(std::size_t plans, int rounds) {
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes) return;
    for (std::size_t i = 0; i < std::min(plans, plans_.size()); ++i) {
      list_again(p_, decoder_, plans_[i], rounds);
      spent_ += rounds * list_work();
    }
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
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes || (p_.all_linked && !dear_) || plans_.empty()) return;
    const std::size_t listed = plans_.size();
    for (std::size_t i = 0; i < std::size(kCrossingWeights); ++i) {
      Assignment assignment = plans_[std::min(i, listed - 1)].assignment;
      spent_ += local_work() / kPartitionShare;
      partition(p_, assignment, {.work = local_work() / kPartitionShare, .crossing_weight = kCrossingWeights[i]}, i);
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
    return 250'000 + 6300 * std::clamp<std::int64_t>(nodes - 100, 0, 150) + 200 * std::max<std::int64_t>(nodes - 250, 0);
  }

  /// The best list as if there were memory enough: a search that has to make it fit ends elsewhere than one from lists that never left
  /// the memory, and where those found nothing it often ends well. Its makespan is kNever as long as it does not fit.
  void add_plan_beyond_memory() {
    if (!p_.any_limited || p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes) return;
    Problem roomy = p_;
    std::ranges::fill(roomy.limited, 0);
    roomy.any_limited = false;
    Decoder decoder(roomy);
    Plan best;
    for (const Order& order : {rank_order(p_), light_order(p_)})
      for (const double thrift : {0.0, 1.0}) {
        const auto assignment = list_schedule(roomy, order, {.look_ahead = true, .thrift = thrift});
        if (!assignment) continue;
        const double makespan = decoder.run(order, *assignment);
        if (makespan < best.makespan) best = {order, *assignment, makespan};
      }
    if (best.makespan == kNever) return;
    list_again(roomy, decoder, best, kRoundsLater);
    spent_ += (4 + kRoundsLater) * list_work() / 2;
    best.makespan = decoder_.run(best.order, best.assignment);
    plans_.push_back(std::move(best));
  }

  void search_locally() {
    add_partitions();
    list_best_again(kStarts, kRounds);
    plans_.resize(std::min(plans_.size(), kStarts));
    add_plan_beyond_memory();
    if (plans_.empty()) return;
    const std::size_t starts = plans_.size();
    // The best start gets most: as much is spent to see which it is.
    const std::int64_t work = std::max(local_work() / 2, local_work() - spent_), each = work / 2 / static_cast<std::int64_t>(starts);
    Plan beyond;  // the best of where searches ended that do not fit yet
    for (std::size_t i = 0; i < starts; ++i) {
      Plan last;
      anneal(p_, decoder_, plans_[i], each, i, {.first = 0.01, .last = 0.002}, &last);
      if (last.makespan < beyond.makespan) beyond = std::move(last);
    }
    sort_plans();
    // What promises so much is worth making fit.
    const bool start_beyond = p_.any_limited && beyond.makespan < kShorter * plans_[0].makespan;
    if (!start_beyond) beyond = {}, list_best_again(1, kRoundsLater);
    anneal(p_, decoder_, plans_[0], work - each * static_cast<std::int64_t>(starts), starts, {.first = 0.006, .last = 0.0003}, &beyond);
    make_fit(beyond);
    std::erase_if(plans_, [](const Plan& plan) { return plan.makespan == kNever; });
  }

  /// A graph is not refused, nor left with a plan far longer than what nearly fits, for the sake of milliseconds.
  void make_fit(Plan& beyond) {
    if (!p_.any_limited || p_.nodes <= kExactNodes || beyond.order.empty()) return;
    const auto enough = [&] { return plans_[0].makespan == kNever ? kMostWorkToFit : 4 * local_work(); };
    for (std::int64_t work = local_work(), done = 0; done < enough() && beyond.makespan < kFarShorter * plans_[0].makespan; done += work, work *= 2)
      anneal(p_, decoder_, plans_[0], work, static_cast<std::uint64_t>(work), {.first = 0.01, .last = 0.0003}, &beyond);
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
  std::int64_t spent_ = 0;  // on lists and partitions, in nodes decoded
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
