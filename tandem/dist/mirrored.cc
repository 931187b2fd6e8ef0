#include "tandem/dist/mirrored.h"

#include <algorithm>

#include "tandem/core/device.h"
#include "tandem/dist/even_shards.h"
#include "tandem/runtime/config.h"

namespace tandem {
namespace {

thread_local const MirroredStrategy* current_strategy = nullptr;

std::vector<std::string> known_devices(std::string_view kind = "") {
  std::vector<std::string> out;
  for (const auto& device : config::list_logical_devices(kind)) out.push_back(DeviceName::parse(device.name).short_name());
  return out;
}

/// Does the text name this device, and not only one whose number begins with its?
bool names(std::string_view message, std::string_view device) {
  for (std::size_t at = message.find(device); at != std::string_view::npos; at = message.find(device, at + 1)) {
    const std::size_t after = at + device.size();
    if (after == message.size() || message[after] < '0' || message[after] > '9') return true;
  }
  return false;
}

std::vector<std::string> checked(std::vector<std::string> devices) {
  if (devices.empty()) devices = known_devices("GPU");
  if (devices.empty()) devices = known_devices("CPU");  // one, unless a program has asked for more
  const std::vector<std::string> known = known_devices();
  for (std::string& device : devices) {
    device = DeviceName::parse(device).short_name();
    if (std::find(known.begin(), known.end(), device) == known.end())
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device, " is not available; the devices are ", join(known));
  }
  for (const std::string& device : devices)
    if (std::count(devices.begin(), devices.end(), device) > 1)
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device, " is given twice; a replica needs a device of its own");
  return devices;
}

}  // namespace

MirroredStrategy::MirroredStrategy(std::vector<std::string> devices, const MirroredOptions& options)
    : shards_(std::make_shared<Shards>(checked(std::move(devices)))), options_(options) {
  if (!options_.reduce_to.empty()) options_.reduce_to = checked({options_.reduce_to})[0];
}

std::string MirroredStrategy::home() const {
  if (devices().size() == 1) return devices()[0];
  return options_.reduce_to.empty() ? "/CPU:0" : options_.reduce_to;
}

std::vector<std::string> MirroredStrategy::homes(std::span<const std::size_t> bytes) const {
  if (!options_.sharded || devices().size() == 1) return {home()};
  return spread(bytes, devices());
}

bool MirroredStrategy::adapts() const { return devices().size() > 1 && !shards_->fixed() && !config::is_op_determinism_enabled(); }

std::string MirroredStrategy::leave(ErrorCode code, std::string_view message) const {
  const bool by_device = code == ErrorCode::device_lost || code == ErrorCode::device_failed;
  if (!by_device || options_.on_failure == MirroredOptions::OnFailure::stop || devices().size() == 1) return "";
  const auto found = std::ranges::find_if(devices(), [&](const std::string& device) { return names(message, device); });
  if (found == devices().end() || options_.sharded || *found == home()) return "";  // variables that lived there are lost
  const std::string gone = *found;
  shards_->leave(static_cast<std::size_t>(found - devices().begin()), "it failed");
  return text("MirroredStrategy: ", gone, " failed and has left the group; its rows go to ", join(devices()), " and the step is done again. ", message);
}

bool works_alone(std::string_view device) { return device.find("CPU") == std::string_view::npos; }

std::vector<Shard> MirroredStrategy::shards(std::int64_t rows) const { return shards_of(*this, shard_rows(rows)); }

PerReplica MirroredStrategy::experimental_distribute_values_from_function(const std::function<Tensors(const ReplicaContext&)>& make) const {
  PerReplica out;
  for (int i = 0; i < num_replicas_in_sync(); ++i) out.push_back(make({.replica = i}));
  return out;
}

MirroredStrategy::Scope::Scope(const MirroredStrategy& strategy) {
  if (current_strategy) fail(ErrorCode::invalid_argument, "MirroredStrategy: scopes do not nest; end the outer one first");
  current_strategy = &strategy;
}
MirroredStrategy::Scope::~Scope() { current_strategy = nullptr; }
const MirroredStrategy* MirroredStrategy::current() { return current_strategy; }

}  // namespace tandem
