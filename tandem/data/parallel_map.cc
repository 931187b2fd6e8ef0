#include "tandem/data/parallel_map.h"

#include <condition_variable>
#include <exception>
#include <thread>

#include "tandem/base/event_sink.h"
#include "tandem/base/hash.h"
#include "tandem/base/threads.h"
#include "tandem/data/dataset.h"
#include "tandem/data/rows.h"

namespace tandem::data {
namespace {

class ParallelMap final : public Iterator {
 public:
  ParallelMap(IteratorPtr input, std::shared_ptr<const Runner> runner, std::int64_t calls, std::uint64_t seed,
              std::shared_ptr<Session> session, Stage& stage)
      : input_(std::move(input)),
        runner_(std::move(runner)),
        seed_(seed),
        session_(std::move(session)),
        stage_(stage),
        most_workers_(most_workers(calls)),
        automatic_(calls == kAutotune),
        slots_(static_cast<std::size_t>(2 * most_workers_)) {
    stage_.capacity.store(static_cast<std::int64_t>(slots_.size()));
    for (int i = automatic_ ? most_workers_ - 1 : 0; i < most_workers_; ++i) add_worker();
  }

  ~ParallelMap() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    for (const Slot& slot : slots_) release(slot.bytes);
    stage_.workers.store(0);
  }

  bool next(Element& out) override {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    if (!slot.full && taken_ != end_) wait_for(slot, lock);
    if (taken_ == end_) return false;
    slot.full = false;
    release(std::exchange(slot.bytes, 0));
    out = std::move(slot.element);
    const std::exception_ptr error = std::exchange(slot.error, nullptr);
    ++taken_;
    stage_.buffered.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    room_.notify_all();  // a worker may wait for this very element to be taken
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  struct Slot {
    bool full = false;
    Element element;
    std::exception_ptr error;
    std::size_t bytes = 0;  // reserved in the session's budget
  };

  static int most_workers(std::int64_t calls) {
    if (calls == kAutotune) return role_threads(ThreadRole::data);
    const int limit = role_limit(ThreadRole::data);
    return static_cast<int>(std::min<std::int64_t>(calls, limit > 0 ? limit : 256));
  }

  void release(std::size_t bytes) {
    if (session_ && bytes) session_->release(bytes);
  }

  void wait_for(Slot& slot, std::unique_lock<std::mutex>& lock) {
    // Other stages may use the cores already: a worker more would only crowd them.
    if (static_cast<int>(workers_.size()) < most_workers_ && CoreLoan::count() < role_threads(ThreadRole::data))
      add_worker();
    const CoreLoan::Pause waiting;
    const std::uint64_t begin = ticks();
    filled_.wait(lock, [&] { return slot.full || taken_ == end_; });
    stage_.wait_ticks.fetch_add(ticks() - begin, std::memory_order_relaxed);
  }

  void add_worker() {
    workers_.push_back(start_thread(ThreadRole::data, "map" + std::to_string(workers_.size()), [this] { work(); }));
    stage_.workers.store(static_cast<int>(workers_.size()));
  }

  void work() {
    Runner::Memo memo;
    Element in;
    for (;;) {
      std::uint64_t number;
      std::exception_ptr error;
      {
        std::lock_guard reading(input_mutex_);  // elements are numbered in the order of the input
        {
          std::unique_lock lock(mutex_);
          room_.wait(lock, [&] { return stopping_ || given_ == end_ || given_ < taken_ + slots_.size(); });
          if (stopping_ || given_ == end_) return;
        }
        number = given_;
        try {
          const CoreLoan working(ThreadRole::data);
          if (!input_->next(in)) return end_at(number);
        } catch (...) {
          error = std::current_exception();
        }
        ++given_;
      }
      Element out;
      if (!error) {
        try {
          const CoreLoan working(ThreadRole::data);
          const ElementRandom random(seed_, number);
          const std::uint64_t begin = ticks();
          runner_->run(in, out, memo);
          stage_.self_ticks.fetch_add(ticks() - begin, std::memory_order_relaxed);
        } catch (...) {
          error = std::current_exception();
        }
      }
      put(number, std::move(out), std::move(error));
    }
  }

  void put(std::uint64_t number, Element element, std::exception_ptr error) {
    const std::size_t bytes = session_ && !error ? bytes_of(element) : 0;
    const bool fits = bytes == 0 || session_->reserve(bytes);
    {
      std::unique_lock lock(mutex_);
      // Beyond the budget: the element waits until it is the next to be read.
      if (!fits) room_.wait(lock, [&] { return stopping_ || taken_ == number; });
      Slot& slot = slots_[number % slots_.size()];
      slot.element = std::move(element);
      slot.error = std::move(error);
      slot.bytes = fits ? bytes : 0;
      slot.full = true;
      stage_.buffered.fetch_add(1, std::memory_order_relaxed);
    }
    filled_.notify_one();
  }

  void end_at(std::uint64_t number) {
    {
      std::lock_guard lock(mutex_);
      end_ = number;
    }
    filled_.notify_one();
    room_.notify_all();
  }

  IteratorPtr input_;
  std::shared_ptr<const Runner> runner_;
  std::uint64_t seed_;
  std::shared_ptr<Session> session_;
  Stage& stage_;
  int most_workers_;
  bool automatic_;
  std::mutex input_mutex_;  // before mutex_
  std::atomic<std::uint64_t> given_{0};  // elements read from the input; written under input_mutex_

  std::mutex mutex_;  // guards all below
  std::condition_variable room_, filled_;
  std::vector<Slot> slots_;
  std::uint64_t taken_ = 0, end_ = ~std::uint64_t{0};
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

ElementRandom::ElementRandom(std::uint64_t seed, std::uint64_t number) : state_(mix(seed, number)) {}

IteratorPtr parallel_map(IteratorPtr input, std::shared_ptr<const Runner> runner, std::int64_t calls,
                         std::uint64_t seed, const Pass& pass, Stage& stage) {
  return std::make_unique<ParallelMap>(std::move(input), std::move(runner), calls, seed, pass.session, stage);
}

}  // namespace tandem::data
