// Processes that are forked off one that uses a driver: its threads stay behind, and nobody may wait for them.
#pragma once
#include <atomic>

namespace tandem::opencl {

/// To be called before a driver is asked for anything, so that forks are noticed from then on.
void begin_to_use_drivers();

/// Whether this process was forked from one that used a driver: who waits for a queue would wait for ever.
bool left_behind();

/// While it lives, a process that is forked off is told that the device is gone.
class ToldOfForks {
 public:
  explicit ToldOfForks(std::atomic<bool>& lost);
  ~ToldOfForks();
  ToldOfForks(const ToldOfForks&) = delete;
  ToldOfForks& operator=(const ToldOfForks&) = delete;

 private:
  std::atomic<bool>& lost_;
};

}  // namespace tandem::opencl
