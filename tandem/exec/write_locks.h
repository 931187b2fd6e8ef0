// The cells a plan replaces, locked from before their old values are read until the new ones are in place.
#pragma once
#include <span>

#include "tandem/exec/plan.h"

namespace tandem {

/// What the cell holds; whoever runs a plan has waited for runs that replace it, and waits for none while it holds
/// locks.
inline Tensor lying_in(const Cell& cell) {
  const std::lock_guard lock(cell.mutex);
  return cell.value;
}

/// Plans lock in the order of addresses, so two of them cannot wait for each other.
class WriteLocks {
 public:
  explicit WriteLocks(std::span<const Plan::Write> writes) : writes_(writes) {
    ++held_;
    for (const Plan::Write& write : writes_) write.cell->writing.lock();
  }
  /// From now on nobody may read the cells either.
  void close() {
    for (const Plan::Write& write : writes_) write.cell->mutex.lock();
    closed_ = true;
  }
  ~WriteLocks() {
    --held_;
    for (const Plan::Write& write : writes_) {
      if (closed_) write.cell->mutex.unlock();
      write.cell->writing.unlock();
    }
  }
  WriteLocks(const WriteLocks&) = delete;
  /// Does this thread hold any?
  static bool held() { return held_ > 0; }

 private:
  std::span<const Plan::Write> writes_;
  bool closed_ = false;
  static inline thread_local int held_ = 0;
};

}  // namespace tandem
