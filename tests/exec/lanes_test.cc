#include "tandem/exec/lanes.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tandem/base/cores.h"
#include "tandem/base/seats.h"

namespace tandem {
namespace {

TEST(Lanes, EachHasAThreadOfItsOwnAndTheFirstIsTheCallers) {
  std::vector<std::thread::id> threads(3);
  for (int round = 0; round < 20; ++round) {
    run_lanes(3, [&](std::size_t lane) { threads[lane] = std::this_thread::get_id(); });
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), 3u);
  }
}

/// Ends the process: 0 when every lane but the caller's may run on one core only, each on another.
[[noreturn]] void run_a_lane_a_core() {
  const std::size_t lanes = compute_cores().size();
  std::vector<int> cores(lanes, -1);
  run_lanes(lanes, [&](std::size_t lane) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    if (lane > 0 && CPU_COUNT(&set) == 1) cores[lane] = sched_getcpu();
  });
  cores.erase(cores.begin());
  const std::set<int> apart(cores.begin(), cores.end());
  std::_Exit(apart.size() == cores.size() && !apart.contains(-1) ? 0 : 1);
}

TEST(Lanes, HaveACoreEachWhereThereAreAsMany) {
  if (compute_cores().size() < 2) GTEST_SKIP() << "one core";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // other tests have started lanes already
  EXPECT_EXIT(run_a_lane_a_core(), ::testing::ExitedWithCode(0), "");
}

TEST(Lanes, WaitForEachOtherWhereTheySay) {
  LaneProgress progress(2);
  for (int round = 0; round < 100; ++round) {
    progress.reset();
    int made = 0, read = -1;
    run_lanes(2, [&](std::size_t lane) {
      if (lane == 0) {
        made = round;
        progress.advance(0, 1);
      } else {
        progress.await(0, 1);
        read = made;
      }
    });
    EXPECT_EQ(read, round);
  }
}

TEST(Lanes, AFailureIsHeardAndNobodyWaitsForEver) {
  LaneProgress progress(3);
  progress.reset();
  const auto body = [&](std::size_t lane) {
    try {
      if (lane == 1) throw std::runtime_error("mine");
      progress.await(1, 1);
    } catch (...) {
      progress.fail();
      throw;
    }
  };
  try {
    run_lanes(3, body);
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "mine");
  }
  std::atomic<int> ran = 0;
  run_lanes(3, [&](std::size_t) { ++ran; });
  EXPECT_EQ(ran, 3);
}

TEST(Lanes, EachSpreadsItsWorkOverItsShareOfTheCores) {
  std::atomic<int> slices = 0;
  run_lanes(2, [&](std::size_t) { parallel(64, [&](std::int64_t) { ++slices; }); });
  EXPECT_EQ(slices, 128);
}

}  // namespace
}  // namespace tandem
