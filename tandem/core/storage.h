// The bytes of a tensor, with a copy in each memory space where they were used: the unit of coherence.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/base/ref.h"
#include "tandem/core/device.h"

namespace tandem {

class TensorSpec;

/// Bytes owned in one memory space.
class Allocation {
 public:
  Allocation() = default;
  Allocation(MemorySpace& space, std::size_t bytes) : Allocation(space, space.allocate(bytes), bytes) {}
  /// Takes over what was allocated.
  Allocation(MemorySpace& space, void* address, std::size_t bytes) : space_(&space), address_(address), bytes_(bytes) {}
  Allocation(Allocation&& other) noexcept
      : space_(other.space_),
        address_(std::exchange(other.address_, nullptr)),
        bytes_(other.bytes_) {}
  Allocation& operator=(Allocation&& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Allocation() {
    if (address_) space_->free(address_, bytes_);
  }
  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  MemorySpace* space() const { return space_; }

 private:
  MemorySpace* space_ = nullptr;
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A copy is made where the bytes are read and none is valid. Any number of threads may read at once. Writing needs a
/// storage that nobody else holds, and leaves one valid copy. A device's copy may be evicted when its memory runs short
/// (tandem/core/spill.h), unless a WorkingSet holds it; the bytes are then on the host, or on their way.
class Storage : public RefCounted {
 public:
  Storage(MemorySpace& space, std::size_t bytes) : home_(&space), bytes_(bytes) {
    if (!space.is_host()) [[unlikely]] {
      make_home();
      return;
    }
    host_ = Allocation(space, bytes);
    readable_.store(host_.address(), std::memory_order_relaxed);
  }
  /// Strings live on the host only.
  Storage(MemorySpace& host, std::vector<std::string> strings) : Storage(host, 0) {
    strings_ = std::make_unique<std::vector<std::string>>(std::move(strings));
  }
  ~Storage() {
    if (elsewhere_.load(std::memory_order_acquire)) [[unlikely]]
      leave_devices();
  }

  std::size_t bytes() const { return bytes_; }
  /// Where the bytes were written, and belong, also while they are evicted.
  MemorySpace& space() const { return *home_; }

  /// The bytes in `space`, made there if no valid copy is; other copies stay valid. The host waits for its copy. On a
  /// device another thread may evict what no WorkingSet holds.
  const void* read(MemorySpace& space) {
    if (space.is_host()) [[likely]]
      if (const void* here = readable_.load(std::memory_order_acquire)) return here;
    return read_elsewhere(space);
  }
  /// The bytes, readable by the host; waits for the last write.
  const void* host() {
    const void* here = readable_.load(std::memory_order_acquire);
    return here ? here : read_host();
  }
  /// Where to write: in the home space; copies elsewhere are dropped.
  void* address() {
    if (elsewhere_.load(std::memory_order_acquire)) [[unlikely]]
      return only_copy();
    return host_.address();
  }

  /// Is a valid copy in `space`, or on its way there?
  bool is_in(const MemorySpace& space);
  /// Microseconds that ops lost because the bytes are here and not on a faster device: what eager placement weighs
  /// against the price of moving them.
  float lost_by_staying() const { return lost_by_staying_.load(std::memory_order_relaxed); }
  void set_lost_by_staying(float microseconds) { lost_by_staying_.store(microseconds, std::memory_order_relaxed); }

  const std::vector<std::string>& strings() const { return *strings_; }
  /// For messages about a device's memory: what lies here and which op made it.
  void describe(const TensorSpec& spec, const Decision* made_by);

 private:
  friend class WorkingSet;
  friend class Residency;
  struct Elsewhere;  // all about copies on devices: tandem/core/device_copy.h

  void make_home();
  void leave_devices();
  const void* read_elsewhere(MemorySpace& space);
  const void* read_host();
  void* only_copy();
  Elsewhere& elsewhere();

  MemorySpace* const home_;
  const std::size_t bytes_;
  Allocation host_;  // no address: the host has no copy
  std::atomic<const void*> readable_{nullptr};  // the host's copy, once it can be read without waiting
  std::atomic<Elsewhere*> elsewhere_{nullptr};  // null while no device has had a copy
  std::atomic<float> lost_by_staying_{0};
  std::unique_ptr<std::vector<std::string>> strings_;
};

/// Bytes that crossed between the host and devices since the process began.
struct TransferStats {
  struct Direction {
    std::uint64_t bytes = 0, count = 0;
    double seconds = 0;  // of copies that have ended
  };
  Direction to_device, to_host;
};
TransferStats transfer_stats();

enum class Transfer { none, to_device, to_host };
/// For devices, which know when a copy began and ended.
void add_transfer_time(Transfer direction, std::uint64_t nanoseconds);

}  // namespace tandem
