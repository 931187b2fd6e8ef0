// Host memory that copies to the device start from, so that whoever asked for the copy may go on at once: a ring.
#pragma once
#include <deque>

#include "tandem/backend/opencl/queue.h"

namespace tandem::opencl {

/// Guarded by the lock of the context it belongs to.
class Staging {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  /// Longer copies start where the bytes are: to copy them twice takes longer than it spares.
  static constexpr std::size_t kLongest = kBytes / 32;

  /// The ring is mapped host memory, which devices reach without another copy.
  Staging(cl_context context, Queue& queue);

  /// Where to put `bytes`; null while earlier copies fill the ring.
  void* take(std::size_t bytes);
  /// The command that reads what was taken last.
  void taken_by(std::uint64_t command) { parts_.back().command = command; }

 private:
  struct Part {
    std::size_t begin, end;
    std::uint64_t command = 0;
  };
  Queue& queue_;
  MemoryHandle memory_;
  char* address_ = nullptr;
  std::deque<Part> parts_;  // in use, the oldest in front
};

}  // namespace tandem::opencl
