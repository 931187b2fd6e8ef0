// Operands of ops on devices: made available there, and not evicted until the ops were given to the devices.
#pragma once
#include <array>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// What it holds must outlive it, or be released before. On the host nothing is evicted, and nothing needs to be held.
class WorkingSet {
 public:
  WorkingSet() = default;
  WorkingSet(const WorkingSet&) = delete;
  WorkingSet& operator=(const WorkingSet&) = delete;
  ~WorkingSet() { clear(); }

  /// The address of the bytes in the space, to be read. The tensor names them in messages about the space.
  const void* read(const Tensor& tensor, MemorySpace& space);
  const void* read(Storage& storage, MemorySpace& space);
  /// The address to write to; all other copies are given up.
  void* write(Storage& storage, MemorySpace& space);
  /// Starts a copy to the host, where the bytes will be read; into `whole`, `offset` bytes from its first, where that
  /// is given.
  static void start_to_host(Storage& storage, const Tensor& whole = {}, std::size_t offset = 0);
  /// Gives up copies on devices where the host has one too: something failed there, and the next use makes them anew.
  static void give_up_beside_host(Storage& storage);
  /// Lets go of one storage, of all.
  void release(const Storage& storage);
  void clear();

 private:
  void pin(DeviceCopy& copy);
  /// As release; the lock is held.
  void let_go(const Storage& storage);

  static constexpr std::size_t kInline = 12;
  std::array<DeviceCopy*, kInline> first_;
  std::size_t count_ = 0;
  std::vector<DeviceCopy*> more_;
};

}  // namespace tandem
