// Assignments by loads and crossings alone.
#include "tandem/place/partition.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// Two chains that do not meet, on two equal devices; to cross takes three times as long as a node.
placer::Problem two_chains(int length) {
  PlaceGraph graph;
  for (int v = 0; v < 2 * length; ++v) {
    graph.nodes.push_back({.id = std::to_string(v), .costs = {{"/CPU:0", 10}, {"/GPU:0", 10}}});
    if (v >= 2) graph.edges.push_back({v - 2, v, 20'000});
  }
  const Machine machine{.devices = {{.name = "/CPU:0"}, {.name = "/GPU:0"}},
                        .links = {{"/CPU:0", "/GPU:0", 10, 1}, {"/GPU:0", "/CPU:0", 10, 1}}};
  return placer::make_problem(graph, machine, {});
}

TEST(Partition, TwoChainsWithDearCrossingsGetADeviceEach) {
  const auto problem = two_chains(10);
  placer::Assignment assignment(20);
  for (std::size_t v = 0; v < 20; ++v) assignment[v] = static_cast<std::uint8_t>(v / 3 % 2);  // as mixed as it could be
  placer::partition(problem, assignment, {.work = 4000, .crossing_weight = 0.1}, 1);
  for (std::size_t v = 2; v < 20; ++v) EXPECT_EQ(assignment[v], assignment[v - 2]) << v;
  EXPECT_NE(assignment[0], assignment[1]);
  EXPECT_EQ(placer::Decoder(problem).run(placer::order_of(problem, assignment), assignment), 100);
}

TEST(Partition, NoStepsLeaveTheAssignmentAsItWas) {
  const auto problem = two_chains(3);
  placer::Assignment assignment{0, 1, 1, 0, 0, 1};
  const placer::Assignment before = assignment;
  placer::partition(problem, assignment, {.work = 0, .crossing_weight = 0.1}, 1);
  EXPECT_EQ(assignment, before);
}

}  // namespace
}  // namespace tandem
