// Which plan runs, as devices become slower and faster: with a clock and devices that exist here only.
#include "tandem/place/plan_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tandem {
namespace {

constexpr std::size_t kCpu = 0, kGpu = 1;

/// Steps of 20 ms and more on two devices, each slowed as the test says.
class World {
 public:
  explicit World(std::uint32_t seed = 1) : chooser(2, {}, seed), noise_(seed) {}

  /// `predicted` may differ from what it really takes.
  std::size_t plan(double cpu_ms, double gpu_ms, double predicted_ms = 0) {
    real_.push_back({cpu_ms, gpu_ms});
    const double us = 1e3 * (predicted_ms > 0 ? predicted_ms : cpu_ms + gpu_ms);
    const double share = cpu_ms / (cpu_ms + gpu_ms);
    return chooser.add({us, {us * share, us * (1 - share)}});
  }
  /// Both at work at the same time.
  std::size_t split(double each_ms) {
    real_.push_back({each_ms, each_ms});
    at_once_ = real_.size() - 1;
    return chooser.add({1e3 * each_ms, {1e3 * each_ms, 1e3 * each_ms}});
  }

  /// Runs steps and returns their mean in ms. Probes an idle device every four seconds, as programs do.
  double run(int steps) {
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
      const std::size_t running = chooser.running();
      const double cpu = real_[running].first * slow[kCpu], gpu = real_[running].second * slow[kGpu];
      const double ms = (running == at_once_ ? std::max(cpu, gpu) : cpu + gpu) * wobble();
      now += ms / 1e3;
      sum += ms;
      switches += chooser.note(running, {1e3 * ms, {1e3 * cpu, 1e3 * gpu}}, now);
      if (now - probed_ > 4 && chooser.wants_probe(kGpu)) {
        chooser.note_probe(kGpu, slow[kGpu] * wobble(), now);
        probed_ = now;
      }
    }
    return sum / steps;
  }

  /// Until every plan has been tried that is worth it; plans that are close take longest.
  void settle() {
    for (int steps = 0; steps < 300 && !chooser.settled(); ++steps) run(1);
    EXPECT_TRUE(chooser.settled());
  }

  PlanChooser chooser;
  double slow[2] = {1, 1};
  double noise = 0;
  double now = 0;
  int switches = 0;

 private:
  double wobble() { return 1 + noise * (static_cast<double>(noise_() % 1000) / 1000 - 0.5); }
  std::vector<std::pair<double, double>> real_;
  std::size_t at_once_ = ~std::size_t{0};
  double probed_ = 0;
  std::minstd_rand noise_;
};

TEST(PlanChooser, TheOnePredictedFastestRunsFirstAndStaysWhenItIs) {
  World world;
  const auto gpu = world.plan(0, 20), cpu = world.plan(30, 0);
  world.run(60);
  EXPECT_EQ(world.chooser.running(), gpu);
  EXPECT_EQ(world.chooser.why(), PlanChooser::Why::predicted);
  EXPECT_EQ(world.chooser.moves(), 0);
  EXPECT_NEAR(world.chooser.expected_us(cpu), 30e3, 1);
}

TEST(PlanChooser, AWrongPredictionIsFoundOutByATrial) {
  World world;
  world.plan(0, 40, 20);
  const auto cpu = world.plan(30, 0);
  world.run(70);
  EXPECT_EQ(world.chooser.running(), cpu);
  EXPECT_EQ(world.chooser.why(), PlanChooser::Why::measured);
  EXPECT_NEAR(world.run(10), 30, 0.01);
}

TEST(PlanChooser, OthersAtWorkWhileAPlanIsTriedDoNotDecide) {
  for (int begin = 0; begin < 44; begin += 4) {
    World world;
    world.plan(0, 26, 20);
    const auto cpu = world.plan(22, 0);
    world.run(begin);
    world.slow[kGpu] = world.slow[kCpu] = 1.6;
    world.run(12);
    world.slow[kGpu] = world.slow[kCpu] = 1;
    world.run(100);
    EXPECT_EQ(world.chooser.running(), cpu) << "slowed from step " << begin;
  }
}

TEST(PlanChooser, APlanPredictedToBeMuchSlowerIsNeverTried) {
  World world;
  const auto gpu = world.plan(0, 20);
  world.plan(100, 0);
  world.run(200);
  EXPECT_EQ(world.chooser.running(), gpu);
  EXPECT_EQ(world.switches, 0);
}

TEST(PlanChooser, WorkLeavesADeviceThatOthersSlowAndComesBackWhenItIsFree) {
  World world;
  const auto gpu = world.plan(0, 20), cpu = world.plan(26, 0);
  world.run(70);
  ASSERT_EQ(world.chooser.running(), gpu);
  world.slow[kGpu] = 2;
  world.run(20);
  EXPECT_EQ(world.chooser.running(), cpu);
  EXPECT_EQ(world.chooser.why(), PlanChooser::Why::contention);
  EXPECT_NEAR(world.chooser.contention(kGpu), 2, 0.1);
  EXPECT_NEAR(world.run(200), 26, 0.1);
  EXPECT_EQ(world.chooser.moves(), 1);
  world.slow[kGpu] = 1;
  world.run(1000);
  EXPECT_EQ(world.chooser.running(), gpu);
  EXPECT_EQ(world.chooser.moves(), 2);
  EXPECT_NE(world.chooser.why(), PlanChooser::Why::contention);
}

TEST(PlanChooser, SplitWorkIsMadeWholeWhileOthersSlowADeviceAndSplitAgainAfterwards) {
  World world;
  const auto split = world.split(14), cpu = world.plan(25, 0);
  world.run(60);
  ASSERT_EQ(world.chooser.running(), split);
  world.slow[kGpu] = 4;
  world.run(30);
  EXPECT_EQ(world.chooser.running(), cpu);
  EXPECT_EQ(world.chooser.why(), PlanChooser::Why::contention);
  EXPECT_NEAR(world.run(200), 25, 0.1);
  world.slow[kGpu] = 1;
  world.run(1500);
  EXPECT_EQ(world.chooser.running(), split);
  EXPECT_EQ(world.chooser.moves(), 2);
}

TEST(PlanChooser, ASplitThatDoesNotPayIsGivenUp) {
  World world;
  world.split(30);
  const auto cpu = world.plan(25, 0);
  world.run(60);
  EXPECT_EQ(world.chooser.running(), cpu);
}

TEST(PlanChooser, SharingThatGainsLessThanATrialCanTellIsLeft) {
  for (const double split_ms : {29.5, 27.0}) {
    World world;
    const auto shared = world.split(split_ms), cpu = world.plan(30, 0);
    world.settle();
    EXPECT_EQ(world.chooser.running(), split_ms > 28 ? cpu : shared) << split_ms;
  }
}

TEST(PlanChooser, ALittleSlowerIsNoReasonToMove) {
  World world;
  const auto gpu = world.plan(0, 20);
  world.plan(24, 0);
  world.run(70);
  world.slow[kGpu] = 1.25;
  world.run(400);
  EXPECT_EQ(world.chooser.running(), gpu);
  EXPECT_EQ(world.chooser.moves(), 0);
}

TEST(PlanChooser, NoiseMovesNothing) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.noise = 0.3;
    world.plan(0, 20);
    world.plan(21, 0);
    world.settle();
    world.switches = 0;
    world.run(2000);
    EXPECT_LE(world.switches, 4) << "seed " << seed;
  }
}

TEST(PlanChooser, AMachineThatIsSlowerForASecondMovesNothing) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    const auto gpu = world.plan(0, 20);
    world.plan(21, 0);
    world.settle();
    for (int i = 0; i < 50; ++i) {
      world.slow[kGpu] = world.slow[kCpu] = 1.2;  // its cores, whichever device has them
      world.run(40);
      world.slow[kGpu] = world.slow[kCpu] = 1;
      world.run(40);
    }
    EXPECT_EQ(world.chooser.running(), gpu) << "seed " << seed;
    EXPECT_EQ(world.chooser.moves(), 0) << "seed " << seed;
  }
}

TEST(PlanChooser, ADeviceThatStaysALittleSlowerIsLeftAfterAWhile) {
  World world;
  world.plan(0, 20);
  const auto cpu = world.plan(21, 0);
  world.settle();
  world.slow[kGpu] = 1.2;
  world.run(40);
  EXPECT_EQ(world.chooser.moves(), 0);
  world.run(160);
  EXPECT_EQ(world.chooser.running(), cpu);
  EXPECT_EQ(world.chooser.moves(), 1);
}

TEST(PlanChooser, PlansThatAreCloseAreToldApartWhileTheMachinesSpeedWavers) {
  int wrong = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    World world(seed);
    world.plan(0, 9.45, 9);
    const auto cpu = world.plan(9, 0);
    std::minstd_rand random(seed);
    double speed = 1;
    while (world.now < 8) {  // by a few percent, for some tenths of a second each time
      speed = 1 + 0.95 * (speed - 1) + 0.015 * (static_cast<double>(random() % 1000) / 500 - 1);
      world.slow[kGpu] = world.slow[kCpu] = speed;
      world.run(1);
    }
    wrong += world.chooser.running() != cpu;
  }
  EXPECT_LE(wrong, 2);
}

TEST(PlanChooser, MovesAreAtMostTwoAMinuteHoweverTheDevicesSwing) {
  World world;
  world.plan(0, 20);
  world.plan(25, 0);
  world.run(70);
  for (int i = 0; i < 100; ++i) {
    world.slow[kGpu] = i % 2 ? 1 : 3;
    world.slow[kCpu] = i % 2 ? 3 : 1;
    world.run(70);
  }
  EXPECT_LE(world.chooser.moves(), 2 * static_cast<int>(std::ceil(world.now / 60)));
  EXPECT_GT(world.chooser.moves(), 0);
}

TEST(PlanChooser, APlanThatDisappointsIsLeftAloneForLongerEachTime) {
  World world;
  world.plan(0, 20);
  world.plan(25, 0);
  world.run(70);
  world.slow[kGpu] = world.slow[kCpu] = 3;  // both: nothing is gained by moving
  world.run(20000);
  EXPECT_GT(world.now, 1200);
  EXPECT_LE(world.chooser.moves(), 12);
}

TEST(PlanChooser, ADeviceThatHasBecomeFasterIsUsed) {
  World world;
  const auto cpu = world.plan(20, 0), gpu = world.plan(0, 22);
  world.slow[kGpu] = 1.5;
  world.run(70);
  ASSERT_EQ(world.chooser.running(), cpu);
  world.slow[kGpu] = 0.7;
  world.run(20000);  // some minutes: it is looked at again now and then
  EXPECT_EQ(world.chooser.running(), gpu);
}

TEST(PlanChooser, OnAMixedPlanTheDeviceThatIsSlowedIsFound) {
  World world;
  const auto both = world.plan(8, 10), cpu = world.plan(24, 0);
  world.run(70);
  ASSERT_EQ(world.chooser.running(), both);
  world.slow[kGpu] = 3;
  world.run(20);
  EXPECT_EQ(world.chooser.running(), cpu);
  EXPECT_NEAR(world.chooser.contention(kGpu), 3, 0.1);
  EXPECT_NEAR(world.chooser.contention(kCpu), 1, 0.1);
}

TEST(PlanChooser, WhatWasComparedBesideOthersIsComparedAgainWhenTheyHaveGone) {
  World world;
  const auto both = world.split(12);
  const auto cpu = world.plan(20, 0);
  world.slow[kGpu] = 2.5;  // all the time
  world.settle();
  world.run(60);
  EXPECT_EQ(world.chooser.running(), cpu);
  world.slow[kGpu] = 1;
  world.chooser.doubt();
  const int before = world.switches;
  world.run(200);
  EXPECT_EQ(world.chooser.running(), both);
  EXPECT_EQ(world.switches - before, 1);
}

TEST(PlanChooser, DoubtMovesNothingForGoodWhereTheTrialsWereRight) {
  World world;
  const auto gpu = world.plan(0, 20);
  world.plan(26, 0);
  world.settle();
  const int before = world.switches;
  world.chooser.doubt();
  world.run(2000);
  EXPECT_EQ(world.chooser.running(), gpu);
  EXPECT_EQ(world.switches - before, 2) << "there and back";
}

TEST(PlanChooser, TwoProgramsOnOneDevicePartAndStayApart) {
  World a(1), b(2);
  for (World* world : {&a, &b}) {
    world->plan(0, 20);
    world->plan(26, 0);
  }
  const auto on_gpu = [](const World& world) { return world.chooser.running() == 0; };
  for (int i = 0; i < 10000; ++i) {
    const bool share = on_gpu(a) == on_gpu(b);
    for (World* world : {&a, &b}) {
      const bool gpu = on_gpu(*world);
      world->slow[kGpu] = (gpu && share) || (!gpu && !share) ? 2 : 1;
      world->slow[kCpu] = !gpu && share ? 2 : 1;
    }
    a.run(1);
    b.run(1);
  }
  EXPECT_NE(on_gpu(a), on_gpu(b));
  for (const World* world : {&a, &b})
    EXPECT_LE(world->chooser.moves(), 2 * static_cast<int>(std::ceil(world->now / 60)));
}

}  // namespace
}  // namespace tandem
