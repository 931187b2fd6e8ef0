// Who wants to know what ops by themselves take: asked now and then, so that other runs pay for a counter only.
#pragma once
#include "tandem/exec/prepared_call.h"

namespace tandem {

class EagerTimer {
 public:
  virtual ~EagerTimer() = default;
  /// An op ran on the host and took so long.
  virtual void host_ran(const PreparedCall& call, double us) = 0;
  /// Another device is about to be given an op. True: its clock runs, and ended() must follow.
  virtual bool start(const PreparedCall& call) = 0;
  /// The op is in the device's queue; `given` is false when that failed.
  virtual void ended(const PreparedCall& call, bool given) = 0;
};

/// Counts down to the next run of a thread that is looked at. The distances vary, so that a loop of ops does not show
/// the same one every time.
class SampleClock {
 public:
  explicit SampleClock(unsigned mean) : mean_(mean), left_(mean) {}
  bool due() {
    if (--left_ > 0) return false;
    state_ = state_ * 1664525u + 1013904223u;
    left_ = mean_ / 2 + 1 + (state_ >> 16) % mean_;
    return true;
  }

 private:
  unsigned mean_, left_, state_ = 1;
};

}  // namespace tandem
