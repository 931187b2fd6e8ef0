#include "tandem/core/storage.h"

#include "tandem/core/device_copy.h"
#include "tandem/core/link.h"
#include "tandem/core/tensor.h"

namespace tandem {

Storage::Elsewhere& Storage::elsewhere() {
  Elsewhere* here = elsewhere_.load(std::memory_order_acquire);
  if (here) return *here;
  here = new Elsewhere;
  elsewhere_.store(here, std::memory_order_release);
  return *here;
}

void Storage::make_home() {
  std::lock_guard lock(Residency::mutex());
  try {
    Residency::add(*this, *home_, Purpose::compute);
  } catch (...) {
    delete elsewhere_.load();
    throw;
  }
}

void Storage::describe(const TensorSpec& spec, const Decision* made_by) {
  std::lock_guard lock(Residency::mutex());
  elsewhere().spec = spec;
  elsewhere().made_by = made_by;
}

bool Storage::is_in(const MemorySpace& space) {
  if (!elsewhere_.load(std::memory_order_acquire)) return &space == home_;
  std::lock_guard lock(Residency::mutex());
  return space.is_host() ? host_.address() != nullptr : Residency::find(*this, space) != nullptr;
}

void Storage::leave_devices() {
  std::lock_guard lock(Residency::mutex());
  Elsewhere* here = &elsewhere();
  while (!here->copies.empty()) Residency::remove(*this, here->copies.front());
  if (host_.address()) Residency::drop_host(*this);
  delete here;
}

const void* Storage::read_elsewhere(MemorySpace& space) {
  if (space.is_host()) return read_host();
  Residency::Lock lock(Residency::mutex());
  return Residency::fetch(*this, space, lock).memory.address();
}

const void* Storage::read_host() {
  Residency::Lock lock(Residency::mutex());
  if (!host_.address()) Residency::start_download(*this, elsewhere().copies.front());
  const Event event = elsewhere().host_ready;
  lock.unlock();
  Residency::wait_for_host(*this, event);
  await_links();
  lock.lock();
  Residency::host_arrived(*this, event);
  return host_.address();
}

void* Storage::only_copy() {
  Residency::Lock lock(Residency::mutex());
  if (!home_->is_host()) {
    DeviceCopy* copy = Residency::find(*this, *home_);
    if (!copy) copy = &Residency::add(*this, *home_, Purpose::compute);
    Residency::keep_only(*this, *copy);
    void* const address = copy->memory.address();
    if (SharedSpace::of(*home_)) Residency::await_busy(*this, lock);
    return address;
  }
  while (!elsewhere().copies.empty()) Residency::remove(*this, elsewhere().copies.front());
  Residency::await_busy(*this, lock);
  return host_.address();
}

}  // namespace tandem
