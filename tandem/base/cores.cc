#include "tandem/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/environment.h"
#include "tandem/base/event_sink.h"

namespace tandem {
namespace {

int affinity_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

/// Whole cores of the cgroup's CPU quota; a large number when there is none.
int quota_cores() {
  constexpr int kUnlimited = 1 << 20;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) {
    if (quota == "max" || period <= 0) return kUnlimited;
    return std::max(1, static_cast<int>(std::ceil(std::strtod(quota.c_str(), nullptr) / period)));
  }
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double limit = 0;
  if (v1_quota >> limit && v1_period >> period && limit > 0 && period > 0)
    return std::max(1, static_cast<int>(std::ceil(limit / period)));
  return kUnlimited;
}

/// True on a thread that is inside a slice: what it starts runs inline.
thread_local bool inside_slice = false;

void pause() { __builtin_ia32_pause(); }

}  // namespace

int usable_cores() {
  int cores = std::max(1, std::min(affinity_cores(), quota_cores()));
  if (const auto wish = environment_number("TANDEM_CPU_THREADS", 0, 256); wish && *wish > 0) cores = static_cast<int>(*wish);
  return cores;
}

struct Cores::State {
  // A job is open while slices may be left. A worker enters through the gate, which counts those inside; one that
  // wakes too late finds it closed and goes back to sleep, so nobody waits for a thread that has nothing to do.
  static constexpr std::uint32_t kOpen = 1u << 31;
  std::atomic<std::uint32_t> gate{0};
  std::atomic<int> round{0};  // changes with each job; what workers wait for (an int: a plain futex)
  std::atomic<std::int64_t> next_slice{0};
  std::atomic<bool> stop{false};
  std::int64_t slices = 0;
  const SliceBody* body = nullptr;

  std::mutex error_mutex;
  std::exception_ptr error;

  std::mutex job_mutex;  // one job at a time; held while workers are changed
  std::vector<std::thread> workers;

  void take_slices() {
    inside_slice = true;
    for (;;) {
      const std::int64_t slice = next_slice.fetch_add(1, std::memory_order_relaxed);
      if (slice >= slices) break;
      try {
        (*body)(slice);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
    inside_slice = false;
  }

  bool enter() {
    std::uint32_t inside = gate.load(std::memory_order_acquire);
    while (inside & kOpen)
      if (gate.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void leave() {
    if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) gate.notify_one();  // the last one, and the gate is closed
  }

  /// Spins for about 50 microseconds, because the next op usually follows at once; then sleeps.
  void wait_for_round(int seen) {
    const std::uint64_t begin = ticks();
    while (round.load(std::memory_order_acquire) == seen) {
      pause();
      if (ticks() - begin > 125'000) round.wait(seen, std::memory_order_acquire);
    }
  }

  void work(int seen) {
    for (;;) {
      wait_for_round(seen);
      seen = round.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      if (!enter()) continue;
      take_slices();
      leave();
    }
  }

  void start(int threads) {
    stop = false;
    const int seen = round.load();
    for (int i = 1; i < threads; ++i) workers.emplace_back([this, seen] { work(seen); });
  }

  void wake() {
    round.fetch_add(1, std::memory_order_release);
    round.notify_all();
  }

  void end() {
    stop.store(true, std::memory_order_release);
    wake();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }

  void run(std::int64_t count, const SliceBody& job) {
    body = &job;
    slices = count;
    next_slice.store(0, std::memory_order_relaxed);
    gate.store(kOpen, std::memory_order_release);
    wake();
    take_slices();
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    const std::uint64_t begin = ticks();
    for (std::uint32_t inside; (inside = gate.load(std::memory_order_acquire)) != 0;) {
      pause();
      if (ticks() - begin > 200'000) gate.wait(inside, std::memory_order_acquire);
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

Cores::Cores(int threads) : state_(std::make_unique<State>()) { state_->start(std::max(1, threads)); }
Cores::~Cores() { state_->end(); }
int Cores::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void Cores::set_threads(int threads) {
  std::lock_guard lock(state_->job_mutex);
  state_->end();
  state_->start(std::max(1, threads));
}

void Cores::parallel(std::int64_t slices, SliceBody body) {
  if (slices <= 0) return;
  State& s = *state_;
  std::unique_lock lock(s.job_mutex, std::defer_lock);
  if (slices == 1 || inside_slice || !lock.try_lock() || s.workers.empty()) {
    for (std::int64_t slice = 0; slice < slices; ++slice) body(slice);
    return;
  }
  s.run(slices, body);
}

Cores& Cores::process() {
  // Not destroyed: ops may run while the process ends, and workers hold nothing that must be given back.
  static Cores& cores = *new Cores(usable_cores());
  return cores;
}

}  // namespace tandem
