// Which steps are timed, with a clock that exists here only.
#include "tandem/runtime/step_sampler.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

class Steps {
 public:
  /// Runs steps of so many milliseconds; how many of them were timed.
  int run(int steps, double ms, bool comparing = false) {
    int timed = 0;
    for (int i = 0; i < steps; ++i) {
      sampler_.begin(now_s_);
      timed += sampler_.take(now_s_, comparing);
      now_s_ += ms / 1e3;
    }
    return timed;
  }

 private:
  StepSampler sampler_;
  double now_s_ = 1;
};

TEST(StepSampler, EveryStepIsTimedWhilePlansAreCompared) {
  Steps steps;
  EXPECT_EQ(steps.run(50, 20, true), 50);
}

TEST(StepSampler, OneStepInEightIsTimedWhileNothingChanges) {
  Steps steps;
  steps.run(50, 20, true);
  EXPECT_EQ(steps.run(80, 20), 10);
}

TEST(StepSampler, ShortStepsAreTimedEveryFiveMilliseconds) {
  Steps steps;
  EXPECT_NEAR(steps.run(1000, 0.25), 50, 2);
}

TEST(StepSampler, AStepThatTakesLongerIsFollowedByStepsThatAreTimed) {
  Steps steps;
  steps.run(80, 20);
  EXPECT_GE(steps.run(20, 40), 18);  // the first one is known to be longer when the second begins
  EXPECT_LE(steps.run(800, 40), 140);  // that has become usual
}

TEST(StepSampler, AStepThatTakesLessTimeIsFollowedByStepsThatAreTimed) {
  Steps steps;
  steps.run(80, 40);
  EXPECT_GE(steps.run(20, 20), 18);
}

TEST(StepSampler, APauseOfTheProgramTimesTwoSteps) {
  Steps steps;
  steps.run(80, 20);
  steps.run(1, 900);
  EXPECT_LE(steps.run(16, 20), 4);
}

TEST(StepSampler, NoiseOfAFewPercentTimesNothingMore) {
  Steps steps;
  steps.run(80, 20);
  int timed = 0;
  for (int i = 0; i < 40; ++i) timed += steps.run(1, 19.4) + steps.run(1, 20.6);
  EXPECT_EQ(timed, 10);
}

}  // namespace
}  // namespace tandem
