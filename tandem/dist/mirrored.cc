#include "tandem/dist/mirrored.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tandem/core/device.h"
#include "tandem/runtime/config.h"

namespace tandem {
namespace {

thread_local const MirroredStrategy* current_strategy = nullptr;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::vector<std::string> known_devices(std::string_view kind = "") {
  std::vector<std::string> out;
  for (const auto& device : config::list_logical_devices(kind)) out.push_back(DeviceName::parse(device.name).short_name());
  return out;
}

std::vector<std::string> checked(std::vector<std::string> devices) {
  if (devices.empty()) devices = known_devices("GPU");
  if (devices.empty()) devices = {known_devices("CPU").at(0)};
  const std::vector<std::string> known = known_devices();
  for (std::string& device : devices) {
    device = DeviceName::parse(device).short_name();
    if (std::find(known.begin(), known.end(), device) == known.end())
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device, " is not available; the devices are ", joined(known));
  }
  for (const std::string& device : devices)
    if (std::count(devices.begin(), devices.end(), device) > 1)
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device, " is given twice; a replica needs a device of its own");
  return devices;
}

}  // namespace

std::vector<std::int64_t> shard_sizes(std::int64_t rows, std::span<const double> speeds) {
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::int64_t> sizes(speeds.size(), 0);
  if (rows <= 0 || total <= 0) return sizes;
  std::int64_t rest = rows;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    sizes[i] = static_cast<std::int64_t>(static_cast<double>(rows) * speeds[i] / total);
    rest -= sizes[i];
  }
  for (; rest > 0; --rest) {  // each remaining row goes where it is finished first
    std::size_t best = 0;
    const auto finish = [&](std::size_t i) { return static_cast<double>(sizes[i] + 1) / std::max(speeds[i], 1e-300); };
    for (std::size_t i = 1; i < speeds.size(); ++i)
      if (finish(i) < finish(best)) best = i;
    ++sizes[best];
  }
  return sizes;
}

struct MirroredStrategy::State {
  std::vector<std::string> devices;
  std::vector<double> speeds;
  bool measured = false;
};

MirroredStrategy::MirroredStrategy(std::vector<std::string> devices) : state_(std::make_shared<State>()) {
  state_->devices = checked(std::move(devices));
  state_->speeds.assign(state_->devices.size(), 1.0);
}

const std::vector<std::string>& MirroredStrategy::devices() const { return state_->devices; }

void MirroredStrategy::set_speeds(std::vector<double> speeds) const {
  const bool fits = speeds.size() == state_->devices.size() && std::all_of(speeds.begin(), speeds.end(), [](double s) { return s >= 0; }) &&
                    std::accumulate(speeds.begin(), speeds.end(), 0.0) > 0;
  if (!fits) fail(ErrorCode::invalid_argument, "set_speeds: needs ", state_->devices.size(), " numbers that are not all 0, got ", speeds.size());
  state_->speeds = std::move(speeds);
  state_->measured = true;
}

bool works_alone(std::string_view device) { return device.find("CPU") == std::string_view::npos; }

std::vector<std::int64_t> MirroredStrategy::shard_rows(std::int64_t rows) const { return shard_sizes(rows, state_->speeds); }

std::vector<Shard> MirroredStrategy::shards(std::int64_t rows) const {
  const auto sizes = shard_rows(rows);
  std::vector<Shard> out;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++])
    if (sizes[i] > 0) out.push_back({state_->devices[i], begin, sizes[i]});
  std::stable_partition(out.begin(), out.end(), [](const Shard& shard) { return works_alone(shard.device); });
  return out;
}

std::string MirroredStrategy::explain() const {
  if (!state_->measured) return "equal shards: no speeds have been set";
  const double total = std::accumulate(state_->speeds.begin(), state_->speeds.end(), 0.0);
  std::string out = "by speed:";
  for (std::size_t i = 0; i < state_->devices.size(); ++i)
    out += text(i ? ", " : " ", state_->devices[i], " ", static_cast<int>(100 * state_->speeds[i] / total + 0.5), " %");
  return out;
}

MirroredStrategy::Scope::Scope(const MirroredStrategy& strategy) {
  if (current_strategy) fail(ErrorCode::invalid_argument, "MirroredStrategy: scopes do not nest; end the outer one first");
  current_strategy = &strategy;
}
MirroredStrategy::Scope::~Scope() { current_strategy = nullptr; }
const MirroredStrategy* MirroredStrategy::current() { return current_strategy; }

}  // namespace tandem
