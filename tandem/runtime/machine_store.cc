#include "tandem/runtime/machine_store.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tandem/base/error.h"
#include "tandem/base/log.h"
#include "tandem/base/text.h"

namespace tandem {
namespace {

constexpr std::int64_t kAgainSeconds = 60;

/// A device or a link.
template <class Mover>
void take_better_rates(Mover& mover, const Mover& other) {
  mover.gb_per_s = std::max(mover.gb_per_s, other.gb_per_s);
  if (other.cache.gb_per_s > mover.cache.gb_per_s) mover.cache = other.cache;
}

void take_better(MachineDevice& device, const MachineDevice& other) {
  for (const auto& [dtype, gflops] : other.peak_gflops)
    device.peak_gflops[dtype] = std::max(device.peak_gflops[dtype], gflops);
  take_better_rates(device, other);
  device.launch_us = std::min(device.launch_us, other.launch_us);
  device.step_us = std::min(device.step_us, other.step_us);
}

}  // namespace

std::shared_ptr<const Machine> stored_machine(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return nullptr;
  try {
    return std::make_shared<const Machine>(read_machine(file.string()));
  } catch (const Error& error) {
    log(LogLevel::warning, text("the stored machine description is measured again: ", error.message()));
    return nullptr;
  }
}

void store_machine(const Machine& machine, const std::filesystem::path& file) {
  try {
    std::filesystem::create_directories(file.parent_path());
    const std::filesystem::path whole = text(file.string(), ".", getpid());  // another program may be reading
    write_machine(machine, whole.string());
    std::filesystem::rename(whole, file);
  } catch (const std::exception& error) {
    log(LogLevel::info, text("the machine description was not stored: ", error.what()));
  }
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool due_again(const Machine& machine, std::int64_t unix_s) {
  // A clock that was set back does not put it off for ever.
  return machine.doubt && (unix_s >= machine.doubt->unix_s + kAgainSeconds || unix_s < machine.doubt->unix_s);
}

Machine better_machine(const Machine& stored, Machine measured) {
  if (!measured.doubt) return measured;
  if (!stored.doubt) return stored;
  for (MachineDevice& device : measured.devices)
    if (const auto before = stored.find(device.name))
      take_better(device, stored.devices[static_cast<std::size_t>(*before)]);
  for (MachineLink& link : measured.links)
    if (const MachineLink* before = stored.link(link.from, link.to)) {
      link.latency_us = std::min(link.latency_us, before->latency_us);
      take_better_rates(link, *before);
    }
  if (measured.same_figures(stored)) measured.measured = stored.measured;
  return measured;
}

}  // namespace tandem
