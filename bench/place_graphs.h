// Random graphs of 50 to 200 nodes for judging the placer: six shapes, cheap and dear crossings, two to four devices,
// missing links, tight memory and nodes that are bound to a device.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "tandem/place/schedule.h"

namespace tandem::bench {

/// Random numbers that are the same on every platform.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  int below(std::size_t count) { return static_cast<int>(between(0, static_cast<double>(count))); }
  bool chance(double share) { return between(0, 1) < share; }

 private:
  std::mt19937_64 engine_;
};

using Edges = std::vector<std::pair<int, int>>;

inline Edges layered(int nodes, Dice& dice) {
  Edges edges;
  const int width = 3 + dice.below(8);
  for (int v = width; v < nodes; ++v)
    for (int i = dice.below(3); i >= 0; --i)
      edges.emplace_back((v / width - 1) * width + dice.below(static_cast<std::size_t>(width)), v);
  return edges;
}

inline Edges fork_join(int nodes, Dice& dice) {
  Edges edges;
  int last = 0, next = 1;
  while (next < nodes) {
    std::vector<int> ends;
    for (int branch = 2 + dice.below(10); branch > 0 && next < nodes; --branch) {
      int before = last;
      for (int i = dice.below(3); i >= 0 && next < nodes; --i) edges.emplace_back(before, next), before = next++;
      ends.push_back(before);
    }
    if (next == nodes) break;
    for (int end : ends) edges.emplace_back(end, next);
    last = next++;
  }
  return edges;
}

inline Edges series_parallel(int nodes, Dice& dice) {
  Edges edges{{0, 1}};
  for (int v = 2; v < nodes; ++v) {
    const auto at = static_cast<std::size_t>(dice.below(edges.size()));
    const auto [from, to] = edges[at];
    if (dice.chance(0.5)) edges[at] = {from, v};
    else edges.emplace_back(from, v);
    edges.emplace_back(v, to);
  }
  return edges;
}

inline Edges any_edges(int nodes, Dice& dice) {
  Edges edges;
  for (int v = 1; v < nodes; ++v)
    for (int i = dice.below(4); i > 0; --i) edges.emplace_back(dice.below(static_cast<std::size_t>(v)), v);
  return edges;
}

/// Side by side, with an edge between them here and there.
inline Edges chains(int nodes, Dice& dice) {
  Edges edges;
  const int count = 2 + dice.below(6);
  for (int v = count; v < nodes; ++v) {
    edges.emplace_back(v - count, v);
    if (dice.chance(0.15))
      edges.emplace_back(std::max(0, v - count - 1 - dice.below(static_cast<std::size_t>(count))), v);
  }
  return edges;
}

inline Edges tree(int nodes, Dice&) {
  Edges edges;
  for (int v = 1; v < nodes; ++v) edges.emplace_back((v - 1) / 2, v);
  return edges;
}

struct GraphCase {
  Edges (*shape)(int, Dice&);
  int nodes, devices;
  double crossing;          // mean crossing, in mean node costs
  double memory_share = 0;  // of all outputs that a device holds; 0: no limit
  bool missing_links = false;
  double bound_share = 0;   // of the nodes that have to be on a given device
};

struct PlaceQuestion {
  PlaceGraph graph;
  Machine machine;
};

/// How much a node costs on each device: any figures, devices of different speeds, or a CPU and accelerators that suit
/// some nodes.
inline double cost_factor(unsigned style, double speed, std::size_t device, Dice& dice) {
  if (style == 0) return dice.between(0.2, 2);
  if (style == 1) return 1 / (speed * dice.between(0.7, 1.3));
  return device == 0 ? 1 : dice.between(0.1, 1.2);
}

inline PlaceQuestion make_question(const GraphCase& wanted, unsigned seed) {
  Dice dice(seed * 7919 + 17);
  PlaceQuestion made;
  constexpr double kMeanUs = 40, kGbPerS = 10;
  auto& devices = made.machine.devices;
  std::vector<double> speed;
  for (int d = 0; d < wanted.devices; ++d) {
    devices.push_back({.name = d == 0 ? "/CPU:0" : "/GPU:" + std::to_string(d - 1)});
    speed.push_back(d == 0 ? 1 : dice.between(1, 6));
  }
  for (const MachineDevice& from : devices)
    for (const MachineDevice& to : devices)
      if (const bool through_cpu = &from == &devices[0] || &to == &devices[0];
          &from != &to && (!wanted.missing_links || through_cpu))
        made.machine.links.push_back({from.name, to.name, dice.between(0, 10), kGbPerS});
  double total = 0;
  for (int v = 0; v < wanted.nodes; ++v) {
    PlaceNode node{.id = std::to_string(v), .memory = static_cast<std::int64_t>(dice.between(1e3, 1e6))};
    const double base = dice.between(5, 100);
    for (std::size_t d = 0; d < devices.size(); ++d)
      node.costs.push_back({devices[d].name, base * cost_factor(seed % 3, speed[d], d, dice)});
    if (dice.chance(wanted.bound_share))
      node.requested = devices[static_cast<std::size_t>(dice.below(wanted.missing_links ? 2 : devices.size()))].name;
    total += static_cast<double>(node.memory);
    made.graph.nodes.push_back(std::move(node));
  }
  for (const auto& [from, to] : wanted.shape(wanted.nodes, dice))
    made.graph.edges.push_back(
        {from, to, static_cast<std::int64_t>(dice.between(0.1, 1.9) * wanted.crossing * kMeanUs * kGbPerS * 1e3)});
  if (wanted.memory_share > 0)
    for (MachineDevice& device : devices)
      device.memory = static_cast<std::int64_t>(total * wanted.memory_share * dice.between(0.7, 1.3));
  return made;
}

/// Every shape with several sizes, crossings and numbers of devices; every fifth in tight memory, every fourth without
/// links between accelerators, every seventh with bound nodes.
inline std::vector<GraphCase> quality_cases(int each_shape) {
  std::vector<GraphCase> cases;
  const double crossings[] = {0.1, 0.5, 1, 3, 10};
  unsigned n = 0;
  for (const auto shape : {layered, fork_join, series_parallel, any_edges, chains, tree})
    for (int i = 0; i < each_shape; ++i) {
      ++n;
      cases.push_back({.shape = shape,
                       .nodes = 50 * (1 + static_cast<int>(n % 4)),
                       .devices = 2 + static_cast<int>(n * 7 % 3),
                       .crossing = crossings[(n * 3 + n / 5) % 5],
                       .memory_share = n % 5 == 0 ? 0.35 : 0,
                       .missing_links = n % 4 == 3,
                       .bound_share = n % 7 == 0 ? 0.15 : 0});
    }
  return cases;
}

}  // namespace tandem::bench
