#include "tandem/base/cores.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/base/core_roles.h"
#include "tandem/base/core_share.h"
#include "tandem/base/environment.h"
#include "tandem/base/event_sink.h"
#include "tandem/base/seats.h"
#include "tandem/base/threads.h"

namespace tandem {
namespace {

constexpr int kNoQuota = 1 << 20;

/// True on a thread that is inside a slice: what it starts runs inline.
thread_local bool inside_slice = false;

/// The pool of a thread that has a share of the cores only; null: the process's.
thread_local Cores* shared_pool = nullptr;

/// Part `part` of `parts` of the cores; made when it is first asked for.
Cores* pool_of(int part, int parts) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<std::pair<int, int>, std::unique_ptr<Cores>>;
  std::lock_guard lock(mutex);
  auto& pool = pools[{part, parts}];
  if (!pool) pool = std::make_unique<Cores>([parts] { return std::max(1, Cores::process().threads() / parts); });
  return pool.get();
}

void pause() { __builtin_ia32_pause(); }

}  // namespace

std::optional<int> cores_of_quota(std::string_view cpu_max) {
  std::istringstream words{std::string(cpu_max)};
  double quota = 0, period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

int quota_cores(const CgroupPaths& paths) {
  const CgroupFolders folders = cgroup_folders("cpu", paths);
  int least = kNoQuota;
  std::string line, quota, period;
  for (const auto& folder : folders.version_2)
    if (std::ifstream file(folder / "cpu.max"); std::getline(file, line))
      least = std::min(least, cores_of_quota(line).value_or(kNoQuota));
  for (const auto& folder : folders.version_1) {
    std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");
    if (quota_file >> quota && period_file >> period)
      least = std::min(least, cores_of_quota(quota + " " + period).value_or(kNoQuota));
  }
  return least;
}

int usable_cores() {
  int cores = std::max(1, std::min(static_cast<int>(compute_cores().size()), quota_cores()));
  if (const auto wish = environment_number("TANDEM_CPU_THREADS", 0, kMostThreads); wish && *wish > 0)
    cores = static_cast<int>(*wish);
  return cores;
}

struct Cores::State {
  // A job is open while slices may be left. A worker enters through the gate, which counts those inside; one that
  // wakes too late finds it closed and goes back to sleep, so nobody waits for a thread that has nothing to do.
  static constexpr std::uint32_t kOpen = 1u << 31;
  std::atomic<std::uint32_t> gate{0};
  std::atomic<int> round{0};  // changes with each job; what workers wait for (an int: a plain futex)
  std::atomic<bool> stop{false};
  /// Slices that follow each other, first taken by one thread and, when it is late, by the others. Ops on arrays of one
  /// size are cut alike, so a part of them stays in the cache of one core.
  struct alignas(64) Part {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::vector<Part> parts = std::vector<Part>(1);  // one a thread, the caller's first
  std::atomic<std::size_t> parts_used{1};  // by this job: whose threads may come in
  const SliceBody* body = nullptr;

  std::mutex error_mutex;
  std::exception_ptr error;

  std::mutex job_mutex;  // one job at a time; held while workers are changed
  std::vector<std::thread> workers;
  Seats seats;
  std::atomic<int> threads{1};
  std::function<int()> usable;  // how many threads there should be; none: as many as were asked for
  std::uint64_t asked = 0;  // when `usable` was, in ticks

  void take_slices(Part& part) {
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      const std::int64_t slice = part.next.fetch_add(1, std::memory_order_relaxed);
      if (slice >= part.end) return;
      try {
        (*body)(slice);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }

  /// Those of the thread's own part first.
  void take_slices(std::size_t thread) {
    inside_slice = true;
    const std::size_t count = parts_used.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) take_slices(parts[(thread + i) % count]);
    inside_slice = false;
  }

  bool enter(std::size_t thread) {
    std::uint32_t inside = gate.load(std::memory_order_acquire);
    while ((inside & kOpen) && thread < parts_used.load(std::memory_order_relaxed))
      if (gate.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void leave() {
    if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) gate.notify_one();  // the last one, and the gate is closed
  }

  /// Spins for about 50 microseconds, because the next op usually follows at once; then sleeps. After the first few it
  /// lets others have the core who could run there: a driver's thread, say, that has just been given work.
  void wait_for_round(int seen) {
    const std::uint64_t begin = ticks();
    while (round.load(std::memory_order_acquire) == seen) {
      pause();
      const std::uint64_t waited = ticks() - begin;
      if (waited > 10'000) sched_yield();
      if (waited > 125'000) round.wait(seen, std::memory_order_acquire);
    }
  }

  void work(std::size_t thread, int seen) {
    seats.sit(thread);
    for (;;) {
      wait_for_round(seen);
      seen = round.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      if (!enter(thread)) continue;
      take_slices(thread);
      leave();
    }
  }

  void start(int count) {
    stop = false;
    threads = std::max(1, count);
    parts = std::vector<Part>(static_cast<std::size_t>(threads));
    seats.assign(parts.size(), compute_cores());
    const int seen = round.load();
    for (int i = 1; i < threads; ++i)
      workers.push_back(start_thread(ThreadRole::compute, "cpu" + std::to_string(i),
                                     [this, i, seen] { work(static_cast<std::size_t>(i), seen); }));
  }

  /// About once a second: a quota or an affinity mask may have changed.
  void follow_the_machine() {
    if (!usable || static_cast<double>(ticks() - asked) * nanoseconds_per_tick() < 1e9) return;
    asked = ticks();
    const int now = usable();
    if (now == threads) return;
    end();
    start(now);
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

  void share_out(std::int64_t slices, std::int64_t among) {
    parts_used.store(static_cast<std::size_t>(among), std::memory_order_relaxed);
    for (std::int64_t i = 0; i < among; ++i) {
      Part& part = parts[static_cast<std::size_t>(i)];
      part.next.store(slices * i / among, std::memory_order_relaxed);
      part.end = slices * (i + 1) / among;
    }
  }

  void run(std::int64_t count, const SliceBody& job, int helpers) {
    body = &job;
    seats.make_room(workers);
    share_out(count, std::min<std::int64_t>(helpers + 1, count));
    gate.store(kOpen, std::memory_order_release);
    wake();
    take_slices(std::size_t(0));
    gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    const std::uint64_t begin = ticks();
    for (std::uint32_t inside; (inside = gate.load(std::memory_order_acquire)) != 0;) {
      pause();
      if (ticks() - begin > 200'000) gate.wait(inside, std::memory_order_acquire);
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

/// A fork copies the thread that calls it and no other: the pools of the child begin anew. What they were is left
/// behind as it was, for a worker may have held a lock of it.
class Cores::Forks {
 public:
  static void add(Cores* pool) {
    std::lock_guard lock(known().mutex);
    known().pools.insert(pool);
  }
  static void remove(Cores* pool) {
    std::lock_guard lock(known().mutex);
    known().pools.erase(pool);
  }

 private:
  struct Known {
    Known() {
      pthread_atfork([] { known().mutex.lock(); }, [] { known().mutex.unlock(); }, begin_anew);
    }
    std::mutex mutex;
    std::set<Cores*> pools;
  };
  /// Not destroyed: processes are forked at any time.
  static Known& known() {
    static auto& all = *new Known;
    return all;
  }
  static void begin_anew() {
    for (Cores* pool : known().pools) {
      const State& left = *pool->state_.release();
      pool->state_ = std::make_unique<State>();
      pool->state_->usable = left.usable ? left.usable : [count = left.threads.load()] { return count; };
    }
    known().mutex.unlock();
  }
};

Cores::Cores(std::unique_ptr<State> state) : state_(std::move(state)) { Forks::add(this); }
Cores::Cores(int threads) : Cores(std::make_unique<State>()) { state_->start(threads); }
Cores::Cores(std::function<int()> usable) : Cores(usable()) {
  state_->usable = std::move(usable);
  state_->asked = ticks();
}
Cores::~Cores() {
  Forks::remove(this);
  state_->end();
}
int Cores::threads() const { return state_->threads; }

void Cores::set_threads(int threads) {
  std::lock_guard lock(state_->job_mutex);
  state_->usable = nullptr;
  state_->end();
  state_->start(threads);
}

void Cores::parallel(std::int64_t slices, SliceBody body) {
  if (slices <= 0) return;
  if (shared_pool && this != shared_pool) return shared_pool->parallel(slices, body);
  State& s = *state_;
  std::unique_lock lock(s.job_mutex, std::defer_lock);
  int helpers = 0;
  if (slices > 1 && !inside_slice && lock.try_lock()) {
    s.follow_the_machine();
    helpers = static_cast<int>(s.workers.size()) - CoreLoan::others();
  }
  if (helpers > 0) return s.run(slices, body, helpers);
  if (lock) lock.unlock();
  for (std::int64_t slice = 0; slice < slices; ++slice) body(slice);
}

Cores& Cores::process() {
  // Not destroyed: ops may run while the process ends, and workers hold nothing that must be given back.
  static Cores& cores = *new Cores(usable_cores);
  return cores;
}

CoreShare::CoreShare(int part, int parts)
    : before_(std::exchange(shared_pool, parts > 1 ? pool_of(part, parts) : nullptr)) {}
CoreShare::~CoreShare() { shared_pool = before_; }

}  // namespace tandem
