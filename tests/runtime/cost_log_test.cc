// What later programs learn of this one.
#include "tandem/runtime/cost_log.h"

#include <gtest/gtest.h>

#include "tandem/base/core_use.h"

namespace tandem {
namespace {

const HistoryKey kAdd{"add", DType::f32, 20, "/CPU:0"};

/// A log whose spans end with every call, and what became of the cores in each.
struct Told {
  CoreUse use{.wall_s = 1, .own_s = 1, .cores = 2};
  CostLog log{[this] { return use; }, 0};

  void learn(double us, const CostHistory& known = {}) {
    const CostLog::Sample sample{&kAdd, 100, us};
    log.add({&sample, 1}, known);
  }
  double ratio(const CostHistory& history) const { return history.find(kAdd) ? history.find(kAdd)->ratio : 0; }
  double now() const {
    CostHistory history;
    log.merge_into(history);
    return ratio(history);
  }
  double lasting() {
    CostHistory history;
    log.merge_lasting_into(history);
    return ratio(history);
  }
};

TEST(CostLog, WhatWasSeenInQuietIsKeptForLaterPrograms) {
  Told told;
  told.learn(200);
  EXPECT_EQ(told.now(), 2);
  EXPECT_EQ(told.lasting(), 2);
}

TEST(CostLog, WhatWasSeenBesideOthersServesThisProgramOnly) {
  Told told;
  told.use.waited_s = 0.5;
  told.learn(400);
  EXPECT_EQ(told.now(), 4);
  EXPECT_EQ(told.lasting(), 0);
  CostHistory none;
  EXPECT_FALSE(told.log.merge_lasting_into(none));
  EXPECT_TRUE(none.entries().empty());
}

TEST(CostLog, ASampleIsJudgedByTheSpanItWasTakenIn) {
  Told told;
  told.learn(200);
  told.use.waited_s = 0.5;  // the span that has the first sample ends disturbed
  told.learn(100);
  told.use.waited_s = 0;    // that of the second ends in quiet
  EXPECT_EQ(told.lasting(), 1);
  EXPECT_EQ(told.now(), 1.5);
}

TEST(CostLog, WhatWasKnownBeforeIsTheBeginningOfBoth) {
  Told told;
  CostHistory known;
  known.set(kAdd, {.ratio = 1, .samples = 1});
  told.use.waited_s = 0.5;
  told.learn(300, known);
  EXPECT_EQ(told.now(), 2);
  known.set(kAdd, {.ratio = told.now(), .samples = 2});  // as the machine has it by then
  told.learn(300, known);
  told.use.waited_s = 0;
  EXPECT_EQ(told.lasting(), 2) << "the mean of what was known and the one sample of a quiet span";
}

TEST(CostLog, OtherFiguresBeginAnew) {
  Told told;
  told.learn(200);
  told.log.clear();
  EXPECT_TRUE(told.log.empty());
  EXPECT_EQ(told.lasting(), 0);
}

}  // namespace
}  // namespace tandem
