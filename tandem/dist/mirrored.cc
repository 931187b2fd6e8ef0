#include "tandem/dist/mirrored.h"

#include <algorithm>
#include <deque>

#include "tandem/core/device.h"
#include "tandem/dist/even_shards.h"
#include "tandem/dist/forecast.h"
#include "tandem/runtime/config.h"

namespace tandem {
namespace {

thread_local std::deque<MirroredStrategy>
    scopes;  // of this thread, the inner one last; copies, so that a scope outlives the name of its strategy

std::vector<std::string> known_devices(std::string_view kind = "") {
  std::vector<std::string> out;
  for (const auto& device : config::list_logical_devices(kind))
    out.push_back(DeviceName::parse(device.name).short_name());
  return out;
}

std::vector<std::string> checked(std::vector<std::string> devices) {
  if (devices.empty()) devices = known_devices("GPU");
  if (devices.empty()) devices = known_devices("CPU");  // one, unless a program has asked for more
  const std::vector<std::string> known = known_devices();
  for (std::string& device : devices) {
    device = DeviceName::parse(device).short_name();
    if (std::find(known.begin(), known.end(), device) == known.end())
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device, " is not available; the devices are ",
           join(known));
  }
  for (const std::string& device : devices)
    if (std::count(devices.begin(), devices.end(), device) > 1)
      fail(ErrorCode::invalid_argument, "MirroredStrategy: ", device,
           " is given twice; a replica needs a device of its own");
  return devices;
}

}  // namespace

MirroredStrategy::MirroredStrategy(std::vector<std::string> devices, const MirroredOptions& options)
    : shards_(std::make_shared<Shards>(checked(std::move(devices)))),
      options_(options) {
  if (!options_.reduce_to.empty()) options_.reduce_to = checked({options_.reduce_to})[0];
  const bool may_leave =
      options_.on_failure == MirroredOptions::OnFailure::leave && !options_.sharded;  // or variables are lost with it
  replicas_ = std::make_shared<ReplicaDevices>(shards_, may_leave, options_.reduce_to);
  foresee_steps();
}

std::vector<std::string> MirroredStrategy::homes(std::span<const std::size_t> bytes) const {
  if (!options_.sharded || devices().size() == 1) return {home()};
  return spread(bytes, devices());
}

bool MirroredStrategy::adapts() const {
  return devices().size() > 1 && !shards_->fixed() && !config::is_op_determinism_enabled();
}

std::shared_ptr<DeviceGroup> MirroredStrategy::device_group() const {
  return replicas_->count() > 1 ? replicas_ : nullptr;
}

bool works_alone(std::string_view device) { return device.find("CPU") == std::string_view::npos; }

std::vector<Shard> MirroredStrategy::shards(std::int64_t rows) const {
  const Shards::State now = shards_->now();
  return shards_of(now.devices, shard_sizes(rows, now.speeds));
}

PerReplica MirroredStrategy::experimental_distribute_values_from_function(
    const std::function<Tensors(const ReplicaContext&)>& make) const {
  PerReplica out;
  for (int i = 0; i < num_replicas_in_sync(); ++i) out.push_back(make({.replica = i}));
  return out;
}

MirroredStrategy::Scope::Scope(const MirroredStrategy& strategy) {
  if (!scopes.empty() && scopes.back().division() != strategy.division())
    fail(ErrorCode::invalid_argument,
         "MirroredStrategy: scopes of different strategies do not nest; end the outer one first");
  scopes.push_back(strategy);
}
MirroredStrategy::Scope::~Scope() { scopes.pop_back(); }
const MirroredStrategy* MirroredStrategy::current() { return scopes.empty() ? nullptr : &scopes.back(); }

}  // namespace tandem
