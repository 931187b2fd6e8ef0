#include "tandem/place/partition.h"

#include <algorithm>
#include <cmath>

#include "tandem/place/search_parts.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Partitioner {
 public:
  Partitioner(const Problem& problem, Assignment& assignment, const Partitioning& wanted, std::uint64_t seed)
      : p_(problem), assignment_(assignment), wanted_(wanted), random_(seed), readers_(at(p_.nodes) * at(p_.devices)),
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
    for (std::int64_t step = 0; step < wanted_.steps; ++step) {
      const std::int32_t group = static_cast<std::int32_t>(random_.below(p_.members.size()));
      const std::int32_t first = p_.members[at(group)][0];
      const int before = assignment_[at(first)], device = other(first, before);
      if (device < 0) continue;
      const double heat = least * kFirst * (1 - static_cast<double>(step) / static_cast<double>(wanted_.steps)) + least * kLast;
      move(group, device);
      if (energy_ < now + heat * random_.exponential()) {
        now = energy_;
        if (now < least) least = now, best = assignment_;
      } else {
        move(group, before);
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

  void move(std::int32_t group, int to) {
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
    }
    measure();
  }

  void measure() {
    double sum = 0;
    for (const double load : loads_) sum += (load * load) * (load * load) * (load * load) * (load * load);
    energy_ = unlinked_ > 0 ? kNever : std::sqrt(std::sqrt(std::sqrt(sum))) + wanted_.crossing_weight * crossings_;
  }

  static constexpr double kFirst = 0.02, kLast = 0.0005;

  const Problem& p_;
  Assignment& assignment_;
  const Partitioning wanted_;
  Random random_;
  std::vector<std::int32_t> readers_;  // [node, device]
  std::vector<double> loads_;          // devices, then links
  double crossings_ = 0, energy_ = 0;
  int unlinked_ = 0;
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
