#include "tandem/exec/lanes.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tandem/base/core_share.h"
#include "tandem/base/event_sink.h"
#include "tandem/base/seats.h"
#include "tandem/base/text.h"
#include "tandem/base/threads.h"

namespace tandem {
namespace {

constexpr std::uint64_t kSpinTicks = 125'000;  // about 50 microseconds: the next step usually follows at once

/// Spins for a while, then sleeps, until `value` is no longer `seen`.
template <class T>
void wait_for_change(const std::atomic<T>& value, T seen) {
  const std::uint64_t begin = ticks();
  while (value.load(std::memory_order_acquire) == seen) {
    __builtin_ia32_pause();
    if (ticks() - begin > kSpinTicks) value.wait(seen, std::memory_order_acquire);
  }
}

/// Workers live as long as the process: lane i + 1 is always the same thread, so that its caches stay warm.
class LaneThreads {
 public:
  void run(std::size_t lanes, const std::function<void(std::size_t)>& body) {
    std::lock_guard one_at_a_time(mutex_);
    if (workers_.size() + 1 < lanes) seats_.assign(lanes, compute_cores());
    while (workers_.size() + 1 < lanes) start();
    seats_.make_room(workers_);
    body_ = &body;
    lanes_ = lanes;
    error_ = nullptr;
    left_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    work(0);
    for (int left; (left = left_.load(std::memory_order_acquire)) != 0;) wait_for_change(left_, left);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void start() {
    const std::size_t lane = workers_.size() + 1;
    const int seen = round_.load();
    workers_.push_back(
        start_thread(ThreadRole::compute, text("lane", lane), [this, lane, seen] { serve(lane, seen); }));
  }

  void serve(std::size_t lane, int seen) {
    seats_.sit(lane);
    for (;;) {
      wait_for_change(round_, seen);
      seen = round_.load(std::memory_order_acquire);
      if (lane < lanes_) work(lane);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }

  void work(std::size_t lane) {
    const CoreShare share(static_cast<int>(lane), static_cast<int>(lanes_));
    try {
      (*body_)(lane);
    } catch (const LaneStopped&) {
      // Another lane has failed and is heard.
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  std::mutex mutex_, error_mutex_;
  std::vector<std::thread> workers_;
  Seats seats_;
  std::atomic<int> round_{0}, left_{0};
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t lanes_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void LaneProgress::reset() {
  for (std::size_t i = 0; i < lanes_; ++i) done_[i].count.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
}

void LaneProgress::advance(std::size_t lane, std::uint32_t count) {
  done_[lane].count.store(count, std::memory_order_release);
  done_[lane].count.notify_all();
}

void LaneProgress::await(std::size_t lane, std::uint32_t count) const {
  for (;;) {
    const std::uint32_t now = done_[lane].count.load(std::memory_order_acquire);
    if (failed()) throw LaneStopped();
    if (now >= count) return;
    wait_for_change(done_[lane].count, now);
  }
}

void LaneProgress::fail() {
  failed_.store(true, std::memory_order_release);
  for (std::size_t i = 0; i < lanes_; ++i) {
    done_[i].count.fetch_add(1, std::memory_order_release);
    done_[i].count.notify_all();
  }
}

void run_lanes(std::size_t lanes, const std::function<void(std::size_t)>& body) {
  static auto& threads = *new LaneThreads;  // not destroyed: workers wait for work while the process ends
  threads.run(lanes, body);
}

}  // namespace tandem
