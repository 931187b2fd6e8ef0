// The optimum of a tiny graph, found by trying every assignment and every order of starts. It shares no code with the
// placer and knows the rules only: slow, and simple enough to be believed.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/place/schedule.h"

namespace tandem::testing {

class BruteForce {
 public:
  BruteForce(const PlaceGraph& graph, const Machine& machine)
      : g_(graph),
        m_(machine),
        devices_(static_cast<int>(machine.devices.size())),
        device_(graph.nodes.size()) {
    for (const MachineDevice& device : m_.devices) {
      auto& costs = cost_.emplace_back();
      for (const PlaceNode& node : g_.nodes) {
        double us = kNone;
        for (const auto& cost : node.costs)
          if (cost.device == device.name) us = cost.us;
        costs.push_back(us);
      }
    }
  }

  /// Infinite when nothing fits.
  double makespan() {
    assign(0);
    return best_;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  struct Task {
    int node, device;          // whose result it makes, and where
    int lane;                  // device, or a number for the direction of a link
    double length;
    std::vector<int> after;    // tasks that must have ended
    std::vector<int> readers;  // tasks that read the result
    double start = -1;
  };

  Task& task(int index) { return tasks_[static_cast<std::size_t>(index)]; }
  const Task& task(int index) const { return tasks_[static_cast<std::size_t>(index)]; }
  const MachineDevice& device(int index) const { return m_.devices[static_cast<std::size_t>(index)]; }
  std::int64_t bytes(const Task& t) const { return g_.nodes[static_cast<std::size_t>(t.node)].memory; }
  double end(int index) const { return task(index).start + task(index).length; }

  void assign(std::size_t node) {
    if (node == g_.nodes.size()) return try_assignment();
    for (int d = 0; d < devices_; ++d)
      if (cost_[static_cast<std::size_t>(d)][node] < kNone) {
        device_[node] = d;
        assign(node + 1);
      }
  }

  void try_assignment() {
    tasks_.clear();
    for (std::size_t v = 0; v < g_.nodes.size(); ++v)
      tasks_.push_back(
          {static_cast<int>(v), device_[v], device_[v], cost_[static_cast<std::size_t>(device_[v])][v], {}, {}, -1});
    for (const PlaceEdge& e : g_.edges) {
      const int from = task(e.from).device, to = task(e.to).device;
      const MachineLink* link = m_.link(device(from).name, device(to).name);
      if (from != to && !link) return;
      const int source = from == to ? e.from : copy_of(e.from, to);
      if (from != to) task(source).length = std::max(task(source).length, link->microseconds(e.bytes));
      task(e.to).after.push_back(source);
      task(source).readers.push_back(e.to);
    }
    place_next(0, 0, 0);
  }

  int copy_of(int node, int to) {
    for (std::size_t i = g_.nodes.size(); i < tasks_.size(); ++i)
      if (tasks_[i].node == node && tasks_[i].device == to) return static_cast<int>(i);
    const int index = static_cast<int>(tasks_.size());
    tasks_.push_back({node, to, devices_ + task(node).device * devices_ + to, 0, {node}, {}, -1});
    task(node).readers.push_back(index);
    return index;
  }

  /// Tasks are placed in the order of their starts, each at the earliest time that the rules allow.
  void place_next(std::size_t placed, double last_start, double makespan) {
    if (makespan >= best_) return;
    if (placed == tasks_.size()) {
      best_ = makespan;
      return;
    }
    for (Task& t : tasks_) {
      if (t.start >= 0 || std::ranges::any_of(t.after, [&](int i) { return task(i).start < 0; })) continue;
      double start = last_start;
      for (const int i : t.after) start = std::max(start, end(i));
      for (const Task& other : tasks_)
        if (other.start >= 0 && other.lane == t.lane) start = std::max(start, other.start + other.length);
      start = when_it_fits(t, start);
      if (start == kNone) continue;
      t.start = start;
      place_next(placed + 1, start, t.lane < devices_ ? std::max(makespan, start + t.length) : makespan);
      t.start = -1;
    }
  }

  double when_it_fits(const Task& wanted, double ready) const {
    for (double time = ready;;) {
      std::int64_t taken = bytes(wanted);
      double next = kNone;
      for (const Task& other : tasks_) {
        const double until = held_until(other);
        if (other.start < 0 || other.device != wanted.device || until <= time) continue;
        taken += bytes(other);
        next = std::min(next, until);
      }
      if (taken <= device(wanted.device).memory) return time;
      if (next == kNone) return kNone;
      time = next;
    }
  }

  double held_until(const Task& t) const {
    double until = t.readers.empty() ? kNone : 0;
    for (const int r : t.readers) until = task(r).start < 0 ? kNone : std::max(until, end(r));
    return until;
  }

  const PlaceGraph& g_;
  const Machine& m_;
  const int devices_;
  std::vector<std::vector<double>> cost_;  // [device][node]
  std::vector<int> device_;
  std::vector<Task> tasks_;
  double best_ = kNone;
};

}  // namespace tandem::testing
