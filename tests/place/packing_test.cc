// Parts of a graph that nothing joins, shared out whole.
#include "tandem/place/packing.h"

#include <gtest/gtest.h>

#include "tandem/place/solver.h"

namespace tandem {
namespace {

/// Chains that do not meet, each of nodes that take `us` on two equal devices; crossings take a hundred times as long
/// as a node.
placer::Problem chains(const std::vector<double>& us, int length) {
  PlaceGraph graph;
  for (const double each : us)
    for (int i = 0; i < length; ++i) {
      const auto v = static_cast<std::int32_t>(graph.nodes.size());
      graph.nodes.push_back({.id = std::to_string(v), .costs = {{"/CPU:0", each}, {"/GPU:0", each}}});
      if (i > 0) graph.edges.push_back({v - 1, v, 1'000'000});
    }
  const Machine machine{.devices = {{.name = "/CPU:0"}, {.name = "/GPU:0"}},
                        .links = {{"/CPU:0", "/GPU:0", 10, 1}, {"/GPU:0", "/CPU:0", 10, 1}}};
  return placer::make_problem(graph, machine, {});
}

TEST(Packing, PartsAreSharedOutSoThatTheBusiestDeviceHasLeastToDo) {
  const auto problem = chains({8, 7, 6, 5, 4}, 5);  // 8 + 7 against 6 + 5 + 4; the largest first would end with 17
  const auto assignment = placer::pack_parts(problem, 0, 1000);
  ASSERT_TRUE(assignment);
  double loads[2] = {};
  for (int v = 0; v < problem.nodes; ++v) {
    loads[(*assignment)[static_cast<std::size_t>(v)]] += problem.us(v, 0);
    EXPECT_EQ((*assignment)[static_cast<std::size_t>(v)], (*assignment)[static_cast<std::size_t>(v / 5 * 5)]) << v;
  }
  EXPECT_EQ(loads[0], 75);
  EXPECT_EQ(loads[1], 75);
}

TEST(Packing, OnePartOnlyIsNothingToShareOut) {
  EXPECT_FALSE(placer::pack_parts(chains({10}, 8), 0, 1000));
  EXPECT_TRUE(placer::pack_parts(chains({10}, 8), 2'000'000, 1000)) << "no edge is so large: every node is a part";
}

TEST(Packing, WithoutStepsTheFirstWayFoundIsTaken) {
  EXPECT_TRUE(placer::pack_parts(chains({8, 7, 6, 5, 4}, 5), 0, 0));
}

TEST(Packing, ChainsThatNothingJoinsUseBothDevicesHoweverDearCrossingsAre) {
  EXPECT_EQ(placer::solve(chains({10, 10}, 20)).makespan, 200);
  EXPECT_EQ(placer::solve(chains({8, 7, 6, 5, 4}, 20)).makespan, 300);
}

}  // namespace
}  // namespace tandem
