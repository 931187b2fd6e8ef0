// The bytes of a tensor, with a copy in each memory space where they were used: the unit of coherence.
#pragma once
#include <cstddef>
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

/// One valid copy. `ready` is the last write, `busy` the last reads: overwriting and freeing wait for busy.
struct Copy {
  Allocation memory;
  Event ready;
  Event busy;
};

class Storage : public RefCounted {
 public:
  Storage(MemorySpace& space, std::size_t bytes) : first_{Allocation(space, bytes), {}, {}} {}
  /// Strings live on the host only.
  Storage(MemorySpace& host, std::vector<std::string> strings)
      : first_{Allocation(host, 0), {}, {}}, strings_(std::move(strings)) {}
  ~Storage() {
    if (first_.busy) first_.busy->wait();
  }

  std::size_t bytes() const { return first_.memory.bytes(); }
  MemorySpace& space() const { return *first_.memory.space(); }
  Copy& copy() { return first_; }

  /// The bytes, readable by the host; waits for the last write.
  const void* host() const {
    wait(first_.ready);
    return first_.memory.address();
  }
  void* address() const { return first_.memory.address(); }

  std::vector<std::string>& strings() { return strings_; }
  const std::vector<std::string>& strings() const { return strings_; }

 private:
  Copy first_;
  std::vector<std::string> strings_;
};

}  // namespace tandem
