#include "tandem/base/seats.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>

#include "tandem/base/core_roles.h"

namespace tandem {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

/// A worker that sits down and tells where it may run whenever it is asked.
struct Worker {
  std::promise<void> ask;
  std::future<std::vector<int>> cores;
  std::vector<std::thread> threads;

  explicit Worker(Seats& seats) {
    std::packaged_task<std::vector<int>()> task([&seats, asked = ask.get_future().share()] {
      seats.sit(1);
      asked.wait();
      return allowed_cores();
    });
    cores = task.get_future();
    threads.emplace_back(std::move(task));
  }
  std::vector<int> where() {
    ask.set_value();
    threads[0].join();
    return cores.get();
  }
};

/// A worker and its caller, which begins on the first of two cores; test(seats, worker, cores) runs in the caller.
template <class F>
void with_caller_on_first_core(const F& test) {
  const std::vector<int> two{process_cores()[0], process_cores()[1]};
  std::thread caller([&] {
    confine_thread({two[0]});
    Seats seats;
    seats.assign(2, two);
    Worker worker(seats);
    test(seats, worker, two);
  });
  caller.join();
}

TEST(Seats, AWorkerGetsTheCoreThatTheCallerIsNotOn) {
  if (process_cores().size() < 2) GTEST_SKIP() << "one core";
  with_caller_on_first_core([](Seats&, Worker& worker, const std::vector<int>& cores) {
    EXPECT_EQ(worker.where(), std::vector<int>{cores[1]});
  });
}

TEST(Seats, AWorkerChangesPlacesWithACallerThatComesToItsCore) {
  if (process_cores().size() < 2) GTEST_SKIP() << "one core";
  with_caller_on_first_core([](Seats& seats, Worker& worker, const std::vector<int>& cores) {
    confine_thread({cores[1]});
    seats.make_room(worker.threads);
    // It may sit down after that as well: then it takes the new place at once.
    EXPECT_EQ(worker.where(), std::vector<int>{cores[0]});
  });
}

TEST(Seats, ThreadsStayWhereTheyAreWithoutACoreForEach) {
  Seats seats;
  seats.assign(2, {process_cores()[0]});
  Worker worker(seats);
  EXPECT_EQ(worker.where(), allowed_cores());
}

}  // namespace
}  // namespace tandem
