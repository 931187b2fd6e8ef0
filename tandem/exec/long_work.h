// Work that takes so long that others should go on meanwhile: who holds a lock for them, as Python does, gives it up
// for the time.
#pragma once
#include <utility>

#include "tandem/op/op_def.h"

namespace tandem {

/// Whether work should take more than 20 µs, with what a core does at least: giving a lock up and taking it again is
/// then little beside it.
inline bool takes_long(const Cost& work) {
  constexpr double kMicroseconds = 20, kFlopsAMicrosecond = 20e3, kBytesAMicrosecond = 10e3;
  return work.flops > kMicroseconds * kFlopsAMicrosecond || work.bytes > kMicroseconds * kBytesAMicrosecond;
}

/// What a thread holds while it runs ops.
class HeldLock {
 public:
  virtual void give_up() = 0;
  virtual void take_back() = 0;

  /// Of the calling thread; null when it holds none.
  static HeldLock*& current();

 protected:
  ~HeldLock() = default;
};

/// Without the thread's lock, if it has one and `long_enough`.
class WithoutLock {
 public:
  explicit WithoutLock(bool long_enough) : lock_(long_enough ? std::exchange(HeldLock::current(), nullptr) : nullptr) {
    if (lock_) lock_->give_up();
  }
  ~WithoutLock() {
    if (!lock_) return;
    lock_->take_back();
    HeldLock::current() = lock_;
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  HeldLock* const lock_;
};

}  // namespace tandem
