// What a storage knows about its copies on devices, and the rules by which copies are made, kept and given up.
// Internal to the core: others see Storage, WorkingSet and spill.h.
#pragma once
#include <forward_list>
#include <functional>
#include <mutex>

#include "tandem/core/shared_space.h"
#include "tandem/core/spec.h"
#include "tandem/core/storage.h"

namespace tandem {

struct DeviceCopy {
  Storage* owner;
  Allocation memory;
  int pins = 0;  // working sets that hold it
  DeviceCopy* older = nullptr;
  DeviceCopy* newer = nullptr;
};

struct Storage::Elsewhere {
  std::forward_list<DeviceCopy> copies;
  Event host_ready;                 // the copy to the host that is under way, or failed
  MemorySpace* host_from = nullptr;  // the space it comes from
  std::vector<Event> host_busy;     // copies from the host that are under way
  TensorSpec spec;
  const Decision* made_by = nullptr;
};

/// The lock of the one owner of copies. Memory that is lent may hold the last reference to another storage, which takes
/// this lock when it goes: what is given up under the lock goes after it.
class ResidencyMutex {
 public:
  void lock();
  void unlock();
  /// At once where this thread does not hold the lock.
  static void when_unlocked(std::function<void()> task);

 private:
  std::mutex mutex_;
};

/// The one owner of all copies on devices. Its lock is held while copies are looked up and enqueued, never while
/// anybody waits for one.
class Residency {
 public:
  using Lock = std::unique_lock<ResidencyMutex>;
  static ResidencyMutex& mutex();

  static DeviceCopy* find(Storage& storage, const MemorySpace& space);
  /// The valid copy in `space`, made if need be; may let go of the lock for a while.
  static DeviceCopy& fetch(Storage& storage, MemorySpace& space, Lock& lock);
  /// A copy in `space` without contents; of a space that shares the host's memory, the host's bytes themselves.
  static DeviceCopy& add(Storage& storage, MemorySpace& space, Purpose purpose);
  static void remove(Storage& storage, DeviceCopy& copy);
  static void touch(DeviceCopy& copy);
  /// Lets go of the lock and waits for copies from the host's bytes, and for work on them where they are shared: they
  /// are about to be written.
  static void await_busy(Storage& storage, Lock& lock);
  /// Starts a copy to the host, which has none; to `host` where that is given.
  static void start_download(Storage& storage, DeviceCopy& from, Allocation host = {});
  /// The copy to the host has ended: anybody may read it without waiting.
  static void host_arrived(Storage& storage, const Event& event);
  /// Waits for a copy to the host. One that failed is given up, so that the next reader may try again; what the device
  /// has lost fails again for every reader. Not under the lock.
  static void wait_for_host(Storage& storage, const Event& event);
  /// Can the bytes still be had? Waits for what writes them. False: the device that was to write them has failed.
  static bool is_whole(Storage& storage);
  /// Gives up the host's copy; its bytes are freed when nothing is under way any more.
  static void drop_host(Storage& storage);
  /// Gives up all copies but this one, which is about to be written.
  static void keep_only(Storage& storage, DeviceCopy& copy);

  /// A storage of the host whose bytes will be there when the event has happened: whoever makes it happen writes them
  /// before.
  static Ref<Storage> promised(MemorySpace& host, std::size_t bytes, Event written);
  static void* promised_bytes(Storage& storage) { return storage.host_.address(); }

  /// What messages call the storage, unless it has a name already.
  static void name(Storage& storage, const TensorSpec& spec, const Decision* made_by);
  /// "float32 [1024, 1024] from matmul"
  static std::string describe(const Storage& storage);

  /// Makes room by giving up the least recently used copy that nobody holds; false when there is none.
  static bool evict_one(MemorySpace& space);
  static bool write_back(Storage& storage, DeviceCopy& from);
  /// Like MemorySpace::try_allocate, evicting what is in the way; throws out_of_memory.
  static void* allocate(MemorySpace& space, std::size_t bytes, Purpose purpose);
  /// The same for SharedSpace::try_share.
  static void* share(SharedSpace& space, void* host, std::size_t bytes);

 private:
  template <class Try>
  static void* evict_until(MemorySpace& space, std::size_t bytes, Try attempt);
  static DeviceCopy& add_shared(Storage& storage, SharedSpace& space);
};

}  // namespace tandem
