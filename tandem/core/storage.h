// The bytes of a tensor, with a copy in each memory space where they were used: the unit of coherence.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/base/ref.h"
#include "tandem/core/device.h"

namespace tandem {

/// Bytes owned in one memory space.
class Allocation {
 public:
  Allocation() = default;
  Allocation(MemorySpace& space, std::size_t bytes)
      : space_(&space), address_(space.allocate(bytes)), bytes_(bytes) {}
  Allocation(Allocation&& other) noexcept
      : space_(other.space_), address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
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

/// One copy. `ready` is the last write, `busy` the last reads: overwriting and freeing wait for busy.
struct Copy {
  Allocation memory;
  Event ready;
  Event busy;
};

/// The copy where the bytes were first written is at hand; further ones are made where they are read. Any number of
/// threads may read at once. Writing needs a storage that nobody else holds, and leaves one valid copy.
class Storage : public RefCounted {
 public:
  Storage(MemorySpace& space, std::size_t bytes) : home_{Allocation(space, bytes), {}, {}} {}
  /// Strings live on the host only.
  Storage(MemorySpace& host, std::vector<std::string> strings)
      : home_{Allocation(host, 0), {}, {}}, strings_(std::move(strings)) {}
  ~Storage();

  std::size_t bytes() const { return home_.memory.bytes(); }
  /// Where the bytes were written last.
  MemorySpace& space() const { return *home_.memory.space(); }

  /// The bytes in `space`, made there if no valid copy is; both copies stay valid.
  const void* read(MemorySpace& space) {
    if (home_.memory.space() == &space) [[likely]] {
      wait(home_.ready);
      return home_.memory.address();
    }
    return read_elsewhere(space);
  }
  /// The bytes, readable by the host; waits for the last write.
  const void* host();
  /// Where to write: in the home space; copies elsewhere are dropped.
  void* address() {
    if (!others_.empty()) [[unlikely]] drop_others();
    return home_.memory.address();
  }

  const std::vector<std::string>& strings() const { return strings_; }

 private:
  const void* read_elsewhere(MemorySpace& space);
  Copy* find(const MemorySpace& space);
  void drop_others();

  Copy home_;
  std::mutex mutex_;  // guards others_
  std::vector<std::unique_ptr<Copy>> others_;
  std::vector<std::string> strings_;
};

/// Bytes that crossed between the host and devices since the process began.
struct TransferStats {
  struct Direction {
    std::uint64_t bytes = 0, count = 0;
    double seconds = 0;
  };
  Direction to_device, to_host;
};
TransferStats transfer_stats();

}  // namespace tandem
