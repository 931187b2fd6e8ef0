#include "tandem/core/storage.h"

#include <atomic>
#include <chrono>

#include "tandem/core/tensor.h"

namespace tandem {
namespace {

/// Counted where copies are made, and nowhere else do bytes move.
struct Counter {
  std::atomic<std::uint64_t> bytes{0}, count{0}, nanoseconds{0};
  TransferStats::Direction read() const {
    return {bytes.load(), count.load(), static_cast<double>(nanoseconds.load()) * 1e-9};
  }
};
Counter to_device, to_host;

template <class F>
Event counted(Counter& counter, std::size_t bytes, F copy) {
  const auto begin = std::chrono::steady_clock::now();
  Event event = copy();
  counter.bytes += bytes;
  ++counter.count;
  counter.nanoseconds += static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return event;
}

}  // namespace

TransferStats transfer_stats() { return {to_device.read(), to_host.read()}; }

Storage::~Storage() {
  wait(home_.busy);
  for (const auto& copy : others_) wait(copy->busy);
}

const void* Storage::host() { return read(host_memory()); }

Copy* Storage::find(const MemorySpace& space) {
  for (const auto& copy : others_)
    if (copy->memory.space() == &space) return copy.get();
  return nullptr;
}

const void* Storage::read_elsewhere(MemorySpace& space) {
  MemorySpace& from = *home_.memory.space();
  // Between two devices the bytes go by way of the host.
  const void* source = from.is_host() || space.is_host() ? nullptr : host();
  std::lock_guard lock(mutex_);
  if (Copy* copy = find(space)) {
    wait(copy->ready);
    return copy->memory.address();
  }
  auto copy = std::make_unique<Copy>(Copy{Allocation(space, bytes()), {}, {}});
  void* target = copy->memory.address();
  if (space.is_host()) {
    copy->ready = counted(to_host, bytes(), [&] { return from.copy_to_host(target, home_.memory.address(), bytes()); });
  } else {
    if (!source) source = home_.memory.address();
    copy->ready = counted(to_device, bytes(), [&] { return space.copy_from_host(target, source, bytes()); });
  }
  wait(copy->ready);
  others_.push_back(std::move(copy));
  return target;
}

void Storage::drop_others() {
  std::lock_guard lock(mutex_);
  for (const auto& copy : others_) wait(copy->busy);
  others_.clear();
}

}  // namespace tandem
