#include "tandem/place/latest_starts.h"

#include <algorithm>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

void latest_starts(const Problem& problem, const Decoder& decoder, std::span<const std::uint8_t> assignment,
                   double makespan, std::vector<double>& latest) {
  struct Activity {
    double start;
    std::int32_t index;  // of a node, or -1 - that of a copy
  };
  std::vector<Activity> activities;
  const auto copies = decoder.copies();
  activities.reserve(at(problem.nodes) + copies.size());
  for (int v = 0; v < problem.nodes; ++v) activities.push_back({decoder.starts()[at(v)], v});
  for (std::size_t i = 0; i < copies.size(); ++i)
    activities.push_back({copies[i].start, -1 - static_cast<std::int32_t>(i)});
  std::vector<std::int32_t> position(at(problem.nodes));
  for (std::size_t i = 0; i < problem.topological.size(); ++i)
    position[at(problem.topological[i])] = static_cast<std::int32_t>(i);
  const auto key = [&](const Activity& a) {
    return a.index >= 0 ? 2 * position[at(a.index)] : 2 * position[at(copies[at(-1 - a.index)].node)] + 1;
  };
  std::sort(activities.begin(), activities.end(), [&](const Activity& a, const Activity& b) {
    return a.start != b.start ? a.start > b.start : key(a) > key(b);
  });

  // The latest end of a value on a device, as its readers there have it so far.
  std::vector<double> needed(at(problem.nodes) * at(problem.devices), makespan);
  std::vector<double> device_free(at(problem.devices), makespan),
      link_free(at(problem.devices) * at(problem.devices), makespan);
  latest.assign(at(problem.nodes), 0);
  for (const Activity& a : activities) {
    if (a.index < 0) {
      const Copy& copy = copies[at(-1 - a.index)];
      double& free = link_free[problem.pair(copy.from, copy.to)];
      const double end = std::min(needed[problem.index(copy.node, copy.to)], free);
      free = end - (copy.end - copy.start);
      double& home = needed[problem.index(copy.node, copy.from)];
      home = std::min(home, free);
      continue;
    }
    const int device = assignment[at(a.index)];
    double end = std::min(needed[problem.index(a.index, device)], device_free[at(device)]);
    for (std::uint64_t others = problem.excludes[at(device)]; others; others &= others - 1)
      end = std::min(end, device_free[at(__builtin_ctzll(others))]);
    const double start = end - problem.us(a.index, device);
    latest[at(a.index)] = device_free[at(device)] = start;
    for (const Neighbour& input : problem.inputs[a.index]) {
      double& value = needed[problem.index(input.node, device)];
      value = std::min(value, start);
    }
  }
}

}  // namespace tandem::placer
