// The place where a variable's value lives: what handles, eager ops and compiled plans share.
#pragma once
#include <mutex>
#include <string>

#include "tandem/core/run_queue.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Readers hold `mutex` for a moment to take the value. Whoever replaces it holds `writing` from the time it reads the
/// old value until the new one is in place, so that no update is lost; `mutex` comes second. Nobody waits for a run
/// while holding either.
class Cell : public RefCounted {
 public:
  Cell(const Tensor& initial, bool trainable, std::string name);

  const TensorSpec& spec() const { return spec_; }
  /// What tapes know all readings of this cell by.
  ValueId id() const { return id_; }
  const std::string& name() const { return name_; }

  /// The value after all runs that were handed over before (tandem/core/run_queue.h).
  Tensor read() const {
    RunQueue::await_variable(this, false);
    std::lock_guard lock(mutex);
    return value;
  }
  /// `value` under this cell's identity; throws when dtype or shape differ. Symbolic tensors stay symbolic.
  Tensor own(const Tensor& value) const;

  mutable std::mutex mutex;  // guards `value`
  std::mutex writing;
  Tensor value;

 private:
  TensorSpec spec_;
  ValueId id_;
  std::string name_;
};

}  // namespace tandem
