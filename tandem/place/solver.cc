#include "tandem/place/solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tandem/base/cores.h"
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
// Searches of the same plan at a time, however many cores there are: the plan must not depend on them.
constexpr std::size_t kReplicas = 2;
// The part of the work that is spent to see which start is the best; how often the replicas begin again from the better
// of them.
constexpr double kFirstShare = 0.35;
constexpr int kEpochs = 2;
constexpr double kFirstHeat = 0.006, kLastHeat = 0.0003;
// A plan that does not fit the memory yet is searched on if it is shorter than the best that fits by so much, and
// further if by this.
constexpr double kShorter = 0.9, kFarShorter = 0.7;
constexpr std::int64_t kMostWorkToFit = 16'000'000;
// Where a first list needs at most this part of the memory, the search does without looking at it.
constexpr double kRoomyShare = 0.8;
// Beyond this size a list schedule takes too much of the time.
constexpr int kNodesForRounds = 1000;
constexpr int kRounds = 6, kRoundsLater = 3;
// What all crossings count in the partitions that are tried as starts, and the part of the work that each may take.
constexpr double kCrossingWeights[] = {0.02, 0.1, 0.3};
constexpr std::int64_t kPartitionShare = 32;

// What thorough means: the worst of the bench's graphs is then within 5 % of a minute of annealing.
constexpr std::int64_t kThoroughTimes = 24;

// Edges smaller than this share of all may be cut; how many devices are tried for all parts together.
constexpr double kEdgeShares[] = {0.1, 0.3, 0.6};
constexpr std::int64_t kPackingSteps = 5000;

Problem without_limits(const Problem& problem) {
  Problem roomy = problem;
  std::ranges::fill(roomy.limited, 0);
  roomy.any_limited = false;
  return roomy;
}

class Solver {
 public:
  Solver(const Problem& problem, const Effort& effort)
      : p_(problem),
        effort_(effort),
        decoder_(problem),
        dear_(crossings_are_dear()) {}

  /// The plan that run() found.
  const Plan& best() const { return plans_[0]; }

  Solution run() {
    collect_candidates();
    search_locally();
    if (p_.nodes <= kExactNodes || plans_.empty()) search_exactly_too();
    else finish(plans_[0]);
    solution_.optimal = solution_.optimal || solution_.makespan <= p_.bound * (1 + 1e-12);
    return std::move(solution_);
  }

 private:
  /// What a list schedule takes, in nodes decoded.
  std::int64_t list_work() const {
    const std::int64_t size = p_.nodes + static_cast<std::int64_t>(p_.inputs.list.size());
    return size * p_.devices * (p_.any_limited ? 3 : 1) * 4 / 3;
  }

  /// An order with a rule that chooses devices, and what became of it.
  struct Candidate {
    const Order* order;
    ListRule rule;
    std::optional<Assignment> assignment;
    double makespan = kNever;
    Shortage shortage;
  };

  void add_lists(std::vector<Candidate>& all, const Order& order, bool with_thrift) const {
    const auto add = [&](const ListRule& rule) { all.push_back({.order = &order, .rule = rule}); };
    const std::uint64_t devices = p_.devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << p_.devices) - 1;
    for (const bool look_ahead : {false, true}) add({devices, look_ahead});
    for (int d = 0; d < p_.devices; ++d) add({std::uint64_t{1} << d, false});
    if (p_.nodes > kNodesForSets) return;
    for (const double thrift : with_thrift ? std::span(kThrifts) : std::span<const double>{})
      for (const bool look_ahead : {false, true})
        if (look_ahead || !p_.any_limited) add({devices, look_ahead, thrift});
    if (p_.devices <= 2 || p_.devices > kDevicesForSets || (p_.any_limited && with_thrift)) return;
    for (std::uint64_t set = 1; set < devices; ++set)
      if (set & (set - 1)) add({set, true});
  }

  /// Several at once; those that can be carried out become plans, in the order given. Devices are also tried in the
  /// order `other`, unless it is empty.
  void try_lists(std::vector<Candidate>& lists, const Order& other) {
    run_slices(lists.size(), [&](std::size_t i) {
      Candidate& list = lists[i];
      list.assignment = list_schedule(p_, *list.order, list.rule);
      if (!list.assignment) return;
      Decoder decoder(p_);
      list.makespan = decoder.run(*list.order, *list.assignment);
      list.shortage = decoder.shortage();
      if (other.empty() || list.order == &other) return;
      if (const double makespan = decoder.run(other, *list.assignment, list.makespan); makespan < list.makespan)
        list.order = &other, list.makespan = makespan;
    });
    spent_ += turns(lists.size()) * list_work();
    for (Candidate& list : lists)
      if (list.assignment) note_plan(*list.order, std::move(*list.assignment), list.makespan, list.shortage);
  }

  void try_plan(const Order& order, std::optional<Assignment> assignment) {
    if (!assignment) return;
    const double makespan = decoder_.run(order, *assignment);
    note_plan(order, std::move(*assignment), makespan, decoder_.shortage());
  }

  void note_plan(const Order& order, Assignment assignment, double makespan, const Shortage& shortage) {
    const bool known = std::ranges::any_of(plans_, [&](const Plan& p) { return p.assignment == assignment; });
    if (known) return;
    if (makespan != kNever) plans_.push_back({order, std::move(assignment), makespan});
    else if (shortage.node >= 0 && (solution_.shortage.node < 0 || shortage.missing < solution_.shortage.missing))
      solution_.shortage = shortage;
  }

  void collect_candidates() {
    const Order by_rank = rank_order(p_), light = p_.any_limited ? light_order(p_) : Order{};
    std::vector<Candidate> lists;
    add_lists(lists, by_rank, true);
    if (p_.any_limited) add_lists(lists, light, false);
    try_lists(lists, light);
    if (p_.any_limited && plans_.empty()) try_plan(light, any_assignment(p_));
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
    std::stable_sort(plans_.begin(), plans_.end(),
                     [](const Plan& a, const Plan& b) { return a.makespan < b.makespan; });
  }

  void list_best_again(std::size_t plans, int rounds) {
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes) return;
    const std::size_t count = std::min(plans, plans_.size());
    run_slices(count, [&](std::size_t i) {
      Decoder decoder(p_);
      list_again(p_, decoder, plans_[i], rounds);
    });
    spent_ += turns(count) * rounds * list_work();
    sort_plans();
  }

  /// Whether what crosses takes longer than what computes, in the mean.
  bool crossings_are_dear() const {
    const MoveTime<double> crossing = mean_crossing(p_);
    double crossings = 0, costs = 0, pairs = 0;
    for (const Neighbour& c : p_.consumers.list) crossings += crossing.microseconds(static_cast<double>(c.bytes));
    for (int v = 0; v < p_.nodes; ++v)
      for (int d = 0; d < p_.devices; ++d)
        if (p_.may(v, d)) costs += p_.us(v, d), pairs += 1;
    return crossings * pairs > costs * static_cast<double>(p_.consumers.list.size());
  }

  /// Each from another of the best lists: where neighbours have to stay together, lists that go node by node all look
  /// alike.
  void add_partitions() {
    if (p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes || (p_.all_linked && !dear_) || plans_.empty()) return;
    const std::size_t listed = plans_.size();
    constexpr std::size_t kCount = std::size(kCrossingWeights);
    std::array<Assignment, kCount> assignments;
    const std::int64_t work = local_work() / kPartitionShare;
    run_slices(kCount, [&](std::size_t i) {
      assignments[i] = plans_[std::min(i, listed - 1)].assignment;
      partition(p_, assignments[i], {.work = work, .crossing_weight = kCrossingWeights[i]}, i);
    });
    spent_ += turns(kCount) * work;
    for (const Assignment& assignment : assignments) try_plan(order_of(p_, assignment), assignment);
    sort_plans();
  }

  /// A few milliseconds for a hundred nodes, some more for two hundred; from there on it grows ever slower, so that the
  /// whole stays below n log n.
  std::int64_t local_work() const {
    if (effort_.local_work >= 0) return effort_.local_work;
    if (p_.nodes <= kExactNodes) return 10'000;
    const std::int64_t nodes = p_.nodes, times = effort_.thorough && nodes <= kNodesForRounds ? kThoroughTimes : 1;
    return times *
           (235'000 + 1000 * std::clamp<std::int64_t>(100 - nodes, 0, 50) +
            5000 * std::clamp<std::int64_t>(nodes - 100, 0, 150) + 200 * std::max<std::int64_t>(nodes - 250, 0));
  }

  /// The best list as if there were memory enough: a search that has to make it fit ends elsewhere than one from lists
  /// that never left the memory, and where those found nothing it often ends well. Its makespan is kNever as long as it
  /// does not fit.
  void add_plan_beyond_memory() {
    if (!p_.any_limited || p_.nodes > kNodesForRounds || p_.nodes <= kExactNodes) return;
    const Problem roomy = without_limits(p_);
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
    const std::int64_t work = std::max(local_work() / 2, local_work() - spent_);
    const auto first = static_cast<std::int64_t>(kFirstShare * static_cast<double>(work));
    Plan beyond = anneal_starts(first);
    // What promises so much is worth making fit.
    if (!worth_making_fit(beyond)) beyond = {}, list_best_again(1, kRoundsLater);
    anneal_best(work - first, beyond);
    make_fit(beyond);
    std::erase_if(plans_, [](const Plan& plan) { return plan.makespan == kNever; });
  }

  bool worth_making_fit(const Plan& beyond) const {
    return p_.any_limited && beyond.makespan < kShorter * plans_[0].makespan;
  }

  /// The best of where the searches ended, with what it pays for memory.
  Plan anneal_starts(std::int64_t work) {
    std::vector<Plan> ends(plans_.size());
    run_slices(plans_.size(), [&](std::size_t i) {
      Decoder decoder(p_);
      anneal(p_, decoder, plans_[i], work / turns(plans_.size()), i, {.first = 0.01, .last = 0.002}, &ends[i]);
    });
    sort_plans();
    return shortest(ends);
  }

  /// Several searches of the best plan, each epoch from the best of the one before.
  void anneal_best(std::int64_t work, Plan& beyond) {
    const std::size_t replicas = p_.nodes <= kNodesForRounds ? kReplicas : 1;
    const double cooled = std::pow(kLastHeat / kFirstHeat, 1.0 / kEpochs);
    double heat = kFirstHeat;
    for (std::size_t epoch = 0; epoch < kEpochs; ++epoch, heat *= cooled) {
      std::vector<Plan> found(replicas, plans_[0]), ends(replicas, beyond);
      run_slices(replicas, [&](std::size_t i) {
        Decoder decoder(p_);
        anneal(p_, decoder, found[i], work / kEpochs, kStarts + 1 + epoch * kReplicas + i,
               {.first = heat, .last = heat * cooled}, &ends[i]);
      });
      plans_[0] = shortest(found);
      beyond = shortest(ends);
      if (epoch + 1 < kEpochs && !worth_making_fit(beyond)) beyond = {};
    }
  }

  static Plan shortest(std::vector<Plan>& plans) {
    return std::move(*std::ranges::min_element(plans, {}, &Plan::makespan));
  }

  /// How often cores for kReplicas have to take one of so many slices each.
  static std::int64_t turns(std::size_t slices) {
    return static_cast<std::int64_t>((slices + kReplicas - 1) / kReplicas);
  }

  /// On several cores, unless that would take longer than the slices themselves.
  template <class Body>
  void run_slices(std::size_t slices, const Body& body) const {
    const auto run = [&](std::int64_t slice) { body(static_cast<std::size_t>(slice)); };
    if (p_.nodes > kExactNodes) return parallel(static_cast<std::int64_t>(slices), run);
    for (std::size_t i = 0; i < slices; ++i) body(i);
  }

  /// A graph is not refused, nor left with a plan far longer than what nearly fits, for the sake of milliseconds.
  void make_fit(Plan& beyond) {
    if (!p_.any_limited || p_.nodes <= kExactNodes || beyond.order.empty()) return;
    const auto enough = [&] { return plans_[0].makespan == kNever ? kMostWorkToFit : 4 * local_work(); };
    for (std::int64_t work = local_work(), done = 0;
         done < enough() && beyond.makespan < kFarShorter * plans_[0].makespan; done += work, work *= 2)
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
    Exact exact = search_exactly(p_, limit,
                                 effort_.exact_steps >= 0 ? effort_.exact_steps
                                 : found                  ? kExactSteps
                                                          : kExactStepsWithoutPlan);
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

/// Whether a list that knows of no limits stays far below them.
bool memory_is_ample(const Problem& problem, const Problem& roomy) {
  Problem smaller = problem;
  for (std::int64_t& bytes : smaller.capacity)
    bytes = static_cast<std::int64_t>(kRoomyShare * static_cast<double>(bytes));
  const Order order = rank_order(roomy);
  const auto assignment = list_schedule(roomy, order, {.look_ahead = true});
  return assignment && Decoder(smaller).fits_without_waiting(order, *assignment);
}

/// As if there were no limits, where the plan then keeps to them: a search that looks at memory gets less far in the
/// same time.
std::optional<Solution> solve_without_limits(const Problem& problem, const Effort& effort) {
  if (!problem.any_limited || problem.nodes > kNodesForRounds || problem.nodes <= kExactNodes) return std::nullopt;
  const Problem roomy = without_limits(problem);
  if (!memory_is_ample(problem, roomy)) return std::nullopt;
  Solver solver(roomy, effort);
  Solution solution = solver.run();
  if (solution.makespan == kNever ||
      !Decoder(problem).fits_without_waiting(solver.best().order, solver.best().assignment))
    return std::nullopt;
  return solution;
}

}  // namespace

Solution solve(const Problem& problem, const Effort& effort) {
  if (auto solution = solve_without_limits(problem, effort)) return std::move(*solution);
  return Solver(problem, effort).run();
}

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
