#include "tandem/core/device_copy.h"

#include <algorithm>

#include "tandem/base/error.h"
#include "tandem/core/fallible_space.h"
#include "tandem/core/link.h"
#include "tandem/core/spill.h"
#include "tandem/core/tensor.h"
#include "tandem/core/transfer_count.h"

namespace tandem {
namespace {

void unlink(DeviceCopy& copy) {
  MemorySpace::Residents& list = copy.memory.space()->residents();
  (copy.older ? copy.older->newer : list.oldest) = copy.newer;
  (copy.newer ? copy.newer->older : list.newest) = copy.older;
  copy.older = copy.newer = nullptr;
}

void append(DeviceCopy& copy) {
  MemorySpace::Residents& list = copy.memory.space()->residents();
  copy.older = list.newest;
  (list.newest ? list.newest->newer : list.oldest) = &copy;
  list.newest = &copy;
}

bool ended(const Event& event) { return !event || event->done(); }

/// Of a thread: does it hold the lock, and what has to wait until it does not. Without a destructor: tensors with
/// static lifetime come after it.
struct UnderLock {
  using Tasks = std::vector<std::function<void()>>;
  bool holds = false;
  Tasks* tasks = nullptr;
};
thread_local UnderLock under_lock;

}  // namespace

void ResidencyMutex::lock() {
  mutex_.lock();
  under_lock.holds = true;
}

void ResidencyMutex::unlock() {
  under_lock.holds = false;
  const std::unique_ptr<UnderLock::Tasks> tasks(std::exchange(under_lock.tasks, nullptr));
  mutex_.unlock();
  if (!tasks) return;
  for (const auto& task : *tasks) task();
}

void ResidencyMutex::when_unlocked(std::function<void()> task) {
  if (!under_lock.holds) return task();
  if (!under_lock.tasks) under_lock.tasks = new UnderLock::Tasks;
  under_lock.tasks->push_back(std::move(task));
}

ResidencyMutex& Residency::mutex() {
  static ResidencyMutex& mutex = *new ResidencyMutex;  // tensors with static lifetime use it after main has ended
  return mutex;
}

DeviceCopy* Residency::find(Storage& storage, const MemorySpace& space) {
  Storage::Elsewhere* elsewhere = storage.elsewhere_.load(std::memory_order_acquire);
  if (!elsewhere) return nullptr;
  for (DeviceCopy& copy : elsewhere->copies)
    if (copy.memory.space() == &space) return &copy;
  return nullptr;
}

void Residency::touch(DeviceCopy& copy) {
  if (!copy.newer) return;
  unlink(copy);
  append(copy);
}

DeviceCopy& Residency::add(Storage& storage, MemorySpace& space, Purpose purpose) {
  if (SharedSpace* shared = SharedSpace::of(space)) return add_shared(storage, *shared);
  const std::size_t bytes = storage.bytes();
  Allocation memory(space, allocate(space, bytes, purpose), bytes);
  auto& copies = storage.elsewhere().copies;
  copies.push_front({&storage, std::move(memory)});
  append(copies.front());
  return copies.front();
}

DeviceCopy& Residency::add_shared(Storage& storage, SharedSpace& space) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  Allocation fresh;
  if (!storage.host_.address()) fresh = Allocation(host_memory(), storage.bytes());
  void* const host = fresh.address() ? fresh.address() : storage.host_.address();
  Allocation memory(space, share(space, host, storage.bytes()), storage.bytes());
  elsewhere.copies.push_front({&storage, std::move(memory)});
  DeviceCopy& copy = elsewhere.copies.front();
  append(copy);
  if (fresh.address()) {
    storage.host_ = std::move(fresh);
    elsewhere.host_ready = space.written(copy.memory.address());
    elsewhere.host_from = &space;
  }
  return copy;
}

Ref<Storage> Residency::promised(MemorySpace& host, std::size_t bytes, Event written) {
  Ref<Storage> made(new Storage(host, bytes));
  made->readable_.store(nullptr, std::memory_order_relaxed);
  made->elsewhere().host_ready = std::move(written);
  return made;
}

void Residency::await_busy(Storage& storage, Lock& lock) {
  const std::vector<Event> busy = std::exchange(storage.elsewhere().host_busy, {});
  lock.unlock();
  for (const Event& event : busy) wait(event);
}

void Residency::remove(Storage& storage, DeviceCopy& copy) {
  TANDEM_CHECK(copy.pins == 0, "a copy is given up that ", copy.pins, " operands still need");
  if (SharedSpace* space = SharedSpace::of(*copy.memory.space()))
    if (Event busy = space->last_use(copy.memory.address())) storage.elsewhere().host_busy.push_back(std::move(busy));
  unlink(copy);
  storage.elsewhere().copies.remove_if([&](const DeviceCopy& other) { return &other == &copy; });
}

DeviceCopy& Residency::fetch(Storage& storage, MemorySpace& space, Lock& lock) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  for (;;) {
    if (DeviceCopy* copy = find(storage, space)) return touch(*copy), *copy;
    if (!storage.host_.address()) start_download(storage, elsewhere.copies.front());
    // A copy that the same device is making stands in its queue before the one back; any other has to be waited for.
    if (!elsewhere.host_ready || (elsewhere.host_from == &space && !SharedSpace::of(space))) break;
    const Event event = elsewhere.host_ready;
    lock.unlock();
    wait_for_host(storage, event);
    await_links();
    lock.lock();
    host_arrived(storage, event);
  }
  DeviceCopy& copy = add(storage, space, Purpose::copy);
  if (SharedSpace::of(space)) return copy;
  std::erase_if(elsewhere.host_busy, ended);
  try {
    Event busy = space.copy_from_host(copy.memory.address(), storage.host_.address(), storage.bytes(),
                                      static_cast<bool>(elsewhere.host_ready));
    if (busy) elsewhere.host_busy.push_back(std::move(busy));
  } catch (...) {
    remove(storage, copy);
    throw;
  }
  count_transfer(Transfer::to_device, storage.bytes());
  cross_link(*storage.host_.space(), space, storage.bytes());
  return copy;
}

void Residency::start_download(Storage& storage, DeviceCopy& from, Allocation host) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  MemorySpace& space = *from.memory.space();
  if (!host.address()) host = Allocation(host_memory(), storage.bytes());
  elsewhere.host_ready = space.copy_to_host(host.address(), from.memory.address(), storage.bytes());
  elsewhere.host_from = &space;
  storage.host_ = std::move(host);
  count_transfer(Transfer::to_host, storage.bytes());
  cross_link(space, host_memory(), storage.bytes());
}

void Residency::host_arrived(Storage& storage, const Event& event) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  if (elsewhere.host_ready != event || !storage.host_.address()) return;  // written anew in the meantime
  elsewhere.host_ready = {};
  storage.readable_.store(storage.host_.address(), std::memory_order_release);
}

void Residency::wait_for_host(Storage& storage, const Event& event) {
  try {
    wait(event);
  } catch (const Error&) {
    {
      std::lock_guard lock(mutex());
      Storage::Elsewhere& elsewhere = storage.elsewhere();
      const bool shared = elsewhere.host_from && SharedSpace::of(*elsewhere.host_from);
      if (elsewhere.host_ready == event && !elsewhere.copies.empty() && !shared) drop_host(storage);
    }
    loss_was_told();
    throw;
  }
}

bool Residency::is_whole(Storage& storage) {
  if (storage.readable_.load(std::memory_order_acquire) || !storage.elsewhere_.load(std::memory_order_acquire))
    return true;
  Lock lock(mutex());
  for (const DeviceCopy& copy : storage.elsewhere().copies) {
    const auto space = dynamic_cast<FallibleSpace*>(copy.memory.space());
    if (!space || space->is_whole(copy.memory.address())) return true;
  }
  const Event arrives = storage.elsewhere().host_ready;
  const bool there = storage.host_.address() != nullptr;
  lock.unlock();
  try {
    wait(arrives);
  } catch (const Error&) {
    return false;
  }
  return there;
}

void Residency::keep_only(Storage& storage, DeviceCopy& copy) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  for (auto at = elsewhere.copies.begin(); at != elsewhere.copies.end();) {
    DeviceCopy& other = *at++;
    if (&other != &copy) remove(storage, other);
  }
  SharedSpace* space = SharedSpace::of(*copy.memory.space());
  if (!space) {
    if (storage.host_.address()) drop_host(storage);
    return;
  }
  storage.readable_.store(nullptr, std::memory_order_release);
  elsewhere.host_ready = space->written(copy.memory.address());
  elsewhere.host_from = space;
}

}  // namespace tandem
