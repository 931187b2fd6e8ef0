// Figures that were measured while others were at work: noticed, doubted, replaced.
#include "tandem/runtime/machine_store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tandem/runtime/disturbance.h"
#include "tests/temporary_folder.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

/// Of 40 ms of measuring on two cores.
CoreUse waited(double share) { return {.wall_s = 0.04, .own_s = 0.04, .waited_s = 0.04 * share, .cores = 2}; }

TEST(Disturbance, AQuietMachineRaisesNoDoubt) {
  Disturbance seen;
  seen.saw("/CPU:0", waited(0.02));
  seen.saw("/GPU:0", waited(0.04));
  seen.repeated("/CPU:0", {1000, 1150});
  EXPECT_EQ(seen.why(), std::nullopt);
  EXPECT_EQ(Disturbance().why(), std::nullopt);
}

TEST(Disturbance, ThreadsThatWaitedOnOneDeviceAreEnough) {
  Disturbance seen;
  seen.saw("/CPU:0", waited(0.0));
  seen.saw("/GPU:0", waited(0.1));
  seen.saw("/GPU:0", waited(0.9));
  EXPECT_EQ(seen.why(), "other programs kept the cores busy: threads of /GPU:0 waited 50 % of the time");
}

TEST(Disturbance, ThreadsThatWaitForEachOtherAreNotDisturbed) {
  Disturbance seen;
  seen.saw("/GPU:0", {.wall_s = 0.04, .own_s = 0.08, .waited_s = 0.03, .cores = 2});
  EXPECT_EQ(seen.why(), std::nullopt);
}

TEST(Disturbance, TheSameWorkMustTakeTheSameTime) {
  Disturbance seen;
  seen.repeated("/GPU:0", {2100, 1000});
  EXPECT_EQ(seen.why(), "the same product on /GPU:0 took 1 ms once and then 2.1 ms: others may be at work");
}

TEST(Disturbance, WhatWasSeenTwiceIsWhatADeviceCanDo) {
  Disturbance seen;
  seen.repeated("/GPU:0", {2600, 1500, 1550});  // its threads began on one core
  EXPECT_EQ(seen.why(), std::nullopt);
}

Machine measured(double speed, bool doubted, std::int64_t unix_s = 1000) {
  Machine machine = cpu_and_gpu(speed);
  if (doubted) machine.doubt = MachineDoubt{"others were at work", unix_s};
  return machine;
}

TEST(MachineStore, WhatIsDoubtedIsMeasuredAgainAMinuteLater) {
  EXPECT_FALSE(due_again(measured(2, false), 1 << 30));
  EXPECT_FALSE(due_again(measured(2, true), 1030));
  EXPECT_TRUE(due_again(measured(2, true), 1060));
  EXPECT_TRUE(due_again(measured(2, true), 10)) << "the clock was set back";
}

TEST(MachineStore, FiguresMeasuredInQuietReplaceAllOthersAndAreReplacedByNoDoubtfulOnes) {
  EXPECT_EQ(better_machine(measured(4, true), measured(2, false)), measured(2, false));
  EXPECT_EQ(better_machine(measured(2, false), measured(4, true)), measured(2, false));
}

TEST(MachineStore, OfTwoThatAreDoubtedTheBetterOfEachFigureCounts) {
  Machine stored = measured(2, true, 1000), now = measured(3, true, 2000);
  stored.devices[0].launch_us = 0.1;
  stored.links[0].latency_us = 4;
  now.devices[1].gb_per_s = 1;
  stored.links[0].cache = {.bytes = 1 << 22, .gb_per_s = 60};
  now.links[0].cache = {.bytes = 1 << 22, .gb_per_s = 50};
  stored.measured.set({"add", DType::f32, 20, "/CPU:0"}, {.ratio = 2, .samples = 3});
  const Machine kept = better_machine(stored, now);
  EXPECT_EQ(kept.devices[0].launch_us, 0.1);
  EXPECT_EQ(kept.devices[1].gb_per_s, 20);
  EXPECT_EQ(kept.devices[1].gflops(DType::f32), 150);
  EXPECT_EQ(kept.links[0].latency_us, 4);
  EXPECT_EQ(kept.links[0].cache.gb_per_s, 60);
  EXPECT_EQ(kept.doubt->unix_s, 2000);
  EXPECT_TRUE(kept.measured.entries().empty()) << "it was relative to other figures";
}

TEST(MachineStore, AHistoryStaysWithItsFigures) {
  Machine stored = measured(2, true, 1000);
  stored.measured.set({"add", DType::f32, 20, "/CPU:0"}, {.ratio = 2, .samples = 3});
  EXPECT_EQ(better_machine(stored, measured(1, true, 2000)).measured, stored.measured);
}

TEST(MachineStore, DoubtIsWrittenAndRead) {
  const TemporaryFolder folder;
  const Machine doubted = measured(2, true);
  store_machine(doubted, folder.path("machines/m.json"));
  EXPECT_EQ(*stored_machine(folder.path("machines/m.json")), doubted);
  EXPECT_EQ(stored_machine(folder.path("machines/other.json")), nullptr);
}

TEST(MachineStore, ADamagedFileIsMeasuredAgain) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("m.json")) << R"({"devices":[{"name":"/CPU:0"}],"doubt":"yes"})";
  EXPECT_EQ(stored_machine(folder.path("m.json")), nullptr);
}

TEST(MachineStore, AnExplanationByDoubtfulFiguresSaysSo) {
  if (default_runtime().devices().size() < 2) GTEST_SKIP() << "one device";
  const WithMachine given(measured(2, true));
  const Function f = function([](const Tensors& t) { return Tensors{matmul(t[0], t[0])}; });
  const Explanation explained = explain(f, {ones({64, 64})});
  EXPECT_EQ(explained.doubt, "others were at work");
  EXPECT_NE(explained.summary().find("by doubtful figures: when they were measured, others were at work"),
            std::string::npos);
  EXPECT_NE(explained.to_json().find("\"doubt\": \"others were at work\""), std::string::npos);
}

}  // namespace
}  // namespace tandem
