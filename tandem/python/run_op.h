// Runs ops for Python: without the interpreter's lock when it is worth it.
#pragma once
#include <utility>

#include "tandem/exec/long_work.h"
#include "tandem/op/dispatcher.h"
#include "tandem/python/errors.h"

namespace tandem::python {

/// The interpreter's lock, for the dispatcher to give up while an op takes long.
class InterpretersLock final : public HeldLock {
 public:
  InterpretersLock() : outer_(std::exchange(current(), this)) {}
  ~InterpretersLock() { current() = outer_; }
  InterpretersLock(const InterpretersLock&) = delete;
  InterpretersLock& operator=(const InterpretersLock&) = delete;

  void give_up() override { state_ = give_lock_up(); }
  void take_back() override { take_lock_back(state_); }

 private:
  HeldLock* const outer_;
  PyThreadState* state_ = nullptr;
};

inline void run_op(OpCall& call) {
  const InterpretersLock lock;
  DispatchStack::top().run(call);
}

}  // namespace tandem::python
