#include "tandem/runtime/placement_lock.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "tandem/base/log.h"
#include "tandem/exec/eager.h"
#include "tandem/exec/locked_graph.h"
#include "tandem/graph/fingerprint.h"
#include "tandem/runtime/config.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

struct State {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<const PlacementLock> lock;
  std::vector<std::string> drift;

  State() {
    const char* file = std::getenv("TANDEM_PLACEMENT_LOCK");
    if (!file || !*file) return;
    lock = std::make_shared<const PlacementLock>(read_lock(file));
    path = file;
  }
};
State& state() {
  static auto& instance = *new State;
  return instance;
}

void note(const std::vector<std::string>& sentences) {
  State& s = state();
  std::lock_guard guard(s.mutex);
  for (const std::string& sentence : sentences) {
    if (std::ranges::count(s.drift, sentence)) continue;
    s.drift.push_back(sentence);
    log(LogLevel::warning, text("placement lock ", s.path, ": ", sentence));
  }
}

/// The placer's answer without the lock, on the devices at hand.
LockedFunction placed_freely(const Graph& graph, const std::string& name, bool scopes) {
  Runtime& runtime = default_runtime();
  const auto machine = runtime.machine();
  const auto devices = runtime.devices();
  return locked(place(scopes ? graph : without_requests(graph),
                      GraphSetting{.machine = *machine, .devices = {devices.begin(), devices.end()}})
                    .explanation,
                name, fingerprint(graph));
}

/// Devices of the lock that are not here.
std::vector<std::string> missing_devices(const LockedFunction& function) {
  std::vector<std::string> out;
  const auto devices = default_runtime().devices();
  for (const LockedOp& op : function.ops) {
    const bool here =
        std::ranges::any_of(devices, [&](const Device* d) { return d->name() == DeviceName::parse(op.device); });
    const std::string sentence = text(function.name, ": ", op.device, " does not exist here; its ops run elsewhere");
    if (!here && !std::ranges::count(out, sentence)) out.push_back(sentence);
  }
  return out;
}

}  // namespace

std::optional<Graph> locked_graph(const Graph& graph, std::string_view name) {
  std::shared_ptr<const PlacementLock> lock;
  {
    std::lock_guard guard(state().mutex);
    lock = state().lock;
  }
  if (!lock) return std::nullopt;
  const LockedFunction* function = lock->find(fingerprint(graph));
  const bool named = std::ranges::count(lock->functions, name, &LockedFunction::name) > 0;
  if (!function && !named) return std::nullopt;  // a function that nobody locked
  note(
      drift(*lock, placed_freely(graph, function ? function->name : std::string(name), !function || function->scopes)));
  if (!function) return std::nullopt;
  note(missing_devices(*function));
  return with_lock(graph, *function);
}

namespace config {

void set_placement_lock(const std::string& path) {
  auto lock = path.empty() ? nullptr : std::make_shared<const PlacementLock>(read_lock(path));
  {
    State& s = state();
    std::lock_guard guard(s.mutex);
    s.lock = std::move(lock);
    s.path = path;
    s.drift.clear();
  }
  if (initialized()) default_runtime().dispatcher().forget_calls();  // plans are made anew
}

std::string get_placement_lock() {
  std::lock_guard guard(state().mutex);
  return state().path;
}

std::vector<std::string> placement_drift() {
  std::lock_guard guard(state().mutex);
  return state().drift;
}

}  // namespace config
}  // namespace tandem
