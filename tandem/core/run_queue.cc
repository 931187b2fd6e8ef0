#include "tandem/core/run_queue.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/base/log.h"
#include "tandem/base/text.h"
#include "tandem/base/threads.h"

namespace tandem {
namespace {

thread_local bool on_its_thread = false;
thread_local RunQueue::Counts counted;
void (*around_waits)(const std::function<void()>&) = nullptr;

}  // namespace

class RunPromise final : public EventState {
 public:
  bool done() const override { return kept_.load(std::memory_order_acquire); }
  void wait() override {
    RunQueue::await_end(number_);  // also when it is done: a failure may not have been told
    if (done() && error_) std::rethrow_exception(error_);
  }
  static void start(const Event& promise, std::uint64_t number) {
    if (promise) static_cast<RunPromise&>(*promise).number_ = number;
  }
  static void end(const Event& promise, std::exception_ptr error) {
    if (!promise) return;
    auto& self = static_cast<RunPromise&>(*promise);
    self.error_ = std::move(error);
    self.kept_.store(true, std::memory_order_release);
  }

 private:
  std::uint64_t number_ = 0;
  std::exception_ptr error_;  // written before kept_
  std::atomic<bool> kept_{false};
};

/// What the functions of RunQueue share with the thread that does the runs.
class RunThread {
 public:
  static RunThread& get() {
    static auto& thread = *new RunThread;  // not destroyed: it waits for runs while the process ends
    return thread;
  }

  void hand_over(RunQueue::Run run) {
    std::vector<RunQueue::Run>
        ended;  // let go here, without the lock: what they hold may need the caller's interpreter
    std::unique_lock lock(mutex_);
    tell(ended);
    while (queue_.size() >= RunQueue::kMost) {
      wait(lock,
           handed_over() - 1);  // until one is left, not one less: every wake-up takes a core from those that compute
      tell(ended);
    }
    start();
    const std::uint64_t number = handed_over() + 1;
    if (RunQueue::idle()) claims_.clear();
    for (const auto [variable, writes] : run.claims) {
      Users& users = claims_[variable];
      users.last = number;
      if (writes) users.last_writer = number;
    }
    if (run.take) run.take();
    RunPromise::start(run.promise, number);
    RunQueue::handed_over_.store(number, std::memory_order_release);
    queue_.push_back(std::move(run));
    ++counted.runs;
    take_ended(ended);
    lock.unlock();
    given_.notify_one();
  }

  /// The last run that uses the variable; 0: none.
  std::uint64_t last_run(const void* variable, bool users) {
    const std::lock_guard lock(mutex_);
    const auto found = claims_.find(variable);
    return found == claims_.end() ? 0 : users ? found->second.last : found->second.last_writer;
  }

  void await_end(std::uint64_t number) {
    if (left_behind_) return;
    std::vector<RunQueue::Run> ended;
    std::unique_lock lock(mutex_);
    if (!is_over(number)) wait(lock, number);
    take_ended(ended);
    if (number > last_ended()) tell(ended);
  }

  /// Child processes have no such thread: there, what is handed over is done at once.
  bool is_left_behind() const { return left_behind_; }

 private:
  RunThread() {
    pthread_atfork([] { get().before_fork(); }, [] { get().mutex_.unlock(); }, [] { get().after_fork_in_child(); });
    std::atexit([] { RunQueue::finish(); });
  }

  void start() {
    if (started_) return;
    started_ = true;
    start_thread(ThreadRole::compute, "steps", [this] { serve(); }).detach();
  }

  static std::uint64_t handed_over() { return RunQueue::handed_over_.load(std::memory_order_relaxed); }
  static std::uint64_t last_ended() { return RunQueue::ended_.load(std::memory_order_relaxed); }
  /// Has the run ended, or will it never? If not, it is noted that somebody wants to know.
  bool is_over(std::uint64_t number) {
    if (number <= last_ended() || failure_) return true;
    wanted_ = wanted_ ? std::min(wanted_, number) : number;
    return false;
  }
  void wait(std::unique_lock<std::mutex>& lock, std::uint64_t number) {
    ++counted.waits;
    lock.unlock();
    const auto until = [&] {
      std::unique_lock again(mutex_);
      over_.wait(again, [&] { return is_over(number); });
    };
    if (around_waits) around_waits(until);
    else until();
    lock.lock();
  }

  void take_ended(std::vector<RunQueue::Run>& ended) {
    std::ranges::move(ended_, std::back_inserter(ended));
    ended_.clear();
  }

  /// Throws what kept runs from ending, to the first who asks.
  void tell(std::vector<RunQueue::Run>& ended) {
    if (!failure_) return;
    for (; !dropped_.empty(); dropped_.pop_back()) {
      if (dropped_.back().undo) dropped_.back().undo();
      ended.push_back(std::move(dropped_.back()));
    }
    RunQueue::ended_.store(handed_over(), std::memory_order_release);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void serve() {
    on_its_thread = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      given_.wait(lock, [this] { return !queue_.empty(); });
      RunQueue::Run& run = queue_.front();  // stays in its place while others are added
      lock.unlock();
      std::exception_ptr error;
      try {
        run.work();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) fail(std::move(error));
      else end_first();
      if (wanted_ && is_over(std::exchange(wanted_, 0))) over_.notify_all();
    }
  }

  void end_first() {
    RunQueue::Run& run = queue_.front();
    RunPromise::end(run.promise, nullptr);
    ended_.push_back(std::move(run));
    queue_.pop_front();
    RunQueue::ended_.fetch_add(1, std::memory_order_release);
  }

  void fail(std::exception_ptr error) {
    for (RunQueue::Run& run : queue_) {
      RunPromise::end(run.promise, error);
      dropped_.push_back(std::move(run));
    }
    queue_.clear();
    failure_ = std::move(error);
  }

  void before_fork() {
    std::unique_lock lock(mutex_);
    if (!left_behind_) over_.wait(lock, [this] { return is_over(handed_over()); });
    lock.release();
  }
  void after_fork_in_child() {
    left_behind_ = true;
    mutex_.unlock();
  }

  struct Users {
    std::uint64_t last = 0, last_writer = 0;
  };

  std::mutex mutex_;
  std::condition_variable given_, over_;  // for the thread of the runs; for those who wait for one
  std::uint64_t wanted_ = 0;  // the first run that somebody waits for; 0: none
  std::unordered_map<const void*, Users> claims_;  // of runs since the queue was empty
  std::deque<RunQueue::Run> queue_;  // the first one is under way
  std::vector<RunQueue::Run> ended_;  // callers let them go
  std::exception_ptr failure_;  // nobody has been told of
  std::vector<RunQueue::Run> dropped_;  // because of it
  bool started_ = false, left_behind_ = false;
};

std::atomic<std::uint64_t> RunQueue::handed_over_{0};
std::atomic<std::uint64_t> RunQueue::ended_{0};

bool RunQueue::available() { return !on_its_thread && !RunThread::get().is_left_behind(); }
void RunQueue::hand_over(Run run) { RunThread::get().hand_over(std::move(run)); }

Event RunQueue::promise() { return Event(new RunPromise); }

void RunQueue::perform(const std::function<void()>& work) {
  if (!available()) return work();
  const Event ended = promise();
  hand_over({[&] { work(); }, {}, ended});
  ended->wait();
}

void RunQueue::await_end(std::uint64_t number) {
  if (!on_its_thread) RunThread::get().await_end(number);
}

void RunQueue::finish() noexcept {
  try {
    await_all();
  } catch (const std::exception& error) {
    log(LogLevel::error, text("a step that nobody waited for has failed: ", error.what()));
  }
}

void RunQueue::await_claims(const void* variable, bool users) {
  if (on_its_thread) return;
  await_end(RunThread::get().last_run(variable, users));
}

RunQueue::Counts RunQueue::counts() { return counted; }
void RunQueue::set_around_waits(void (*around)(const std::function<void()>&)) { around_waits = around; }

}  // namespace tandem
