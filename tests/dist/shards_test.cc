#include "tandem/dist/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/error_of.h"

namespace tandem {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes sizes(std::int64_t rows, std::vector<double> speeds) { return shard_sizes(rows, speeds); }

TEST(Shards, FollowSpeed) {
  EXPECT_EQ(sizes(10, {1, 1}), (Sizes{5, 5}));
  EXPECT_EQ(sizes(11, {1, 1}), (Sizes{6, 5}));
  EXPECT_EQ(sizes(10, {3, 1}), (Sizes{8, 2}));
  EXPECT_EQ(sizes(3, {1, 1, 1, 1}), (Sizes{1, 1, 1, 0}));
  EXPECT_EQ(sizes(7, {1, 0}), (Sizes{7, 0}));
  EXPECT_EQ(sizes(0, {1, 1}), (Sizes{0, 0}));
}

TEST(Shards, ChangeWithAReasonAndNotForNoise) {
  Shards shards({"/CPU:0", "/GPU:0"});
  EXPECT_EQ(shards.reason(), "equal shards: nothing has been measured yet");
  const std::string equal = shards.key();
  EXPECT_TRUE(shards.take_measured({100, 300}));
  EXPECT_EQ(shards.reason(), "by measured speed: /CPU:0 25 % (100 rows/s), /GPU:0 75 % (300 rows/s)");
  EXPECT_EQ(shards.sizes(8), (Sizes{2, 6}));
  EXPECT_NE(shards.key(), equal);
  EXPECT_FALSE(shards.take_measured({105, 300}));
  EXPECT_EQ(shards.sizes(8), (Sizes{2, 6}));
}

TEST(Shards, AreThoseOfTheDevicesThatAreLeft) {
  Shards shards({"/CPU:0", "/GPU:0", "/GPU:1"});
  shards.fix({1, 0, 3});
  EXPECT_TRUE(shards.fixed());
  EXPECT_EQ(shards.reason(), "as set: /CPU:0 25 %, /GPU:0 0 %, /GPU:1 75 %");
  shards.leave(2, "it failed");
  EXPECT_EQ(shards.reason(), "/CPU:0 100 %, /GPU:0 0 %: /GPU:1 has left the group (it failed)");
  shards.leave(0, "it failed");
  EXPECT_EQ(shards.sizes(4), (Sizes{4})) << "the one that had nothing has all";
  EXPECT_NE(error_of([&] {
              shards.fix({1, 2});
            }).find("set_speeds needs 1 numbers that are not all 0 and have a finite sum, got [1, 2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { shards.fix({-1}); }).find("got [-1]"), std::string::npos);
}

/// Two devices that wait for each other, the second slower than it seemed.
struct Pair {
  std::shared_ptr<Shards> shards = std::make_shared<Shards>(std::vector<std::string>{"/CPU:0", "/GPU:0"});
  std::vector<double> speeds;

  double seconds() const {
    const auto& now = shards->speeds();
    return 1000 * std::max(now[0] / speeds[0], now[1] / speeds[1]) / (now[0] + now[1]);
  }
  bool settles(Tuner& tuner) const {
    for (int i = 0; i < 200 && !tuner.settled(); ++i) tuner.note(10, 10 * seconds());
    return tuner.settled();
  }
};

TEST(Tuner, FindsTheShardsByHowLongStepsTakeAndAgainWhenADeviceBecomesSlower) {
  Pair pair{.speeds = {1000, 1500}};
  pair.shards->take_measured({1000, 3000});
  Tuner tuner(pair.shards);
  const double before = pair.seconds();
  ASSERT_TRUE(pair.settles(tuner));
  EXPECT_LT(pair.seconds(), 0.85 * before);
  EXPECT_LT(pair.seconds(), 1.03 * 1000 / 2500);
  EXPECT_NE(pair.shards->reason().find("by how long steps take: /CPU:0"), std::string::npos) << pair.shards->reason();
  pair.speeds = {1000, 300};  // somebody else uses the GPU
  const double slow = pair.seconds();
  for (int i = 0; i <= Tuner::kPatience; ++i) tuner.note(10, 10 * pair.seconds());
  ASSERT_TRUE(pair.settles(tuner));
  EXPECT_LT(pair.seconds(), 0.6 * slow);
  EXPECT_NE(pair.shards->reason().find("steps had become slower"), std::string::npos) << pair.shards->reason();
}

TEST(Tuner, KeepsTheShardsThatWereTimedWhileSomethingElseHadTheMachine) {
  Pair pair{.speeds = {1000, 1000}};
  pair.shards->take_measured({1000, 1000});
  Tuner tuner(pair.shards);
  while (tuner.best_seconds() < 0) tuner.note(10, 10 * 2 * pair.seconds());
  ASSERT_TRUE(pair.settles(tuner));
  EXPECT_EQ(pair.shards->sizes(100), (Sizes{50, 50})) << pair.shards->reason();
  EXPECT_DOUBLE_EQ(tuner.best_seconds(), 0.5);
}

TEST(Tuner, IsNearTheBestDivisionWhenTimesScatterByATenth) {
  double worst = 0, all = 0;
  constexpr int kRuns = 400;
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> scatter(1, 1.1);
  for (int run = 0; run < kRuns; ++run) {
    Pair pair{.speeds = {900.0 + run, 1000}};
    pair.shards->take_measured({1000, 1000});
    Tuner tuner(pair.shards);
    for (int i = 0; i < 200 && !tuner.settled(); ++i) tuner.note(10, 10 * scatter(random) * pair.seconds());
    ASSERT_TRUE(tuner.settled());
    const double beside_best = pair.seconds() * (1900 + run) / 1000;
    worst = std::max(worst, beside_best);
    all += beside_best;
  }
  EXPECT_LT(worst, 1.05);
  EXPECT_LT(all / kRuns, 1.008);
}

TEST(Tuner, LooksAgainLaterEverMoreSeldomAndFindsWhatSomethingElseHadHidden) {
  Pair pair{.speeds = {20000, 20000}};
  pair.shards->take_measured({1, 1});
  Tuner tuner(pair.shards);
  pair.speeds = {20000, 14000};  // while the search goes on, and not by so much that it would begin anew
  ASSERT_TRUE(pair.settles(tuner));
  pair.speeds = {20000, 20000};
  EXPECT_GT(pair.seconds(), 1.1 / 40);
  const auto moves_in = [&](int stretches) {
    int moves = 0;
    for (int i = 0; i < stretches; ++i) moves += tuner.note(2, 2 * pair.seconds());
    return moves;
  };
  EXPECT_EQ(moves_in(50), 0) << "it has only just settled";
  EXPECT_GT(moves_in(10000), 0);
  EXPECT_LT(pair.seconds(), 1.03 / 40);
  EXPECT_LE(moves_in(10000), 70) << "of five minutes";
}

TEST(Tuner, BeginsAnewWhenADeviceHasLeft) {
  const auto shards = std::make_shared<Shards>(std::vector<std::string>{"/CPU:0", "/GPU:0", "/GPU:1"});
  Tuner tuner(shards);
  for (int i = 0; i < 200; ++i) tuner.note(1, 1);
  ASSERT_TRUE(tuner.settled());
  shards->leave(1, "it failed");
  for (int i = 0; i < 200; ++i) tuner.note(1, 1);
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(shards->sizes(4), (Sizes{2, 2}));
}

TEST(Tuner, SaysOnceWhenAllDevicesTogetherAreSlowerThanOne) {
  Pair pair{.speeds = {1000, 1000}};
  Tuner tuner(pair.shards);
  tuner.set_single(0.1, "/CPU:0");
  EXPECT_EQ(tuner.slower_together(), "");  // it is still searching
  ASSERT_TRUE(pair.settles(tuner));
  EXPECT_EQ(
      tuner.slower_together(),
      "MirroredStrategy: a step takes 500.000 ms on /CPU:0, /GPU:0 together and about 100.000 ms on /CPU:0 alone: "
      "OneDeviceStrategy(\"/CPU:0\") is faster here");
  EXPECT_EQ(tuner.slower_together(), "");
}

}  // namespace
}  // namespace tandem
