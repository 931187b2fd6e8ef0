// Memory that a device shares with the host, as an integrated GPU does: it works on the host's own bytes, nothing is
// copied.
#pragma once
#include <atomic>

#include "tandem/core/device.h"

namespace tandem {

/// An address here stands for bytes of the host. Blocks of its own (allocate) are for what only the device ever sees.
class SharedSpace : public MemorySpace {
 public:
  SharedSpace() { ++count_; }
  ~SharedSpace() override { --count_; }

  /// `space` if it shares the host's memory, else null.
  static SharedSpace* of(MemorySpace& space) {
    return count_.load(std::memory_order_relaxed) ? dynamic_cast<SharedSpace*>(&space) : nullptr;
  }

  /// An address for bytes of the host, freed as any other; null when the limit does not allow it.
  virtual void* try_share(void* host, std::size_t bytes) = 0;
  /// When the host may read what the device writes to the bytes, also by work it is given later.
  virtual Event written(void* shared) = 0;
  /// When the work given so far is done with the bytes.
  virtual Event last_use(void* shared) = 0;

 private:
  static inline std::atomic<int> count_{0};  // so that programs without such a device pay nothing
};

}  // namespace tandem
