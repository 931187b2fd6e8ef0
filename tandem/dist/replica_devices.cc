#include "tandem/dist/replica_devices.h"

#include <algorithm>

#include "tandem/dist/tell.h"
#include "tandem/exec/device_error.h"
#include "tandem/exec/eager.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// Does the text name this device, and not only one whose number begins with its?
bool names_it(std::string_view message, std::string_view device) {
  for (std::size_t at = message.find(device); at != std::string_view::npos; at = message.find(device, at + 1)) {
    const std::size_t after = at + device.size();
    if (after == message.size() || message[after] < '0' || message[after] > '9') return true;
  }
  return false;
}

/// The GPU that a message names; empty: none.
std::string gpu_in(std::string_view message) {
  constexpr std::string_view kGpu = "/GPU:";
  const std::size_t begin = message.find(kGpu);
  if (begin == std::string_view::npos) return "";
  return std::string(message.substr(begin, message.find_first_not_of("0123456789", begin + kGpu.size()) - begin));
}

/// Was there anything to tell?
bool told(const std::string& line) {
  if (!line.empty()) tell(line);
  return !line.empty();
}

}  // namespace

ReplicaDevices::ReplicaDevices(std::shared_ptr<Shards> shards, bool may_leave, std::string reduce_to)
    : shards_(std::move(shards)),
      may_leave_(may_leave),
      reduce_to_(std::move(reduce_to)),
      own_(shards_->devices()),
      names_(own_) {}

std::vector<std::string> ReplicaDevices::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::string ReplicaDevices::home() const {
  const std::vector<std::string> left = shards_->devices();
  if (left.size() == 1) return left[0];
  return reduce_to_.empty() ? "/CPU:0" : reduce_to_;
}

std::string ReplicaDevices::take_out(const Error& error, std::string_view now) {
  const std::lock_guard lock(mutex_);
  const std::string_view message = error.message();
  const std::vector<std::string> before = shards_->devices();
  if (!is_by_device(error) || !may_leave_ || before.size() == 1) return "";
  if (const std::string other = gpu_in(message); !other.empty() && std::ranges::find(own_, other) == own_.end())
    return without_help_of(other, message, now);
  const auto found = std::ranges::find_if(before, [&](const std::string& device) { return names_it(message, device); });
  if (found == before.end() || *found == home()) return "";  // variables that lived there are lost
  const std::string gone = *found;
  shards_->leave(static_cast<std::size_t>(found - before.begin()), "it failed");
  const std::vector<std::string> left = shards_->devices();
  for (std::string& name : names_)
    if (name == gone)
      name = *std::ranges::min_element(left, {},
                                       [&](const std::string& device) { return std::ranges::count(names_, device); });
  departures_.fetch_add(1, std::memory_order_release);
  return text("MirroredStrategy: ", gone, " failed and has left the group; its rows go to ", join(left), now, ". ",
              message);
}

std::string ReplicaDevices::without_help_of(const std::string& other, std::string_view message, std::string_view now) {
  if (other == reduce_to_ || !failed_helpers_.insert(other).second) return "";
  departures_.fetch_add(1, std::memory_order_release);
  return text("MirroredStrategy: ", other, ", which is not one of its devices, failed: what asks for no device is ",
              "computed on the host from now on", now, ". ", message);
}

bool ReplicaDevices::leave(const Error& error) { return told(take_out(error, " and the step is done again")); }

void ReplicaDevices::part_from_lost() {
  EagerDispatcher& eager = default_runtime().dispatcher();
  for (const std::string& name : shards_->devices()) {
    const DeviceName device = DeviceName::parse(name);
    if (!eager.devices().find(device) && eager.devices().why_missing(device) == ReasonCode::device_lost)
      told(take_out(Error(ErrorCode::device_lost, name + " was lost before this step"), ""));
  }
}

DeviceName ReplicaDevices::stand_in(const DeviceName& device) const {
  const auto found = std::ranges::find(own_, device.short_name());
  if (found == own_.end()) return device;
  const std::lock_guard lock(mutex_);
  return DeviceName::parse(names_[static_cast<std::size_t>(found - own_.begin())]);
}

void ReplicaDevices::set_teller(Teller teller) { tandem::set_teller(teller); }

}  // namespace tandem
