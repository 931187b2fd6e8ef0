// Random graphs and machines for the placer's tests: layered, dense and tree-like, with cheap and dear crossings.
#pragma once
#include <random>
#include <string>

#include "tandem/place/schedule.h"

namespace tandem::testing {

struct RandomCase {
  int nodes = 8, devices = 2;
  unsigned seed = 0;
  double crossing = 1;      // mean crossing, in mean node costs
  double memory_share = 0;  // of all outputs that a device holds; 0: no limit
  bool one_way = false;     // a third of the links is missing
};

struct PlaceInput {
  PlaceGraph graph;
  Machine machine;
};

/// Doubles made by hand: the distributions of the standard library differ between platforms.
class Uniform {
 public:
  explicit Uniform(unsigned seed) : engine_(seed) {}
  double operator()(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_()) / 4294967296.0);
  }
  int below(int count) { return static_cast<int>((*this)(0, count)); }

 private:
  std::mt19937 engine_;
};

inline Machine random_machine(const RandomCase& wanted, Uniform& random) {
  Machine machine;
  for (int d = 0; d < wanted.devices; ++d)
    machine.devices.push_back({.name = d == 0 ? "/CPU:0" : "/GPU:" + std::to_string(d - 1)});
  for (const MachineDevice& from : machine.devices)
    for (const MachineDevice& to : machine.devices)
      if (&from != &to && !(wanted.one_way && random(0, 1) < 0.33))
        machine.links.push_back({from.name, to.name, random(0, 10), random(4, 16)});
  return machine;
}

inline PlaceInput random_input(const RandomCase& wanted) {
  Uniform random(wanted.seed * 7919 + 17);
  PlaceInput input{.machine = random_machine(wanted, random)};
  const int style = static_cast<int>(wanted.seed % 3);
  std::int64_t total = 0;
  for (int v = 0; v < wanted.nodes; ++v) {
    PlaceNode node{.id = "n" + std::to_string(v), .memory = static_cast<std::int64_t>(random(1e3, 1e6))};
    const double base = random(5, 100);
    for (std::size_t d = 0; d < input.machine.devices.size(); ++d)
      node.costs.push_back({input.machine.devices[d].name, base * (style == 0 ? random(0.2, 2)
                                                                   : d == 0   ? 1
                                                                              : random(0.1, 1.2))});
    total += node.memory;
    input.graph.nodes.push_back(std::move(node));
  }
  for (int v = 1; v < wanted.nodes; ++v) {
    const int inputs = style == 2 ? 1 + random.below(2) : random.below(4);
    const int first = style == 1 ? std::max(0, v - 10) : 0;
    for (int i = 0; i < inputs; ++i)
      input.graph.edges.push_back(
          {first + random.below(v - first), v, static_cast<std::int64_t>(random(0.1, 2) * wanted.crossing * 5e5)});
  }
  if (wanted.memory_share > 0)
    for (MachineDevice& device : input.machine.devices)
      device.memory = static_cast<std::int64_t>(static_cast<double>(total) * wanted.memory_share * random(0.7, 1.3));
  return input;
}

}  // namespace tandem::testing
