// What became of the cores' time.
#include "tandem/base/core_use.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bench/competitor.h"

namespace tandem {
namespace {

void spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {}
}

/// Of this thread on the first core it may use: beside others a share of it is theirs.
CoreUse use_of_one_core(int competitors) {
  CoreUse use;
  std::thread([&] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int core = 0;
    while (!CPU_ISSET(core, &set)) ++core;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
    std::vector<std::unique_ptr<bench::Competitor>> others;
    for (int i = 0; i < competitors; ++i) others.push_back(std::make_unique<bench::Competitor>(core));
    CoreWatch watch;
    spin(0.2);
    use = watch.take();
  }).join();
  return use;
}

TEST(CoreUse, AThreadBesideTwoProgramsOnItsCoreWaitsForThem) {
  const CoreUse use = use_of_one_core(2);
  EXPECT_NEAR(use.wall_s, 0.2, 0.1);
  EXPECT_GT(use.others_share(), 0.3);
}

TEST(CoreUse, AThreadThatWorksIsSeenToRun) {
  const CoreUse use = use_of_one_core(0);  // others of the machine may be at work: how long it waits is theirs
  EXPECT_GT(use.own_s, 0.01);
  EXPECT_NEAR(use.own_s + use.waited_s, use.wall_s, 0.5 * use.wall_s);
}

TEST(CoreUse, ThreadsThatSleepWaitForNobody) {
  CoreWatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(watch.take().own_s, 0.04);
}

TEST(CoreUse, WhatThreadsOfAProcessTakeFromEachOtherIsNotTakenByOthers) {
  const CoreUse crowded{.wall_s = 1, .own_s = 1.98, .waited_s = 1.5, .cores = 2};
  EXPECT_NEAR(crowded.others_share(), 0.02, 1e-9);
  const CoreUse disturbed{.wall_s = 1, .own_s = 1.0, .waited_s = 0.5, .cores = 2};
  EXPECT_NEAR(disturbed.others_share(), 0.5, 1e-9);
}

TEST(CoreUse, WhatAHostTakesFromAVirtualMachineCounts) {
  const CoreUse stolen{.wall_s = 1, .own_s = 1.5, .stolen_s = 0.4, .cores = 2};
  EXPECT_NEAR(stolen.others_share(), 0.4, 1e-9);
}

}  // namespace
}  // namespace tandem
