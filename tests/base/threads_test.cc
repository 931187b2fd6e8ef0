#include "tandem/base/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>

#include "tandem/base/cores.h"

namespace tandem {
namespace {

using namespace std::chrono_literals;

TEST(Threads, HaveNamesThatToolsShow) {
  std::string name(32, '\0');
  start_thread(ThreadRole::data, "prefetch", [&] {
    pthread_getname_np(pthread_self(), name.data(), name.size());
  }).join();
  EXPECT_STREQ(name.c_str(), "tandem-prefetch");
}

TEST(Threads, ALimitOfARoleHolds) {
  EXPECT_GE(role_threads(ThreadRole::data), 1);
  set_role_limit(ThreadRole::data, 1);
  EXPECT_EQ(role_threads(ThreadRole::data), 1);
  set_role_limit(ThreadRole::data, 0);
}

TEST(Threads, AWorkingThreadHasACoreOnLoanAndAWaitingOneHasNot) {
  const int before = CoreLoan::count();
  start_thread(ThreadRole::data, "worker", [&] {
    const CoreLoan working(ThreadRole::data);
    EXPECT_EQ(CoreLoan::count(), before + 1);
    EXPECT_EQ(CoreLoan::others(), before);
    {
      const CoreLoan::Pause waiting;
      EXPECT_EQ(CoreLoan::count(), before);
    }
    EXPECT_EQ(CoreLoan::count(), before + 1);
  }).join();
  EXPECT_EQ(CoreLoan::count(), before);
}

TEST(Threads, AThreadThatMostlySleepsTakesNoCore) {
  const int before = CoreLoan::count();
  start_thread(ThreadRole::data, "sleeper", [&] {
    for (int i = 0; i < 64; ++i) {  // every eighth is measured
      const CoreLoan working(ThreadRole::data);
      std::this_thread::sleep_for(1ms);
    }
    const CoreLoan working(ThreadRole::data);
    EXPECT_EQ(CoreLoan::count(), before);
  }).join();
}

TEST(Cores, AreLeftToThreadsThatHaveThemOnLoan) {
  Cores cores(2);
  std::atomic<bool> lent{false}, done{false};
  std::thread worker = start_thread(ThreadRole::data, "worker", [&] {
    const CoreLoan working(ThreadRole::data);
    lent = true;
    while (!done) std::this_thread::yield();
  });
  while (!lent) std::this_thread::yield();
  std::atomic<int> elsewhere{0};
  const auto caller = std::this_thread::get_id();
  const auto count = [&] {
    cores.parallel(64, [&](std::int64_t) {
      std::this_thread::sleep_for(100us);
      if (std::this_thread::get_id() != caller) ++elsewhere;
    });
  };
  count();
  EXPECT_EQ(elsewhere, 0);
  done = true;
  worker.join();
  count();
  EXPECT_GT(elsewhere, 0);
}

TEST(Cores, FollowWhatTheMachineAllows) {
  std::atomic<int> allowed{3};
  Cores cores([&] { return allowed.load(); });
  EXPECT_EQ(cores.threads(), 3);
  allowed = 1;
  const auto run = [&] { cores.parallel(2, [](std::int64_t) {}); };
  run();
  EXPECT_EQ(cores.threads(), 3);  // asked about once a second
  std::this_thread::sleep_for(1100ms);
  run();
  EXPECT_EQ(cores.threads(), 1);
  allowed = 2;
  std::this_thread::sleep_for(1100ms);
  run();
  EXPECT_EQ(cores.threads(), 2);
  cores.set_threads(4);  // asked for: whatever the machine says
  std::this_thread::sleep_for(1100ms);
  run();
  EXPECT_EQ(cores.threads(), 4);
}

TEST(Cores, AQuotaIsRoundedUpToWholeCores) {
  EXPECT_EQ(cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(cores_of_quota("50000 100000"), 1);
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota("-1 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
}

}  // namespace
}  // namespace tandem
