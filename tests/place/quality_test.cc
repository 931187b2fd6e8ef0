// How good the placer's schedules are: against the optimum, plain HEFT and single devices.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/base/cores.h"
#include "tandem/base/error.h"
#include "tandem/place/exact.h"
#include "tandem/place/solver.h"
#include "tests/place/brute_force.h"
#include "tests/place/random_graph.h"

namespace tandem {
namespace {

using testing::BruteForce;
using testing::PlaceInput;
using testing::random_input;
using testing::RandomCase;

constexpr double kCrossings[] = {0.1, 0.5, 1, 4};

/// Negative when the placer found nothing.
double placed(const PlaceInput& input) {
  try {
    const Schedule schedule = place(input.graph, input.machine);
    const auto complaints = validate(schedule, input.graph, input.machine);
    EXPECT_TRUE(complaints.empty()) << complaints[0];
    return schedule.makespan_us;
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::device_unavailable)
        << error.what();
    return -1;
  }
}

void expect_optimum(const RandomCase& wanted) {
  const PlaceInput input = random_input(wanted);
  const double best = BruteForce(input.graph, input.machine).makespan(), ours = placed(input);
  if (std::isinf(best)) EXPECT_EQ(ours, -1) << "seed " << wanted.seed;
  else
    EXPECT_NEAR(ours / best, 1, 1e-9) << "seed " << wanted.seed << ", " << wanted.nodes << " nodes, " << wanted.devices
                                      << " devices";
}

RandomCase small_case(unsigned seed, int nodes) {
  return {.nodes = nodes, .devices = 2 + static_cast<int>(seed % 2), .seed = seed, .crossing = kCrossings[seed % 4]};
}

TEST(PlaceQuality, TinyGraphsArePlacedAsWellAsTryingEverythingDoes) {
  for (unsigned seed = 0; seed < 60; ++seed) expect_optimum(small_case(seed, 3 + static_cast<int>(seed % 4)));
}

TEST(PlaceQuality, TinyGraphsWithOneWayLinksArePlacedAsWellAsTryingEverythingDoes) {
  for (unsigned seed = 100; seed < 160; ++seed) {
    RandomCase wanted = small_case(seed, 3 + static_cast<int>(seed % 4));
    wanted.one_way = true;
    expect_optimum(wanted);
  }
}

TEST(PlaceQuality, TinyGraphsInLittleMemoryArePlacedAsWellAsTryingEverythingDoes) {
  for (unsigned seed = 200; seed < 300; ++seed) {
    RandomCase wanted = small_case(seed, 3 + static_cast<int>(seed % 4));
    wanted.memory_share = 0.4 + 0.1 * (seed % 5);
    wanted.one_way = seed % 3 == 0;
    expect_optimum(wanted);
  }
}

TEST(PlaceQuality, ASmallGraphIsRefusedForItsMemoryOnlyWhenThatIsProved) {
  int refused = 0, placed = 0;
  for (unsigned seed = 400; seed < 520; ++seed) {
    RandomCase wanted = small_case(seed, 7 + static_cast<int>(seed % 6));
    wanted.memory_share = 0.25 + 0.07 * (seed % 5);
    const PlaceInput input = random_input(wanted);
    try {
      place(input.graph, input.machine);
      ++placed;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("that was found"), std::string::npos)
          << "seed " << seed << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GE(refused, 20);
  EXPECT_GE(placed, 20);
}

TEST(PlaceQuality, GraphsOfTwelveNodesAreWithinOnePercentOfTheOptimum) {
  double sum = 0, worst = 0;
  int count = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const PlaceInput input = random_input({.nodes = 9 + static_cast<int>(seed % 4),
                                           .devices = 2 + static_cast<int>(seed % 3),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4]});
    const auto problem = placer::make_problem(input.graph, input.machine, {});
    const auto exact = placer::search_exactly(problem, placer::kNever, 20'000'000);
    if (!exact.complete) continue;
    const double ratio = placed(input) / exact.makespan;
    sum += ratio;
    worst = std::max(worst, ratio);
    ++count;
  }
  EXPECT_GE(count, 195);
  EXPECT_LE(sum / count, 1.01);
  EXPECT_LE(worst, 1.05);
}

TEST(PlaceQuality, GraphsOfTwelveNodesInLittleMemoryAreWithinOnePercentOfTheOptimum) {
  double sum = 0, worst = 0;
  int count = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const PlaceInput input = random_input({.nodes = 8 + static_cast<int>(seed % 5),
                                           .devices = 2 + static_cast<int>(seed % 2),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4],
                                           .memory_share = 0.3 + 0.07 * (seed % 6),
                                           .one_way = seed % 4 == 0});
    const double ours = placed(input);
    if (ours < 0) continue;
    const auto problem = placer::make_problem(input.graph, input.machine, {});
    const auto better = placer::search_exactly(problem, ours * (1 - 1e-9), 2'000'000);
    const double ratio = better.timeline ? ours / better.makespan : 1;
    sum += ratio;
    worst = std::max(worst, ratio);
    ++count;
  }
  EXPECT_GE(count, 12);
  EXPECT_LE(sum / count, 1.01);
  EXPECT_LE(worst, 1.05);
}

TEST(PlaceQuality, NoScheduleIsLongerThanPlainHeftOrTheBestSingleDevice) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const PlaceInput input = random_input({.nodes = 20 + static_cast<int>(seed) * 12,
                                           .devices = 2 + static_cast<int>(seed % 4),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4]});
    const auto problem = placer::make_problem(input.graph, input.machine, {});
    const double ours = placed(input), slack = 1 + 1e-12;
    EXPECT_LE(ours, placer::plain_heft(problem) * slack) << seed;
    EXPECT_LE(ours, placer::best_single_device(problem) * slack) << seed;
    EXPECT_GE(ours * slack, problem.bound) << seed;
  }
}

/// Work is counted in steps: the same on every machine. The bound is that of ideal devices, which no schedule reaches.
TEST(PlaceQuality, GraphsOfFiftyToTwoHundredNodesAreAsCloseToTheBoundAsTheyHaveBeen) {
  double sum = 0;
  constexpr unsigned kGraphs = 32;
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    const PlaceInput input = random_input({.nodes = 50 + static_cast<int>(seed % 16) * 10,
                                           .devices = 2 + static_cast<int>(seed % 3),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4],
                                           .one_way = seed % 5 == 4});
    const auto problem = placer::make_problem(input.graph, input.machine, {});
    const double ours = placed(input);
    EXPECT_DOUBLE_EQ(ours, placer::solve(problem).makespan) << "seed " << seed << ": not the same twice";
    sum += ours / problem.bound;
  }
  EXPECT_LE(sum / kGraphs, 1.313);
}

TEST(PlaceQuality, AThoroughSearchFindsShorterPlansThanAQuickOne) {
  double sum = 0;
  constexpr unsigned kGraphs = 12;
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    const PlaceInput input = random_input({.nodes = 60 + static_cast<int>(seed) * 10,
                                           .devices = 2 + static_cast<int>(seed % 3),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4]});
    const Schedule thorough = place(input.graph, input.machine, {.thorough = true});
    EXPECT_TRUE(validate(thorough, input.graph, input.machine).empty()) << seed;
    const double ratio = thorough.makespan_us / placed(input);
    EXPECT_LE(ratio, 1.01) << seed;
    sum += ratio;
  }
  EXPECT_LE(sum / kGraphs, 0.99);
}

TEST(PlaceQuality, APlanDoesNotDependOnTheNumberOfThreads) {
  const int before = Cores::process().threads();
  for (unsigned seed = 0; seed < 6; ++seed) {
    const PlaceInput input = random_input({.nodes = 40 + static_cast<int>(seed) * 30,
                                           .devices = 2 + static_cast<int>(seed % 3),
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4],
                                           .memory_share = seed % 3 == 2 ? 0.5 : 0,
                                           .one_way = seed % 2 == 1});
    const auto problem = placer::make_problem(input.graph, input.machine, {});
    Cores::process().set_threads(1);
    const placer::Solution alone = placer::solve(problem);
    Cores::process().set_threads(3);
    const placer::Solution shared = placer::solve(problem);
    EXPECT_EQ(alone.makespan, shared.makespan) << "seed " << seed;
    EXPECT_EQ(alone.assignment, shared.assignment) << "seed " << seed;
  }
  Cores::process().set_threads(before);
}

/// Lists that keep to the memory find nothing for some of these; a search from beyond it does.
TEST(PlaceQuality, LargerGraphsThatBarelyFitArePlaced) {
  int found = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const PlaceInput input = random_input({.nodes = 60 + static_cast<int>(seed) * 5,
                                           .devices = 3,
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4],
                                           .memory_share = 0.3});
    if (placed(input) > 0) ++found;
  }
  EXPECT_GE(found, 10);
}

TEST(PlaceQuality, LimitsThatAreNotReachedMakeNoPlanLonger) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    PlaceInput input = random_input({.nodes = 40 + static_cast<int>(seed) * 20,
                                     .devices = 3,
                                     .seed = seed,
                                     .crossing = kCrossings[seed % 4],
                                     .memory_share = 0.95});
    ASSERT_TRUE(placer::make_problem(input.graph, input.machine, {}).any_limited) << seed;
    const double limited = placed(input);
    for (MachineDevice& device : input.machine.devices) device.memory = kUnlimited;
    EXPECT_EQ(limited, placed(input)) << seed;
  }
}

TEST(PlaceQuality, SchedulesOfLargerGraphsInLittleMemoryAreValid) {
  int found = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const PlaceInput input = random_input({.nodes = 60 + static_cast<int>(seed) * 10,
                                           .devices = 3,
                                           .seed = seed,
                                           .crossing = kCrossings[seed % 4],
                                           .memory_share = 0.35 + 0.02 * seed,
                                           .one_way = seed % 2 == 0});
    if (placed(input) > 0) ++found;  // placed() validates
  }
  EXPECT_GE(found, 15);
}

}  // namespace
}  // namespace tandem
