#include "tandem/place/list_scheduler.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class ListScheduler {
 public:
  ListScheduler(const Problem& problem, const ListRule& rule)
      : p_(problem),
        rule_(rule),
        device_lanes_(at(p_.devices)),
        link_lanes_(at(p_.devices) * at(p_.devices)),
        profiles_(at(p_.devices)),
        ends_(at(p_.nodes)),
        arrival_(at(p_.nodes) * at(p_.devices), -1.0),
        link_ready_(at(p_.devices)),
        pruner_(problem),
        assignment_(at(p_.nodes)),
        readers_(at(p_.nodes)) {
    for (int v = 0; v < p_.nodes; ++v) readers_[at(v)] = static_cast<std::int32_t>(p_.consumers[v].size());
    masks_.resize(p_.members.size());
    for (std::size_t g = 0; g < masks_.size(); ++g) {
      masks_[g] = p_.allowed[at(p_.members[g][0])];
      for (const std::int32_t v : p_.members[g]) masks_[g] &= p_.allowed[at(v)];
    }
  }

  std::optional<Assignment> run(const Order& order) {
    for (const std::int32_t node : order) {
      const int device = choose(node);
      if (device < 0) return std::nullopt;
      commit(node, device);
    }
    return std::move(assignment_);
  }

 private:
  int choose(int node) {
    const auto group = at(p_.group[at(node)]);
    std::uint64_t mask = masks_[group];
    if (mask & rule_.devices) mask &= rule_.devices;
    while (mask) {
      const int device = best_of(node, mask);
      if (device < 0) return -1;
      if (fix(static_cast<int>(group), device)) return device;
      mask &= ~(std::uint64_t{1} << device);
    }
    return -1;
  }

  /// Narrows the node's group to the device; false, and nothing changed, when that leaves a neighbour without one.
  bool fix(int group, int device) {
    const std::uint64_t chosen = std::uint64_t{1} << device;
    if (p_.all_linked || masks_[at(group)] == chosen) {
      masks_[at(group)] = chosen;
      return true;
    }
    trail_.assign(1, {static_cast<std::int32_t>(group), masks_[at(group)]});
    masks_[at(group)] = chosen;
    if (pruner_.run(masks_, group, &trail_) < 0) return true;
    LinkPruner::undo(masks_, trail_, 0);
    return false;
  }

  int best_of(int node, std::uint64_t mask) {
    int best = -1;
    double least = kNever, cheapest = kNever;
    for (std::uint64_t rest = mask; rest; rest &= rest - 1)
      cheapest = std::min(cheapest, p_.us(node, __builtin_ctzll(rest)));
    for (; mask; mask &= mask - 1) {
      const int device = __builtin_ctzll(mask);
      double value = start_on(node, device);
      if (value == kNever) continue;
      value += p_.us(node, device) + rule_.thrift * (p_.us(node, device) - cheapest);
      if (rule_.look_ahead) value += rule_.after.empty() ? p_.after(node, device) : rule_.after[p_.index(node, device)];
      if (value < least) least = value, best = device;
    }
    return best;
  }

  /// When the node could start there. Several new copies over one link follow each other.
  double start_on(int node, int device) {
    double ready = 0;
    std::fill(link_ready_.begin(), link_ready_.end(), 0.0);
    std::int64_t bytes = p_.memory[at(node)];
    for (const Neighbour& input : p_.inputs[node]) {
      double arrives = arrival_[p_.index(input.node, device)];
      if (arrives < 0) {
        const int home = assignment_[at(input.node)];
        if (!p_.linked(home, device)) return kNever;
        bytes += p_.memory[at(input.node)];
        const double length = p_.crossing(home, device, input.bytes);
        arrives =
            link_lanes_[p_.pair(home, device)].find(std::max(ends_[at(input.node)], link_ready_[at(home)]), length) +
            length;
        link_ready_[at(home)] = arrives;
      }
      ready = std::max(ready, arrives);
    }
    if (p_.limited[at(device)]) ready = profiles_[at(device)].earliest(ready, bytes, p_.capacity[at(device)]);
    return ready == kNever ? kNever : device_lanes_[at(device)].find(ready, p_.us(node, device));
  }

  void commit(int node, int device) {
    double ready = 0;
    for (const Neighbour& input : p_.inputs[node]) ready = std::max(ready, bring(input, device));
    if (p_.limited[at(device)])
      ready = profiles_[at(device)].earliest(ready, p_.memory[at(node)], p_.capacity[at(device)]);
    const double start = device_lanes_[at(device)].find(ready, p_.us(node, device)), end = start + p_.us(node, device);
    device_lanes_[at(device)].take(start, end);
    for (std::uint64_t others = p_.excludes[at(device)]; others; others &= others - 1)
      device_lanes_[at(__builtin_ctzll(others))].take(start, end);
    assignment_[at(node)] = static_cast<std::uint8_t>(device);
    ends_[at(node)] = arrival_[p_.index(node, device)] = end;
    if (!p_.any_limited) return;
    take_memory(node, device, start);
    for (const Neighbour& input : p_.inputs[node])
      if (--readers_[at(input.node)] == 0) release(input.node, end);
  }

  double bring(const Neighbour& input, int device) {
    double& arrives = arrival_[p_.index(input.node, device)];
    if (arrives >= 0) return arrives;
    const int home = assignment_[at(input.node)];
    const double length = p_.crossing(home, device, input.bytes);
    double ready = ends_[at(input.node)];
    if (p_.limited[at(device)])
      ready = profiles_[at(device)].earliest(ready, p_.memory[at(input.node)], p_.capacity[at(device)]);
    Lane& lane = link_lanes_[p_.pair(home, device)];
    const double start = lane.find(ready, length);
    lane.take(start, start + length);
    take_memory(input.node, device, start);
    return arrives = start + length;
  }

  void take_memory(int node, int device, double time) {
    if (p_.limited[at(device)]) profiles_[at(device)].add(time, p_.memory[at(node)]);
  }

  /// Where later consumers go is not known yet, so a value stays everywhere until the last of them is placed.
  void release(int node, double time) {
    for (int d = 0; d < p_.devices; ++d)
      if (arrival_[p_.index(node, d)] >= 0 && p_.limited[at(d)]) profiles_[at(d)].add(time, -p_.memory[at(node)]);
  }

  const Problem& p_;
  const ListRule& rule_;
  std::vector<Lane> device_lanes_, link_lanes_;
  std::vector<MemoryProfile> profiles_;
  std::vector<double> ends_, arrival_, link_ready_;
  LinkPruner pruner_;
  std::vector<LinkPruner::Change> trail_;
  Assignment assignment_;
  std::vector<std::int32_t> readers_;
  std::vector<std::uint64_t> masks_;  // [group]
};

constexpr int kMostSteps = 20'000;

/// Depth first over the groups in order, without recursion: a graph may have many.
bool assign_all(const Problem& p, std::vector<std::uint64_t>& masks) {
  LinkPruner pruner(p);
  std::vector<LinkPruner::Change> trail;
  struct Choice {
    std::size_t group, trail_size;
    std::uint64_t left;  // devices not tried yet
  };
  std::vector<Choice> choices;
  if (pruner.run(masks, -1) >= 0) return false;
  for (int steps = 0;;) {
    std::size_t next = choices.empty() ? 0 : choices.back().group + 1;
    while (next < masks.size() && (masks[next] & (masks[next] - 1)) == 0) ++next;
    if (next == masks.size()) return true;
    choices.push_back({next, trail.size(), masks[next]});
    for (;;) {
      if (choices.empty() || ++steps > kMostSteps + static_cast<int>(masks.size())) return false;
      Choice& choice = choices.back();
      LinkPruner::undo(masks, trail, choice.trail_size);
      if (choice.left == 0) {
        choices.pop_back();
        continue;
      }
      trail.push_back({static_cast<std::int32_t>(choice.group), masks[choice.group]});
      masks[choice.group] = choice.left & -choice.left;
      choice.left &= choice.left - 1;
      if (pruner.run(masks, static_cast<int>(choice.group), &trail) < 0) break;
    }
  }
}

}  // namespace

Order rank_order(const Problem& problem) {
  Order order = problem.topological;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return problem.rank[at(a)] > problem.rank[at(b)]; });
  return order;
}

Order light_order(const Problem& problem) {
  std::vector<std::int32_t> waiting(at(problem.nodes)), readers(at(problem.nodes));
  std::vector<char> done(at(problem.nodes));
  using Entry = std::tuple<std::int64_t, double, std::int32_t>;  // growth of memory, -rank, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](std::int32_t node) {
    std::int64_t growth = problem.memory[at(node)];
    for (const Neighbour& input : problem.inputs[node])
      if (readers[at(input.node)] == 1) growth -= problem.memory[at(input.node)];
    ready.emplace(growth, -problem.rank[at(node)], node);
  };
  for (int v = 0; v < problem.nodes; ++v) {
    waiting[at(v)] = static_cast<std::int32_t>(problem.inputs[v].size());
    readers[at(v)] = static_cast<std::int32_t>(problem.consumers[v].size());
  }
  for (int v = 0; v < problem.nodes; ++v)
    if (waiting[at(v)] == 0) push(v);
  Order order;
  while (!ready.empty()) {
    const std::int32_t node = std::get<2>(ready.top());
    ready.pop();
    if (std::exchange(done[at(node)], 1)) continue;
    order.push_back(node);
    for (const Neighbour& input : problem.inputs[node]) {
      if (--readers[at(input.node)] != 1) continue;
      for (const Neighbour& last : problem.consumers[input.node])  // its last reader now frees it
        if (!done[at(last.node)] && waiting[at(last.node)] == 0) push(last.node);
    }
    for (const Neighbour& c : problem.consumers[node])
      if (--waiting[at(c.node)] == 0) push(c.node);
  }
  return order;
}

std::optional<Assignment> list_schedule(const Problem& problem, const Order& order, const ListRule& rule) {
  return ListScheduler(problem, rule).run(order);
}

std::optional<Assignment> any_assignment(const Problem& problem) {
  std::vector<std::uint64_t> masks(problem.members.size());
  for (std::size_t g = 0; g < masks.size(); ++g) masks[g] = problem.allowed[at(problem.members[g][0])];
  if (problem.all_linked)
    for (std::uint64_t& mask : masks) mask &= -mask;
  if (!assign_all(problem, masks)) return std::nullopt;
  Assignment assignment(at(problem.nodes));
  for (int v = 0; v < problem.nodes; ++v)
    assignment[at(v)] = static_cast<std::uint8_t>(__builtin_ctzll(masks[at(problem.group[at(v)])]));
  return assignment;
}

}  // namespace tandem::placer
