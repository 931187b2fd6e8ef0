#include "tandem/exec/split_placement.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "tandem/graph/passes.h"
#include "tandem/graph/split.h"

namespace tandem {
namespace {

// Shorter graphs are not split: what is gained is less than what the prediction may be wrong by.
constexpr double kWorthUs = 1000;
// How much sooner a split graph must end.
constexpr double kMargin = 0.92;
// Devices that are at work for so much of the time have nothing to share out.
constexpr double kBusy = 0.85;
constexpr std::size_t kMostRegions = 2;
// Every try places the graph anew: larger ones would be noticed.
constexpr std::size_t kMostOps = 200;
constexpr int kRounds = 3;            // of placing the parts and balancing them by what they then take
constexpr std::int64_t kGrains = 64;  // a share is a number of these, so that kernels keep even sizes
constexpr double kNowhere = 1e30;

/// What a region takes on every device of the machine; kNowhere on one that is not here.
std::vector<double> times_of(const Graph& graph, const RowRegion& region, const GraphSetting& setting) {
  std::vector<double> times(setting.machine.devices.size());
  for (std::int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    if (node.op->view) continue;
    std::vector<const TensorSpec*> specs;
    for (GraphValue input : node.inputs) specs.push_back(&graph.spec(input));
    const OpWork work = work_of(*node.op, specs, node.attrs, node.outputs);
    for (std::size_t d = 0; d < times.size(); ++d)
      times[d] += predict(work, setting.machine.devices[d], setting.machine.measured).total();
  }
  for (const Constraints::Slowdown& slow : setting.contention)
    if (const auto device = setting.machine.find(slow.device)) times[static_cast<std::size_t>(*device)] *= slow.factor;
  const auto is_here = [&](const MachineDevice& device) {
    return std::ranges::any_of(setting.devices,
                               [&](const Device* here) { return here->name().short_name() == device.name; });
  };
  for (std::size_t d = 0; d < times.size(); ++d)
    if (setting.only_here && !is_here(setting.machine.devices[d])) times[d] = kNowhere;
  return times;
}

bool share_cores(const MachineDevice& a, const MachineDevice& b) {
  return std::ranges::any_of(a.cores, [&](int core) { return std::ranges::find(b.cores, core) != b.cores.end(); });
}

/// Devices that can work side by side, the fastest first.
std::vector<std::size_t> side_by_side(const std::vector<double>& times, const Machine& machine) {
  std::vector<std::size_t> order(times.size()), chosen;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t d) { return times[d]; });
  for (std::size_t d : order) {
    const bool free = std::ranges::none_of(
        chosen, [&](std::size_t other) { return share_cores(machine.devices[d], machine.devices[other]); });
    if (free && times[d] < kNowhere) chosen.push_back(d);
  }
  return chosen;
}

/// The part of the time for which the least used of `devices` is at work.
double least_load(const Explanation& e, const std::vector<std::size_t>& devices, const Machine& machine) {
  double least = e.makespan_us;
  for (std::size_t d : devices) {
    double busy = 0;
    for (const OpRecord& op : e.ops)
      if (op.chosen == machine.devices[d].name) busy += op.compute_us + op.launch_us;
    least = std::min(least, busy);
  }
  return least / e.makespan_us;
}

/// Whole numbers in the ratio of `weights`, in grains; a part that would have none is left out.
std::vector<std::int64_t> in_ratio(std::int64_t rows, const std::vector<double>& weights) {
  const std::int64_t grain = std::max<std::int64_t>(1, rows / kGrains);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts;
  std::int64_t left = rows;
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    const auto grains = std::llround(static_cast<double>(rows) * weights[i] / all / static_cast<double>(grain));
    const auto part = std::min<std::int64_t>(left, grain * grains);
    if (part > 0) parts.push_back(part);
    left -= part;
  }
  if (left > 0) parts.push_back(left);
  return parts;
}

/// Rows a microsecond of each part, copies included.
std::vector<double> speeds_of(const GraphPlacement& placement, const std::vector<std::int64_t>& parts) {
  const auto shares = row_shares(*placement.graph);
  std::vector<double> speeds;
  std::int64_t first = 0;
  for (std::int64_t count : parts) {
    double start = placement.explanation.makespan_us, finish = 0;
    for (const OpRecord& op : placement.explanation.ops)
      if (const auto& share = shares[static_cast<std::size_t>(op.node)]; share && share->first == first) {
        start = std::min(start, op.start_us - op.transfer_us);
        finish = std::max(finish, op.finish_us);
      }
    speeds.push_back(static_cast<double>(count) / std::max(finish - std::max(start, 0.0), 1e-3));
    first += count;
  }
  return speeds;
}

/// What to try: whole regions, and the dearest node of one by itself.
std::vector<RowRegion> worth_trying(const Graph& graph, const GraphSetting& setting, double whole_us) {
  struct Candidate {
    RowRegion region;
    double us;
  };
  std::vector<Candidate> candidates;
  const double worth = std::max(kWorthUs / 2, (1 - kMargin) * whole_us);
  const auto least = [&](const RowRegion& region) { return std::ranges::min(times_of(graph, region, setting)); };
  for (RowRegion& region : row_regions(graph)) {
    const double us = least(region);
    if (us < worth) continue;
    Candidate dearest{{region.rows, {}}, 0};
    for (std::int32_t n : region.nodes)
      if (const double alone = least({region.rows, {n}}); alone > dearest.us) dearest = {{region.rows, {n}}, alone};
    if (region.nodes.size() > 1 && dearest.us >= worth) candidates.push_back(std::move(dearest));
    candidates.push_back({std::move(region), us});
  }
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::us);
  std::vector<RowRegion> regions;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostRegions); ++i)
    regions.push_back(std::move(candidates[i].region));
  return regions;
}

std::string ms(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << us / 1e3 << " ms";
  return out.str();
}

void note_shares(GraphPlacement& placement, double whole_us) {
  const auto shares = row_shares(*placement.graph);
  const std::string gain =
      text("; the whole is predicted to take ", ms(placement.explanation.makespan_us), " instead of ", ms(whole_us));
  for (OpRecord& op : placement.explanation.ops) {
    const auto node = static_cast<std::size_t>(op.node);
    const bool moves = op.compute_us + op.launch_us > 0;
    if (joins_rows(placement.graph->nodes[node]))
      op.text += (moves ? "; split: puts the parts together" : "; split: the parts are written side by side") + gain;
    else if (const auto& share = shares[node])
      op.text += text("; split: rows ", share->first, " to ", share->first + share->count, " of ", share->of, " (",
                      std::llround(100.0 * static_cast<double>(share->count) / static_cast<double>(share->of)),
                      " %) here, the others elsewhere at the same time", moves ? "" : "; read where they lie", gain);
  }
}

}  // namespace

std::optional<GraphPlacement> place_split(const Graph& traced, const GraphPlacement& whole,
                                          const GraphSetting& setting) {
  const double whole_us = whole.explanation.makespan_us;
  if (setting.scope || !setting.only.empty() || setting.machine.devices.size() < 2 || whole_us < kWorthUs ||
      whole.explanation.ops.size() > kMostOps)
    return std::nullopt;
  std::optional<GraphPlacement> best;
  double limit = whole_us * kMargin;
  for (const RowRegion& region : worth_trying(traced, setting, whole_us)) {
    const std::vector<double> times = times_of(traced, region, setting);
    const auto devices = side_by_side(times, setting.machine);
    if (devices.size() < 2 || least_load(whole.explanation, devices, setting.machine) > kBusy) continue;
    std::vector<double> speeds;
    for (std::size_t d : devices) speeds.push_back(1 / times[d]);
    std::vector<std::int64_t> parts = in_ratio(region.rows, speeds), tried;
    for (int round = 0; round < kRounds && parts.size() > 1 && parts != tried; ++round) {
      tried = parts;
      auto graph = std::make_shared<const Graph>(optimize(split_rows(traced, region, parts)));
      GraphPlacement placement = place(*graph, setting);
      placement.graph = std::move(graph);
      parts = in_ratio(region.rows, speeds_of(placement, parts));
      if (placement.explanation.makespan_us >= limit) continue;
      limit = placement.explanation.makespan_us;
      best = std::move(placement);
    }
  }
  if (best) note_shares(*best, whole_us);
  if (best) best->explanation.whole = std::make_shared<const Explanation>(whole.explanation);
  return best;
}

}  // namespace tandem
