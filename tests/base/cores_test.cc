#include "tandem/base/cores.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tandem {
namespace {

TEST(Cores, EverySliceRunsOnce) {
  for (int threads : {1, 2, 5}) {
    Cores cores(threads);
    std::vector<std::atomic<int>> runs(1000);
    cores.parallel(1000, [&](std::int64_t slice) { ++runs[static_cast<std::size_t>(slice)]; });
    for (const auto& count : runs) ASSERT_EQ(count, 1);
  }
}

/// The thread that runs each of `slices`, when every slice waits until all threads of the pool have one.
std::vector<std::thread::id> threads_of_slices(Cores& cores, int threads, std::int64_t slices) {
  std::vector<std::thread::id> ids(static_cast<std::size_t>(slices));
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::condition_variable all_here;
  cores.parallel(slices, [&](std::int64_t slice) {
    std::unique_lock lock(mutex);
    ids[static_cast<std::size_t>(slice)] = std::this_thread::get_id();
    seen.insert(std::this_thread::get_id());
    all_here.notify_all();
    all_here.wait(lock, [&] { return static_cast<int>(seen.size()) == threads; });
  });
  return ids;
}

TEST(Cores, AThreadTakesItsOwnPartOfTheSlicesFirst) {
  constexpr int kThreads = 3;
  Cores cores(kThreads);
  for (int round = 0; round < 20; ++round) {
    const auto ids = threads_of_slices(cores, kThreads, 9);
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set({ids[0], ids[3], ids[6]}).size(), 3u) << "each part was begun by its thread";
  }
}

TEST(Cores, FewSlicesAreForTheFirstThreads) {
  Cores cores(4);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(threads_of_slices(cores, 2, 2)[0], std::this_thread::get_id());
}

TEST(Cores, NoSlicesAreNoWork) {
  Cores cores(2);
  cores.parallel(0, [](std::int64_t) { FAIL(); });
}

TEST(Cores, AnExceptionOfASliceReachesTheCaller) {
  Cores cores(3);
  EXPECT_THROW(cores.parallel(100,
                              [](std::int64_t slice) {
                                if (slice == 37) throw std::runtime_error("slice 37");
                              }),
               std::runtime_error);
  std::atomic<int> runs{0};
  cores.parallel(10, [&](std::int64_t) { ++runs; });  // and the pool still works
  EXPECT_EQ(runs, 10);
}

TEST(Cores, NestedCallsRunOnTheCallingThread) {
  Cores cores(2);
  std::atomic<int> runs{0};
  cores.parallel(4, [&](std::int64_t) { cores.parallel(5, [&](std::int64_t) { ++runs; }); });
  EXPECT_EQ(runs, 20);
}

TEST(Cores, SeveralThreadsMayCallAtOnce) {
  Cores cores(2);
  std::vector<std::thread> callers;
  std::atomic<int> runs{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) cores.parallel(7, [&](std::int64_t) { ++runs; });
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(runs, 4 * 200 * 7);
}

TEST(Cores, TheNumberOfThreadsCanChange) {
  Cores cores(1);
  cores.set_threads(4);
  EXPECT_EQ(cores.threads(), 4);
  std::atomic<int> runs{0};
  cores.parallel(64, [&](std::int64_t) { ++runs; });
  EXPECT_EQ(runs, 64);
  cores.set_threads(1);
  EXPECT_EQ(cores.threads(), 1);
}

/// Does a process forked off now run slices on as many threads? One that hangs is ended.
bool works_in_a_child(Cores& cores, int threads) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    for (int round = 0; round < 3; ++round) threads_of_slices(cores, threads, threads);
    _exit(0);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(Cores, AForkedProcessHasWorkersOfItsOwn) {
  for (int round = 0; round < 20; ++round) {
    const int threads = 2 + round % 2;
    Cores cores(threads);
    ASSERT_TRUE(works_in_a_child(cores, threads)) << "forked while the workers start";
    threads_of_slices(cores, threads, threads);
    ASSERT_TRUE(works_in_a_child(cores, threads)) << "forked after they have worked";
  }
}

TEST(Cores, ThereIsAtLeastOneUsableCore) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace tandem
