#include "tandem/backend/opencl/forks.h"

#include <pthread.h>

#include <mutex>
#include <set>

namespace tandem::opencl {
namespace {

struct Told {
  std::mutex mutex;
  std::set<std::atomic<bool>*> devices;
};

/// Not destroyed: processes are forked at any time.
Told& told() {
  static auto& all = *new Told;
  return all;
}

std::atomic<bool> forked{false};

void before_fork() { told().mutex.lock(); }
void after_fork() { told().mutex.unlock(); }
void after_fork_in_child() {
  forked = true;
  for (std::atomic<bool>* lost : told().devices) *lost = true;
  told().mutex.unlock();
}

}  // namespace

void begin_to_use_drivers() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, after_fork_in_child); });
}

bool left_behind() { return forked.load(std::memory_order_relaxed); }

ToldOfForks::ToldOfForks(std::atomic<bool>& lost) : lost_(lost) {
  std::lock_guard lock(told().mutex);
  told().devices.insert(&lost);
}

ToldOfForks::~ToldOfForks() {
  std::lock_guard lock(told().mutex);
  told().devices.erase(&lost_);
}

}  // namespace tandem::opencl
