#include "tandem/place/partition.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tandem/place/search_parts.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Partitioner {
 public:
  Partitioner(const Problem& problem, Assignment& assignment, const Partitioning& wanted, std::uint64_t seed)
      : p_(problem),
        assignment_(assignment),
        wanted_(wanted),
        random_(seed),
        readers_(at(p_.nodes) * at(p_.devices)),
        loads_(at(p_.devices) * (1 + at(p_.devices))) {
    for (std::int32_t v = 0; v < p_.nodes; ++v) {
      const int home = assignment_[at(v)];
      loads_[at(home)] += p_.us(v, home);
      for (const Neighbour& c : p_.consumers[v])
        if (const int device = assignment_[at(c.node)]; readers_[p_.index(v, device)]++ == 0) cross(v, home, device, 1);
    }
    measure();
  }

  void run() {
    Assignment best = assignment_;
    double least = energy_, now = energy_;
    while (work_ < 3 * wanted_.work) {
      const std::int32_t group = static_cast<std::int32_t>(random_.below(p_.members.size()));
      const std::int32_t first = p_.members[at(group)][0];
      const int before = assignment_[at(first)], device = other(first, before);
      work_ += 2;
      if (device < 0) continue;
      const double heat =
          least * kFirst * (1 - static_cast<double>(work_) / static_cast<double>(3 * wanted_.work)) + least * kLast;
      moved_.clear();
      move(group, device);
      if (random_.below(kAloneOf) != 0) take_along(first, before, device);
      measure();
      if (energy_ < now + heat * random_.exponential()) {
        now = energy_;
        if (now < least) least = now, best = assignment_;
      } else {
        for (std::size_t i = moved_.size(); i > 0; --i) move_back(moved_[i - 1], before);
        energy_ = now;
      }
    }
    assignment_ = std::move(best);
  }

 private:
  int other(std::int32_t node, int device) {
    std::uint64_t mask = p_.allowed[at(node)] & ~(std::uint64_t{1} << device);
    int count = 0;
    for (std::uint64_t rest = mask; rest; rest &= rest - 1) ++count;
    if (count == 0) return -1;
    for (std::uint32_t skip = random_.below(at(count)); skip > 0; --skip) mask &= mask - 1;
    return __builtin_ctzll(mask);
  }

  void cross(std::int32_t value, int from, int to, int sign) {
    if (from == to) return;
    if (!p_.linked(from, to)) {
      unlinked_ += sign;
      return;
    }
    const double us = sign * p_.crossing(from, to, p_.consumers[value][0].bytes);
    loads_[at(p_.devices) + p_.pair(from, to)] += us;
    crossings_ += us;
  }

  /// What is on the same device and reached over edges of at least some size, up to some number of nodes: between such
  /// sets little crosses.
  void take_along(std::int32_t first, int home, int device) {
    if (p_.consumers.list.empty()) return;
    const std::int64_t least = p_.consumers.list[random_.below(p_.consumers.list.size())].bytes;
    const std::size_t most = std::size_t{2}
                             << random_.below(static_cast<std::size_t>(std::bit_width(at(p_.nodes))) - 1);
    reached_.assign(1, first);
    for (std::size_t i = 0; i < reached_.size(); ++i)
      for (const Adjacency* edges : {&p_.inputs, &p_.consumers})
        for (const Neighbour& n : (*edges)[reached_[i]]) {
          if (n.bytes < least || reached_.size() >= most || assignment_[at(n.node)] != home || !p_.may(n.node, device))
            continue;
          move(p_.group[at(n.node)], device);
          reached_.push_back(n.node);
        }
  }

  void move(std::int32_t group, int to) {
    moved_.push_back(group);
    move_back(group, to);
  }

  void move_back(std::int32_t group, int to) {
    for (const std::int32_t v : p_.members[at(group)]) {
      const int from = assignment_[at(v)];
      loads_[at(from)] -= p_.us(v, from);
      loads_[at(to)] += p_.us(v, to);
      for (const Neighbour& input : p_.inputs[v]) {
        const int home = assignment_[at(input.node)];
        if (--readers_[p_.index(input.node, from)] == 0) cross(input.node, home, from, -1);
        if (readers_[p_.index(input.node, to)]++ == 0) cross(input.node, home, to, 1);
      }
      for (int d = 0; d < p_.devices; ++d)
        if (readers_[p_.index(v, d)] > 0) cross(v, from, d, -1), cross(v, to, d, 1);
      assignment_[at(v)] = static_cast<std::uint8_t>(to);
      work_ += 3 + static_cast<std::int64_t>(p_.inputs[v].size() + p_.consumers[v].size());
    }
  }

  void measure() {
    double sum = 0;
    for (const double load : loads_) sum += (load * load) * (load * load) * (load * load) * (load * load);
    energy_ = unlinked_ > 0 ? kNever : std::sqrt(std::sqrt(std::sqrt(sum))) + wanted_.crossing_weight * crossings_;
  }

  static constexpr std::uint32_t kAloneOf = 2;
  static constexpr double kFirst = 0.01, kLast = 0.0005;

  const Problem& p_;
  Assignment& assignment_;
  const Partitioning wanted_;
  Random random_;
  std::vector<std::int32_t> readers_;  // [node, device]
  std::vector<double> loads_;  // devices, then links
  double crossings_ = 0, energy_ = 0;
  int unlinked_ = 0;
  std::int64_t work_ = 0;  // a third of what decoding a node takes each
  std::vector<std::int32_t> moved_, reached_;  // groups and nodes of the present step
};

}  // namespace

void partition(const Problem& problem, Assignment& assignment, const Partitioning& wanted, std::uint64_t seed) {
  Partitioner(problem, assignment, wanted, seed).run();
}

Order order_of(const Problem& problem, const Assignment& assignment) {
  std::vector<double> rank(at(problem.nodes));
  for (auto it = problem.topological.rbegin(); it != problem.topological.rend(); ++it) {
    const int device = assignment[at(*it)];
    double most = 0;
    for (const Neighbour& c : problem.consumers[*it])
      most = std::max(most, problem.crossing(device, assignment[at(c.node)], c.bytes) + rank[at(c.node)]);
    rank[at(*it)] = most + problem.us(*it, device);
  }
  Order order = problem.topological;
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return rank[at(a)] > rank[at(b)]; });
  return order;
}

}  // namespace tandem::placer
