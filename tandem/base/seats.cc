#include "tandem/base/seats.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "tandem/base/core_roles.h"
#include "tandem/base/event_sink.h"

namespace tandem {
namespace {

constexpr double kLeastNanoseconds = 1e6;  // between two changes: callers may take turns

/// On a core that was taken away meanwhile the thread stays where it is.
void pin(pthread_t thread, int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  pthread_setaffinity_np(thread, sizeof mask, &mask);
}

}  // namespace

std::vector<int> compute_cores() {
  std::vector<int> cores = core_roles().compute;
  if (!cores.empty()) return cores;
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) return process_cores();
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void Seats::assign(std::size_t threads, const std::vector<int>& cores) {
  cores_.clear();
  if (threads < 2 || cores.size() != threads) return;
  cores_ = cores;
  if (const auto here = std::find(cores_.begin(), cores_.end(), sched_getcpu()); here != cores_.end())
    std::swap(*here, cores_.front());
}

void Seats::sit(std::size_t worker) {
  std::lock_guard lock(mutex_);
  if (!cores_.empty()) pin(pthread_self(), cores_[worker]);
}

void Seats::make_room(std::vector<std::thread>& workers) {
  if (cores_.empty()) return;
  const int here = sched_getcpu();
  if (here == cores_.front() || static_cast<double>(ticks() - changed_) * nanoseconds_per_tick() < kLeastNanoseconds)
    return;
  changed_ = ticks();
  const auto seat = std::find(cores_.begin(), cores_.end(), here);
  if (seat == cores_.end()) return;  // the caller may use cores that the workers may not
  std::lock_guard lock(mutex_);
  std::swap(*seat, cores_.front());
  pin(workers[static_cast<std::size_t>(seat - cores_.begin()) - 1].native_handle(), *seat);
}

}  // namespace tandem
