#include "tandem/place/annealing.h"

#include <algorithm>
#include <cmath>

#include "tandem/place/device_moves.h"
#include "tandem/place/quick_decoder.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Annealing : DeviceMoves<Annealing> {
  friend class DeviceMoves<Annealing>;

 public:
  Annealing(const Problem& problem, Plan& plan, std::int64_t work, std::uint64_t seed, const Cooling& cooling)
      : DeviceMoves(problem, seed), now_(problem), queues_(at(problem.devices)), start_(at(problem.nodes)), work_(work), cooling_(cooling) {
    now_.set(plan.order, plan.assignment);
  }

  /// The best order and assignment met.
  Plan run() {
    note_accepted();
    while (now_.work() + idle_ < work_ && best_.makespan > p_.bound * (1 + 1e-12)) {
      if (++steps_ % 16 == 0) cool();
      step();
    }
    return best_;
  }

 private:
  void cool() {
    const double done = static_cast<double>(now_.work() + idle_) / static_cast<double>(work_);
    heat_ = now_.makespan() * cooling_.first * std::pow(cooling_.last / cooling_.first, done);
  }

  void note_accepted() {
    if (now_.makespan() < best_.makespan) best_ = {now_.order, now_.assignment, now_.makespan()};
    if (accepted_++ % kLookEvery == 0) look_around();
  }

  /// Where the plan has no slack, and what each device does when.
  void look_around() {
    sort_by_start();
    now_.look_back();
    idle_ += 3 * p_.nodes;
    critical_.clear();
    const double slack = 1e-9 * now_.makespan();
    for (std::int32_t v = 0; v < p_.nodes; ++v)
      if (now_.slack(v) <= slack) critical_.push_back(v);
    if (critical_.empty()) critical_.push_back(now_.order.back());
    for (auto& queue : queues_) queue.clear();
    for (const QuickDecoder::Activity& a : now_.activities())
      if (a.lane < p_.devices) queues_[at(a.lane)].push_back(a.value);
  }

  /// In the order of starts few gaps are left to fill, and a change late in the plan is late in the order.
  void sort_by_start() {
    const Order before = now_.order;
    const Assignment assignment = now_.assignment;
    const double us = now_.makespan();
    for (const std::int32_t v : before) {
      double& key = start_[at(v)];
      key = now_.end(v) - p_.us(v, assignment[at(v)]);
      for (const Neighbour& input : p_.inputs[v]) key = std::max(key, start_[at(input.node)]);  // whatever rounding does
    }
    Order sorted = before;
    std::ranges::stable_sort(sorted, {}, [&](std::int32_t v) { return start_[at(v)]; });
    now_.set(sorted, assignment);
    if (now_.makespan() > us) now_.set(before, assignment);  // copies may have changed places
    else if (now_.makespan() < best_.makespan) best_ = {now_.order, now_.assignment, now_.makespan()};
  }

  void step() {
    changed_.clear();
    first_ = p_.nodes;
    last_ = -1;
    moved_from_ = -1;
    const std::uint32_t kind = random_.below(16);
    if (kind < 2) in_order(some_node());
    else if (kind < 9) insert_somewhere();
    else if (kind < 11) elsewhere(some_node());
    else if (kind < 13) elsewhere_with_neighbours(some_node());
    else elsewhere_with_cluster(some_node());
    ++idle_;
    if (changed_.empty() && moved_from_ < 0) return;
    if (!follow_links()) return take_back();
    const double limit = now_.makespan() + heat_ * random_.exponential();
    if (now_.evaluate(first_, last_, limit * (1 + 1e-12)) == kNever) return take_back();
    now_.commit(first_);
    note_accepted();
  }

  void touch(std::int32_t place) {
    first_ = std::min(first_, place);
    last_ = std::max(last_, place);
  }

  auto& assignment() { return now_.assignment; }
  double end(std::int32_t node) const { return now_.end(node); }
  double rest_from(std::int32_t node) const { return p_.us(node, now_.assignment[at(node)]) + now_.makespan() - now_.latest_end(node); }
  void about_to_move(std::int32_t node, int device) {
    first_ = std::min(first_, now_.first_affected(node, device));
    touch(now_.position[at(node)]);
  }

  /// The places in the order between its inputs and its consumers.
  struct Range {
    std::int32_t first, last;
  };
  Range free_places(std::int32_t node) const {
    Range range{0, p_.nodes - 1};
    for (const Neighbour& input : p_.inputs[node]) range.first = std::max(range.first, now_.position[at(input.node)] + 1);
    for (const Neighbour& c : p_.consumers[node]) range.last = std::min(range.last, now_.position[at(c.node)] - 1);
    return range;
  }

  void in_order(std::int32_t node) {
    const auto [first, last] = free_places(node);
    move_to(node, first + static_cast<std::int32_t>(random_.below(at(last - first + 1))));
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
    touch(from);
    touch(to);
  }

  /// A place on a device, and how long the longest path through the node would then be.
  struct Insertion {
    double us = kNever;
    std::int32_t node = -1, before = -1;  // before: of those on the device; -1: after all
    int device = 0;
  };

  /// If nothing else moved.
  Insertion best_insertion(std::int32_t node, int device) const {
    double ready = 0, after = 0;
    for (const Neighbour& input : p_.inputs[node])
      ready = std::max(ready, now_.end(input.node) + p_.crossing(now_.assignment[at(input.node)], device, input.bytes));
    for (const Neighbour& c : p_.consumers[node])
      after = std::max(after, p_.crossing(device, now_.assignment[at(c.node)], c.bytes) + rest_from(c.node));
    Insertion best{.node = node, .device = device};
    if (ready == kNever || after == kNever) return best;
    const auto& queue = queues_[at(device)];
    // Earlier places start no sooner, later ones leave no more time: between them the best is found.
    auto next = std::ranges::upper_bound(queue, ready, {}, [&](std::int32_t v) { return now_.end(v); });
    double start = ready;
    for (;; ++next) {
      if (next != queue.end() && *next == node) continue;
      const double rest = next == queue.end() ? 0 : rest_from(*next);
      if (const double us = start + std::max(after, rest); us < best.us) best.us = us, best.before = next == queue.end() ? -1 : *next;
      if (rest <= after) break;
      start = std::max(ready, now_.end(*next));
    }
    best.us += p_.us(node, device);
    return best;
  }

  /// The most promising of a few nodes, on any device and at the best place there.
  void insert_somewhere() {
    Insertion best;
    for (int i = 0; i < kInsertions; ++i) {
      const std::int32_t node = some_node();
      if (const Insertion found = best_insertion(node, one_of(p_.allowed[at(node)])); found.us < best.us) best = found;
    }
    if (best.node < 0) return;
    if (now_.assignment[at(best.node)] != best.device) assign(best.node, best.device);
    const auto& queue = queues_[at(best.device)];
    const std::int32_t from = now_.position[at(best.node)];
    if (best.before >= 0) move_to(best.node, now_.position[at(best.before)] - (now_.position[at(best.before)] > from ? 1 : 0));
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
  }

  // Chosen by trying them on 66 graphs of 50 to 200 nodes; so are the shares of the kinds of steps.
  static constexpr int kInsertions = 3;
  static constexpr int kLookEvery = 5;

  QuickDecoder now_;
  std::vector<std::vector<std::int32_t>> queues_;  // [device] by time
  std::vector<double> start_;                      // [node]
  Plan best_;
  int accepted_ = 0;
  const std::int64_t work_;
  std::int64_t idle_ = 0;  // work besides decoding
  std::int64_t steps_ = -1;
  const Cooling cooling_;
  double heat_ = 0;
  std::int32_t first_ = 0, last_ = 0, moved_from_ = -1, moved_to_ = -1;
};

/// The order in which the plan starts its nodes: with it few gaps are left to fill.
Order by_start(const Problem& problem, Decoder& decoder, const Plan& plan) {
  decoder.run(plan.order, plan.assignment);
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

void anneal(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed, const Cooling& cooling) {
  if (problem.nodes < 2) return;
  Plan start = plan;
  start.order = by_start(problem, decoder, plan);
  Plan found = Annealing(problem, start, work, seed, cooling).run();
  found.makespan = decoder.run(found.order, found.assignment);
  if (found.makespan < plan.makespan) plan = std::move(found);
}

}  // namespace tandem::placer
