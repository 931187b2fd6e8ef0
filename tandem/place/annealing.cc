#include "tandem/place/annealing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/place/device_moves.h"
#include "tandem/place/quick_decoder.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Annealing : DeviceMoves<Annealing> {
  friend class DeviceMoves<Annealing>;

 public:
  Annealing(const Problem& problem, Decoder& decoder, const Plan& best, const Plan& start, std::int64_t work,
            std::uint64_t seed, const Cooling& cooling)
      : DeviceMoves(problem, seed),
        now_(problem),
        decoder_(decoder),
        work_(work),
        cooling_(cooling),
        ends_(at(problem.nodes)),
        free_(at(problem.devices)),
        loads_(at(problem.devices)),
        prices_(at(problem.devices)),
        ready_(at(problem.devices)),
        after_(at(problem.devices)),
        moving_(at(problem.nodes)) {
    tabu_until_.resize(at(problem.nodes) * at(problem.devices));
    now_.set(start.order, start.assignment);
    best_ = best;
    if (p_.any_limited && start.makespan < best.makespan) fine_weight_ = kFineWeightBeyond;
    set_prices();
    for (std::int32_t v = 0; v < p_.nodes; ++v) effort_ += price(v, now_.assignment[at(v)]);
    kept_effort_ = effort_;
    if (p_.any_limited) now_.evaluate(kNever), kept_fine_ = fine();
  }

  /// The best order and assignment met.
  Plan run() {
    find_critical();
    while (now_.work() + idle_ < work_ && best_.makespan > p_.bound * (1 + 1e-12)) {
      if (++steps_ % 16 == 0) cool();
      step();
    }
    return best_;
  }
  /// Where it ended, with what it pays for memory.
  Plan last() const { return {now_.order, now_.assignment, now_.makespan() + kept_fine_ / fine_weight_}; }

 private:
  void cool() {
    const double done = static_cast<double>(now_.work() + idle_) / static_cast<double>(work_);
    heat_ = now_.makespan() * cooling_.first * std::pow(cooling_.last / cooling_.first, done);
  }

  /// The faster a device is in the mean, the dearer is its time: a node is dear on a device that does not suit it.
  void set_prices() {
    double sum = 0;
    for (int d = 0; d < p_.devices; ++d) {
      double logs = 0, count = 0;
      for (std::int32_t v = 0; v < p_.nodes; ++v)
        if (p_.may(v, d) && p_.us(v, d) > 0) logs += std::log(p_.us(v, d)), count += 1;
      sum += prices_[at(d)] = count > 0 ? std::exp(-logs / count) : 0;
    }
    for (double& price : prices_) price *= sum > 0 && std::isfinite(sum) ? kEffortWeight / sum : 0;
  }
  double price(std::int32_t node, int device) const { return prices_[at(device)] * p_.us(node, device); }
  double price_of_moving(std::int32_t node, int device) const {
    return price(node, device) - price(node, now_.assignment[at(node)]);
  }

  void find_critical() {
    critical_.clear();
    const double slack = 1e-9 * now_.makespan();
    for (std::int32_t v = 0; v < p_.nodes; ++v)
      if (now_.critical(v, slack)) critical_.push_back(v);
    if (critical_.empty()) critical_.push_back(now_.order.back());
    idle_ += kAcceptWork * size_;
  }

  void step() {
    changed_.clear();
    moved_from_ = -1;
    if (random_.below(kTabuOf) == 0) return step_to_best();
    // Makespan and effort together may grow by so much. Where all devices are busy to the end no single move shortens
    // the plan, but those that make less effort leave room for the next.
    const double sum = (now_.makespan() + kept_effort_ + kept_fine_ + heat_ * random_.exponential()) * (1 + 1e-12);
    const std::uint32_t kind = random_.below(kSetKinds);
    if (kind == 0) elsewhere_with_neighbours(some_node());
    else if (kind <= kComponentShare) elsewhere_with_component(some_node());
    else elsewhere_with_cluster(some_node());
    idle_ += kSetWork;
    if (changed_.empty()) return;
    const bool linked = follow_links();
    if (!p_.all_linked) idle_ += kFollowWork * static_cast<std::int64_t>(changed_.size());
    if (!linked) return take_back();
    const double limit = sum - effort_;
    if (hopeless(limit)) return take_back();
    keep_below(limit);
  }

  /// As in tabu search: of all insertions of some nodes without slack the most promising, even if it makes the plan
  /// somewhat longer. Where a plan is poor and yet no move shortens it, steps at random are nearly all refused; this
  /// one leads on. What was tried, and where the node was before, is not tried again for a while.
  void step_to_best() {
    ++tabu_steps_;
    Insertion best;
    const std::size_t looked_at = std::min(critical_.size(), kMostLookedAt);
    for (std::size_t i = 0; i < looked_at; ++i) {
      std::swap(critical_[i], critical_[i + random_.below(critical_.size() - i)]);
      consider_insertions(critical_[i], best);
    }
    consider_insertions(static_cast<std::int32_t>(random_.below(at(p_.nodes))), best);
    idle_ += 1 + static_cast<std::int64_t>(looked_at) * p_.devices;
    if (best.node < 0) return;
    const int before = now_.assignment[at(best.node)];
    const std::int64_t until = tabu_steps_ + kTabuSteps + random_.below(kTabuSteps + 1);
    tabu_until_[p_.index(best.node, best.device)] = until;
    insert(best);
    if (changed_.empty() && moved_from_ < 0) return;
    if (!follow_links()) return take_back();
    if (keep_below(now_.makespan() * (1 + kMostGrowth) + kept_effort_ + kept_fine_ - effort_))
      tabu_until_[p_.index(best.node, before)] = until;
  }

  /// Decodes what was changed and keeps it if makespan and fine are less than `limit`; else takes it back.
  bool keep_below(double limit) {
    const double makespan = now_.evaluate(limit), tried_fine = p_.any_limited && makespan != kNever ? fine() : 0;
    if (makespan + tried_fine >= limit) return take_back(), false;
    kept_fine_ = tried_fine;
    keep();
    return true;
  }

  void keep() {
    if (now_.tried_makespan() < best_.makespan) decoded_ = now_.order;
    now_.accept();
    kept_effort_ = effort_;
    if (now_.makespan() < best_.makespan && kept_fine_ < fine_weight_ * kMostFine * now_.makespan())
      note_best(decoded_);
    find_critical();
  }

  void note_best(const Order& decoded) {
    if (!p_.any_limited) best_ = {decoded, now_.assignment, now_.makespan()};
    else if (note_if_better(decoded) || note_if_better(now_.order_by_copies())) weigh_fine(1 / kFineGrowth);
    else weigh_fine(kFineGrowth);
  }

  /// What was searched for the shortest turns out not to fit: the less it may exceed from now on.
  void weigh_fine(double factor) {
    const double before = std::exchange(fine_weight_, std::clamp(fine_weight_ * factor, 1.0, kMostFineWeight));
    kept_fine_ *= fine_weight_ / before;
  }

  /// False when it does not fit the memory.
  bool note_if_better(const Order& order) {
    const double makespan = decoder_.run(order, now_.assignment, best_.makespan);
    idle_ += kExactWork * size_;
    if (makespan < best_.makespan) best_ = {order, now_.assignment, makespan};
    return makespan != kNever || decoder_.shortage().node < 0;
  }

  /// What was evaluated last pays for the memory it has not got: it will have to wait for room, or not fit at all.
  double fine() {
    idle_ += size_;
    return fine_weight_ * now_.makespan() * now_.overrun();
  }

  /// Whether what moved already ends too late: most sets of nodes do, and this is seen without decoding.
  bool hopeless(double limit) {
    moved_.clear();
    for (int d = 0; d < p_.devices; ++d) loads_[at(d)] = now_.load(d);
    for (const Changed& change : changed_)
      for (const std::int32_t v : p_.members[at(change.group)])
        if (!std::exchange(moving_[at(v)], 1)) moved_.push_back(v), move_load(v);
    idle_ += static_cast<std::int64_t>(moved_.size()) / 2;
    const bool too_late =
        std::ranges::any_of(loads_, [&](double load) { return load >= limit; }) || any_ends_after(limit);
    for (const std::int32_t v : moved_) moving_[at(v)] = 0;
    return too_late;
  }
  void move_load(std::int32_t node) {
    const int from = now_.kept_device(node), to = now_.assignment[at(node)];
    loads_[at(from)] -= p_.us(node, from);
    loads_[at(to)] += p_.us(node, to);
  }
  /// What moved, one after the other on its new device and nothing else moved.
  bool any_ends_after(double limit) {
    std::ranges::sort(moved_, {}, [&](std::int32_t v) { return now_.position[at(v)]; });
    std::ranges::fill(free_, 0.0);
    idle_ += kMovedWork * static_cast<std::int64_t>(moved_.size());
    return std::ranges::any_of(moved_, [&](std::int32_t v) { return end_after_move(v) >= limit; });
  }

  /// The least makespan as the node has it, its inputs treated already.
  double end_after_move(std::int32_t node) {
    const int device = now_.assignment[at(node)];
    double ready = free_[at(device)], after = 0;
    for (const Neighbour& input : p_.inputs[node]) {
      const double made = moving_[at(input.node)] ? ends_[at(input.node)] : now_.end(input.node);
      ready = std::max(ready, made + p_.crossing(now_.assignment[at(input.node)], device, input.bytes));
    }
    for (const Neighbour& c : p_.consumers[node])
      if (!moving_[at(c.node)])
        after = std::max(after, p_.crossing(device, now_.assignment[at(c.node)], c.bytes) + rest_from(c.node));
    const double length = p_.us(node, device), end = ready + length;
    ends_[at(node)] = free_[at(device)] = end;
    return end + after;
  }

  auto& assignment() { return now_.assignment; }
  double rest_from(std::int32_t node) const { return now_.rest_from(node); }
  void about_to_move(std::int32_t node, int device) { effort_ += price_of_moving(node, device); }

  /// The places in the order between its inputs and its consumers.
  struct Range {
    std::int32_t first, last;
  };
  Range free_places(std::int32_t node) const {
    Range range{0, p_.nodes - 1};
    for (const Neighbour& input : p_.inputs[node])
      range.first = std::max(range.first, now_.position[at(input.node)] + 1);
    for (const Neighbour& c : p_.consumers[node]) range.last = std::min(range.last, now_.position[at(c.node)] - 1);
    return range;
  }

  /// In the order, as near to `to` as inputs and consumers allow.
  void move_to(std::int32_t node, std::int32_t to) {
    const auto [first, last] = free_places(node);
    const std::int32_t from = now_.position[at(node)];
    to = std::clamp(to, first, last);
    if (to == from) return;
    move(from, to);
    moved_from_ = from;
    moved_to_ = to;
  }

  /// A place on a device, and how long the longest path through the node would then be, with what the move costs in
  /// effort.
  struct Insertion {
    double us = kNever;
    std::int32_t node = -1, before = -1;  // before: of those on the device; -1: after all
    int device = 0;
  };

  /// If nothing else moved.
  Insertion best_insertion(std::int32_t node, int device) const {
    const double ready = ready_[at(device)], after = after_[at(device)];
    Insertion best{.node = node, .device = device};
    if (ready == kNever || after == kNever) return best;
    const auto queue = now_.queue(device);
    const auto ends = now_.queue_ends(device), rests = now_.queue_rests(device);
    // Earlier places start no sooner, later ones leave no more time: between them the best is found.
    auto next = static_cast<std::size_t>(std::ranges::upper_bound(ends, ready) - ends.begin());
    double start = ready;
    for (bool there_already = false;; ++next) {
      const bool last = next == queue.size();
      if (!last && queue[next] == node) {
        there_already = true;
        continue;
      }
      const double rest = last ? 0 : rests[next], us = start + std::max(after, rest);
      if (!std::exchange(there_already, false) && us < best.us) best.us = us, best.before = last ? -1 : queue[next];
      if (rest <= after) break;
      start = std::max(ready, ends[next]);
    }
    best.us += p_.us(node, device);
    return best;
  }

  /// Those on every device that are not tabu; `best` becomes the better.
  void consider_insertions(std::int32_t node, Insertion& best) {
    now_.look_around(node, ready_, after_);
    for (std::uint64_t devices = p_.allowed[at(node)]; devices; devices &= devices - 1) {
      const int device = __builtin_ctzll(devices);
      if (tabu_until_[p_.index(node, device)] > tabu_steps_) continue;
      const double price = price_of_moving(node, device);
      // Without waiting for the device: most are seen not to be the best from this alone.
      if (ready_[at(device)] + p_.us(node, device) + after_[at(device)] + price >= best.us) continue;
      Insertion found = best_insertion(node, device);
      found.us += price;
      idle_ += kInsertionWork;
      if (found.us < best.us) best = found;
    }
  }

  void insert(const Insertion& best) {
    if (now_.assignment[at(best.node)] != best.device) assign(best.node, best.device);
    const auto queue = now_.queue(best.device);
    const std::int32_t from = now_.position[at(best.node)];
    if (best.before >= 0)
      move_to(best.node, now_.position[at(best.before)] - (now_.position[at(best.before)] > from ? 1 : 0));
    else if (!queue.empty()) move_to(best.node, std::max(from, now_.position[at(queue.back())]));
  }

  void move(std::int32_t from, std::int32_t to) {
    const auto begin = now_.order.begin();
    if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
    else std::rotate(begin + from, begin + from + 1, begin + to + 1);
    for (std::int32_t i = std::min(from, to); i <= std::max(from, to); ++i) now_.position[at(now_.order[at(i)])] = i;
  }

  void take_back() {
    if (moved_from_ >= 0) move(moved_to_, moved_from_);
    take_back_devices();
    effort_ = kept_effort_;
  }

  // Chosen by trying them on 72 graphs of 50 to 200 nodes.
  static constexpr double kEffortWeight = 2;  // of the mean load of the devices against the makespan
  static constexpr double kMostFine = 0.02;  // in makespans: with more a plan is not even looked at
  static constexpr double kFineGrowth = 2, kMostFineWeight = 64;
  static constexpr double kFineWeightBeyond = 6;  // for a start that does not fit
  // What takes how long, in nodes decoded: measured. The first two for each node.
  static constexpr std::int64_t kAcceptWork = 2, kExactWork = 8, kSetWork = 8, kMovedWork = 2, kFollowWork = 3,
                                kInsertionWork = 4;
  static constexpr std::uint32_t kTabuOf = 10;  // one of so many steps, which takes as long as several others
  // Half of the nodes may have no slack: the best insertion of a few of them leads on as well as that of all, in a
  // fraction of the time.
  static constexpr std::size_t kMostLookedAt = 8;
  static constexpr std::uint32_t kSetKinds = 6, kComponentShare = 3;
  static constexpr std::uint32_t kTabuSteps = 20;  // of these steps, to twice as many
  static constexpr double kMostGrowth = 0.01;  // by such a step, of makespan and effort in makespans

  QuickDecoder now_;
  Order decoded_;  // before it was sorted by start
  Decoder& decoder_;
  Plan best_;
  double kept_fine_ = 0, fine_weight_ = 1;  // for memory: of what is kept, weighed
  const std::int64_t work_;
  const std::int64_t size_ = now_.size();
  std::int64_t idle_ = 0;  // all that is not decoding, as work of decoding
  std::int64_t steps_ = -1, tabu_steps_ = 0;
  std::vector<std::int64_t> tabu_until_;  // [node, device]: not before this of such steps
  const Cooling cooling_;
  double heat_ = 0;
  double effort_ = 0, kept_effort_ = 0;  // the time of all nodes at the prices of their devices: as tried, as kept
  std::int32_t moved_from_ = -1, moved_to_ = -1;
  std::vector<double> ends_;  // [node]: of those that move
  std::vector<double> free_, loads_, prices_;  // [device]
  std::vector<double> ready_, after_;  // [device]: of the node looked at
  std::vector<char> moving_;  // [node]
  std::vector<std::int32_t> moved_;
};

/// The order in which the plan starts its nodes: with it few gaps are left to fill.
Order by_start(const Problem& problem, Decoder& decoder, const Plan& plan) {
  if (decoder.run(plan.order, plan.assignment) == kNever) return plan.order;  // does not fit yet
  std::vector<std::int32_t> place(at(problem.nodes));
  for (std::size_t i = 0; i < plan.order.size(); ++i) place[at(plan.order[i])] = static_cast<std::int32_t>(i);
  Order order = plan.order;
  const auto starts = decoder.starts(), ends = decoder.ends();
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    if (starts[at(a)] != starts[at(b)]) return starts[at(a)] < starts[at(b)];
    if (ends[at(a)] != ends[at(b)]) return ends[at(a)] < ends[at(b)];  // what takes no time comes before its reader
    return place[at(a)] < place[at(b)];
  });
  return order;
}

}  // namespace

void anneal(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed,
            const Cooling& cooling, Plan* beyond) {
  if (problem.nodes < 2) return;
  const bool starts_beyond = beyond && !beyond->order.empty();
  Plan start = starts_beyond ? *beyond : plan;
  if (!starts_beyond) start.order = by_start(problem, decoder, plan);
  Annealing search(problem, decoder, plan, start, work, seed, cooling);
  Plan found = search.run();
  found.makespan = decoder.run(found.order, found.assignment);  // gaps that the search forgot can make it longer, too
  if (found.makespan < plan.makespan) plan = std::move(found);
  if (beyond) *beyond = search.last();
}

}  // namespace tandem::placer
