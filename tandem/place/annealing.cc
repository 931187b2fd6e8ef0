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
      : DeviceMoves(problem, seed), now_(problem), work_(work), cooling_(cooling) {
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
    idle_ += p_.nodes / 2;  // looking back
    critical_.clear();
    const double slack = 1e-9 * now_.makespan();
    for (std::int32_t v = 0; v < p_.nodes; ++v)
      if (now_.slack(v) <= slack) critical_.push_back(v);
    if (critical_.empty()) critical_.push_back(now_.order.back());
  }

  void step() {
    changed_.clear();
    first_ = p_.nodes;
    last_ = -1;
    moved_from_ = -1;
    const std::uint32_t kind = random_.below(16);
    if (kind < 4) in_order(some_node());
    else if (kind < 10) elsewhere(some_node());
    else if (kind < 13) elsewhere_with_neighbours(some_node());
    else elsewhere_with_cluster(some_node());
    ++idle_;
    if (changed_.empty() && moved_from_ < 0) return;
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

  /// To another place in the order, between its inputs and its consumers.
  void in_order(std::int32_t node) {
    std::int32_t first = 0, last = p_.nodes - 1;
    for (const Neighbour& input : p_.inputs[node]) first = std::max(first, now_.position[at(input.node)] + 1);
    for (const Neighbour& c : p_.consumers[node]) last = std::min(last, now_.position[at(c.node)] - 1);
    if (first >= last) return;
    const std::int32_t from = now_.position[at(node)];
    const std::int32_t to = first + static_cast<std::int32_t>(random_.below(at(last - first + 1)));
    if (to == from) return;
    move(from, to);
    moved_from_ = from;
    moved_to_ = to;
    touch(from);
    touch(to);
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

  QuickDecoder now_;
  Plan best_;
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
