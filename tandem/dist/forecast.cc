#include "tandem/dist/forecast.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "tandem/base/text.h"
#include "tandem/dist/replica_devices.h"
#include "tandem/dist/tell.h"
#include "tandem/exec/planned_steps.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

constexpr double kWorthTelling = 0.98;  // figures are not so good that less would mean anything

/// Ops that several replicas have: one device would run them once, for all rows.
std::int64_t repeated_ops(const Graph& graph, const std::vector<std::string>& devices) {
  std::map<std::string, std::int64_t> counts;
  for (const Node& node : graph.nodes)
    if (node.requested && !is_source(node) && !node.op->view) ++counts[node.requested->short_name()];
  std::int64_t all = 0, most = 0;
  for (const std::string& device : devices) {
    all += counts[device];
    most = std::max(most, counts[device]);
  }
  return all - most;
}

/// What the graph takes on one device; nothing where it does not fit there.
std::optional<double> predicted_alone_us(Graph graph, const std::string& device, std::int64_t repeated) {
  for (Node& node : graph.nodes)
    if (node.requested) node.requested = DeviceName::parse(device);
  const auto placed = default_runtime().place(graph, {}, {.only = device});
  const std::shared_ptr<const Machine> machine = default_runtime().machine();
  const auto found = machine->find(device);
  if (!placed || !found) return std::nullopt;
  return placed->explanation.makespan_us -
         static_cast<double>(repeated) * machine->devices[static_cast<std::size_t>(*found)].launch_us;
}

std::string milliseconds(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.3f ms", 1e3 * seconds);
  return out;
}

/// Has it been told for these devices? Else it counts as told from now on.
class Told {
 public:
  bool has(const std::string& devices) {
    const std::lock_guard lock(mutex_);
    return devices_.contains(devices);
  }
  bool add(const std::string& devices) {
    const std::lock_guard lock(mutex_);
    return devices_.insert(devices).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> devices_;
};

Told& told() {
  static Told& one = *new Told;  // steps may end after main has
  return one;
}

/// Those at work, each once: one may stand in for another that has left.
std::vector<std::string> at_work(const ReplicaDevices& replicas) {
  std::vector<std::string> devices;
  for (const std::string& name : replicas.names())
    if (std::ranges::find(devices, name) == devices.end()) devices.push_back(name);
  return devices;
}

void foresee(const Graph& graph, const DeviceGroup& group, const GraphPlacement& placement) {
  const auto* replicas = dynamic_cast<const ReplicaDevices*>(&group);
  if (!replicas || graph.writes.empty() || !placement.explanation.doubt.empty()) return;
  const std::vector<std::string> devices = at_work(*replicas);
  if (devices.size() < 2 || told().has(join(devices))) return;
  const double together_us = placement.explanation.makespan_us;
  tell_slower(devices, predicted_slower(graph, together_us, devices, replicas->shards().alone()));
}

}  // namespace

std::string slower_line(const std::string& takes, double together_s, const std::vector<std::string>& devices,
                        double alone_s, const std::string& best) {
  return text("MirroredStrategy: ", takes, " ", milliseconds(together_s), " on ", join(devices), " together and about ",
              milliseconds(alone_s), " on ", best, " alone: OneDeviceStrategy(\"", best, "\") is faster here");
}

std::string predicted_slower(const Graph& graph, double together_us, const std::vector<std::string>& devices,
                             double seen_alone_s) {
  const std::int64_t repeated = repeated_ops(graph, devices);
  double least = kWorthTelling * together_us;
  std::string best;
  for (const std::string& device : devices) {
    const std::optional<double> alone = predicted_alone_us(graph, device, repeated);
    if (!alone || *alone >= least) continue;
    least = *alone;
    best = device;
  }
  constexpr double kLongerThanACall = 1e-3;  // seconds; what was timed holds one, too
  constexpr double kWrong = 1.5;
  if (seen_alone_s > std::max(kWrong * least / 1e6, kLongerThanACall)) return "";
  return best.empty() ? "" : slower_line("a step is predicted to take", together_us / 1e6, devices, least / 1e6, best);
}

void tell_slower(const std::vector<std::string>& devices, const std::string& line) {
  if (!line.empty() && told().add(join(devices))) tell(line);
}

void foresee_steps() { set_on_planned_step(foresee); }

}  // namespace tandem
