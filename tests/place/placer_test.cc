// The placer's decisions, one idea a test.
#include <gtest/gtest.h>

#include "tandem/base/error.h"
#include "tandem/place/explanation.h"
#include "tests/place/random_graph.h"

namespace tandem {
namespace {

/// A CPU and a GPU with a link each way: 10 us and 1 GB/s, so 1000 bytes take 11 us.
Machine two_devices() {
  return {.devices = {{.name = "/CPU:0"}, {.name = "/GPU:0"}},
          .links = {{"/CPU:0", "/GPU:0", 10, 1}, {"/GPU:0", "/CPU:0", 10, 1}}};
}

PlaceNode node(const std::string& id, double cpu, double gpu, std::int64_t memory = 0) {
  return {.id = id, .costs = {{"/CPU:0", cpu}, {"/GPU:0", gpu}}, .memory = memory};
}

Schedule placed(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints = {}) {
  const Schedule schedule = place(graph, machine, constraints);
  const auto complaints = validate(schedule, graph, machine);
  EXPECT_TRUE(complaints.empty()) << complaints[0];
  for (const Placement& p : schedule.nodes) EXPECT_FALSE(p.text.empty());
  return schedule;
}

std::pair<ErrorCode, std::string> complaint(const PlaceGraph& graph, const Machine& machine,
                                            const Constraints& constraints = {}) {
  try {
    place(graph, machine, constraints);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "none"};
}

TEST(Placer, AnOpRunsWhereItIsCheapest) {
  const Schedule s = placed({.nodes = {node("a", 10, 2)}}, two_devices());
  EXPECT_EQ(s.nodes[0].device, 1);
  EXPECT_EQ(s.nodes[0].reason, ReasonCode::cheaper_here);
  EXPECT_DOUBLE_EQ(s.makespan_us, 2);
  EXPECT_TRUE(s.optimal);
}

TEST(Placer, AnOpStaysNearItsDataWhenTheCopyCostsMoreThanItSaves) {
  PlaceGraph graph{.nodes = {node("a", 1, 500), node("b", 60, 2)}, .edges = {{0, 1, 100'000}}};
  const Schedule s = placed(graph, two_devices());
  EXPECT_EQ(s.nodes[1].device, 0);
  EXPECT_EQ(s.nodes[1].reason, ReasonCode::near_its_data);
  graph.edges[0].bytes = 1000;  // 11 us to cross, 58 saved
  EXPECT_EQ(placed(graph, two_devices()).nodes[1].device, 1);
  graph.nodes[1] = node("b", 9, 2);  // 7 saved, less than the latency
  EXPECT_EQ(placed(graph, two_devices()).nodes[1].reason, ReasonCode::too_small);
}

TEST(Placer, AValueCrossesOnceHoweverManyReadIt) {
  PlaceGraph graph{.nodes = {node("a", 1, 900)}};
  for (int i = 0; i < 5; ++i) {
    graph.nodes.push_back(node("b" + std::to_string(i), 500, 3));
    graph.edges.push_back({0, i + 1, 1000});
  }
  const Schedule s = placed(graph, two_devices());
  EXPECT_EQ(s.copies.size(), 1u);
  EXPECT_DOUBLE_EQ(s.makespan_us, 1 + 11 + 5 * 3);
}

TEST(Placer, IndependentBranchesRunOnBothDevicesAtOnce) {
  const Schedule s = placed({.nodes = {node("a", 10, 10), node("b", 10, 10)}}, two_devices());
  EXPECT_NE(s.nodes[0].device, s.nodes[1].device);
  EXPECT_DOUBLE_EQ(s.makespan_us, 10);
}

TEST(Placer, DevicesThatShareACoreDoNotRunAtOnce) {
  Machine machine = two_devices();
  machine.devices[0].cores = {0, 1};
  machine.devices[1].cores = {1};
  const Schedule s = placed({.nodes = {node("a", 10, 10), node("b", 10, 10)}}, machine);
  EXPECT_DOUBLE_EQ(s.makespan_us, 20);
}

TEST(Placer, ALoopOfDependentStepsStaysOnTheCpu) {
  const Machine machine = read_machine(std::string(TANDEM_SOURCE_DIR) + "/machines/rtx3080.json");
  const PlaceNode loop{.id = "while", .work = OpWork{.op = "while", .flops = 1000, .bytes = 4000, .depth = 1000}};
  const PlaceNode large{.id = "matmul", .work = OpWork{.op = "matmul", .flops = 2e11, .bytes = 2e8}};
  const PlaceNode small{.id = "add", .work = OpWork{.op = "add", .flops = 4, .bytes = 48}};
  const Schedule s = placed({.nodes = {loop, large, small}}, machine);
  EXPECT_EQ(s.nodes[0].device, 0);
  EXPECT_EQ(s.nodes[0].reason, ReasonCode::sequential);
  EXPECT_EQ(s.nodes[1].device, 1);
  EXPECT_EQ(s.nodes[1].reason, ReasonCode::cheaper_here);
  EXPECT_DOUBLE_EQ(s.nodes[1].launch_us, 5);
  EXPECT_EQ(s.nodes[2].reason, ReasonCode::too_small);
}

TEST(Placer, ARequestIsMetAndGivesWayOnlyWhenAllowed) {
  PlaceGraph graph{.nodes = {node("a", 1, 100)}};
  graph.nodes[0].requested = "gpu:0";
  EXPECT_EQ(placed(graph, two_devices()).nodes[0].reason, ReasonCode::requested);
  EXPECT_EQ(placed(graph, two_devices()).nodes[0].device, 1);

  graph.nodes[0].requested = "/GPU:7";
  EXPECT_EQ(complaint(graph, two_devices()).first, ErrorCode::device_unavailable);
  EXPECT_NE(complaint(graph, two_devices()).second.find("nodes[0] \"a\" asks for /GPU:7"), std::string::npos);
  EXPECT_NE(complaint(graph, two_devices()).second.find("could run on /CPU:0, /GPU:0"), std::string::npos);
  EXPECT_EQ(placed(graph, two_devices(), {.soft = true}).nodes[0].reason, ReasonCode::device_missing);

  graph.nodes[0] = {.id = "a", .costs = {{"/CPU:0", 1}}, .requested = "/GPU:0"};
  EXPECT_EQ(complaint(graph, two_devices()).first, ErrorCode::no_kernel);
  EXPECT_EQ(placed(graph, two_devices(), {.soft = true}).nodes[0].reason, ReasonCode::no_kernel);

  graph.nodes[0] = node("a", 5, 1);
  graph.nodes[0].requested = "/GPU:0";
  EXPECT_EQ(complaint(graph, two_devices(), {.visible = {"/CPU:0"}}).first, ErrorCode::device_unavailable);
  EXPECT_EQ(placed(graph, two_devices(), {.soft = true, .visible = {"/CPU:0"}}).nodes[0].reason,
            ReasonCode::not_visible);
}

TEST(Placer, WhereThereIsNoChoiceTheReasonSaysWhy) {
  EXPECT_EQ(placed({.nodes = {{.id = "a", .costs = {{"/CPU:0", 1}}}}}, two_devices()).nodes[0].reason,
            ReasonCode::no_kernel);
  EXPECT_EQ(
      placed({.nodes = {{.id = "a", .costs = {{"/CPU:0", 1}}}}}, {.devices = {{.name = "/CPU:0"}}}).nodes[0].reason,
      ReasonCode::only_device);
  EXPECT_EQ(placed({.nodes = {node("a", 9, 1)}}, two_devices(), {.visible = {"/CPU:0"}}).nodes[0].reason,
            ReasonCode::only_device);
  PlaceGraph host{.nodes = {node("a", 9, 1)}};
  host.nodes[0].host_value = true;
  EXPECT_EQ(placed(host, two_devices()).nodes[0].reason, ReasonCode::host_value);
  PlaceGraph pair{.nodes = {node("a", 1, 50), node("b", 50, 49)}};
  pair.nodes[1].together = 0;
  EXPECT_EQ(placed(pair, two_devices()).nodes[1].device, 0);
  EXPECT_EQ(placed(pair, two_devices()).nodes[1].reason, ReasonCode::colocated);
}

TEST(Placer, ADeviceSlowedByOthersIsLeftAlone) {
  const PlaceGraph graph{.nodes = {node("a", 10, 4)}};
  const Schedule s = placed(graph, two_devices(), {.contention = {{"/GPU:0", 5}}});
  EXPECT_EQ(s.nodes[0].device, 0);
  EXPECT_EQ(s.nodes[0].reason, ReasonCode::contention);
}

TEST(Placer, AnOpThatDoesNotFitADeviceGoesElsewhere) {
  Machine machine = two_devices();
  machine.devices[1].memory = 1000;
  const Schedule s = placed({.nodes = {node("a", 10, 1, 2000)}}, machine);
  EXPECT_EQ(s.nodes[0].device, 0);
  EXPECT_EQ(s.nodes[0].reason, ReasonCode::memory);
}

TEST(Placer, ACopyWaitsUntilThereIsRoomForIt) {
  // b, with an output of 60 that d frees, keeps the GPU's 100 bytes from taking the 50 of a before.
  Machine machine = two_devices();
  machine.devices[1].memory = 100;
  PlaceGraph graph{.nodes = {{.id = "a", .costs = {{"/CPU:0", 1}}, .memory = 50},
                             {.id = "b", .costs = {{"/GPU:0", 100}}, .memory = 60},
                             {.id = "c", .costs = {{"/GPU:0", 5}}, .memory = 0},
                             {.id = "d", .costs = {{"/GPU:0", 10}}, .memory = 0}},
                   .edges = {{0, 2, 0}, {1, 3, 0}}};
  const Schedule s = placed(graph, machine);
  ASSERT_EQ(s.copies.size(), 1u);
  EXPECT_GE(s.copies[0].start_us, 110);
  EXPECT_DOUBLE_EQ(s.makespan_us, 100 + 10 + 10 + 5);
}

TEST(Placer, WhenNothingFitsTheErrorNamesTheNodeAndTheBytes) {
  Machine machine = two_devices();
  machine.devices[0].memory = machine.devices[1].memory = 1000;
  const auto [code, text] = complaint({.nodes = {node("a", 1, 1, 1500)}}, machine);
  EXPECT_EQ(code, ErrorCode::out_of_memory);
  EXPECT_NE(text.find("\"a\""), std::string::npos);
  EXPECT_NE(text.find("500 bytes are missing"), std::string::npos);

  // Three results stay until the end; two devices hold one each.
  const auto [code2, text2] =
      complaint({.nodes = {node("x", 1, 1, 600), node("y", 1, 1, 600), node("z", 1, 1, 600)}}, machine);
  EXPECT_EQ(code2, ErrorCode::out_of_memory);
  EXPECT_NE(text2.find("200 bytes are missing"), std::string::npos) << text2;
}

TEST(Placer, NoLinkMeansNoWay) {
  Machine machine = two_devices();
  machine.links.pop_back();  // nothing comes back from the GPU
  PlaceGraph graph{.nodes = {node("a", 100, 1), node("b", 1, 100)}, .edges = {{0, 1, 10}}};
  graph.nodes[1].requested = "/CPU:0";
  EXPECT_EQ(placed(graph, machine).nodes[0].device, 0);
  graph.nodes[0].requested = "/GPU:0";
  const auto [code, text] = complaint(graph, machine);
  EXPECT_EQ(code, ErrorCode::device_unavailable);
  EXPECT_NE(text.find("add a link from /GPU:0 to /CPU:0"), std::string::npos) << text;
}

TEST(Placer, BadGraphsAreRefusedWithThePlace) {
  PlaceGraph cycle{.nodes = {node("a", 1, 1), node("b", 1, 1), node("c", 1, 1)},
                   .edges = {{0, 1, 0}, {1, 2, 0}, {2, 1, 0}}};
  EXPECT_NE(complaint(cycle, two_devices()).second.find("cycle at nodes[1] \"b\": b -> c -> b"), std::string::npos)
      << complaint(cycle, two_devices()).second;
  for (const double bad : {-1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    EXPECT_EQ(complaint({.nodes = {node("a", bad, 1)}}, two_devices()).first, ErrorCode::invalid_argument);
  const auto endless = complaint({.nodes = {node("a", 1e308, 1e308), node("b", 1e308, 1e308)}}, two_devices());
  EXPECT_NE(endless.second.find("nodes[1] \"b\" costs 1e+308 us"), std::string::npos) << endless.second;
  EXPECT_EQ(complaint({.nodes = {node("a", 1, 1)}, .edges = {{0, 5, 0}}}, two_devices()).first,
            ErrorCode::invalid_argument);
  EXPECT_EQ(complaint({.nodes = {node("a", 1, 1)}}, {}).first, ErrorCode::invalid_argument);
  EXPECT_TRUE(placed({}, two_devices()).nodes.empty());
}

TEST(Placer, ALinkThatTakesForEverIsNamed) {
  const PlaceGraph graph{.nodes = {{.id = "a", .costs = {{"/CPU:0", 1}}}, {.id = "b", .costs = {{"/GPU:0", 1}}}},
                         .edges = {{0, 1, 1000}}};
  for (const MachineLink& slow :
       {MachineLink{"/CPU:0", "/GPU:0", 1e308, 1}, MachineLink{"/CPU:0", "/GPU:0", 0, 1e-320}}) {
    Machine machine = two_devices();
    machine.links[0] = slow;
    const auto [code, text] = complaint(graph, machine);
    EXPECT_EQ(code, ErrorCode::invalid_argument);
    EXPECT_NE(text.find("the link from /CPU:0 to /GPU:0"), std::string::npos) << text;
  }
}

TEST(Placer, TheSameInputGivesTheSameSchedule) {
  const auto input = testing::random_input({.nodes = 80, .devices = 3, .seed = 5});
  const Schedule a = placed(input.graph, input.machine), b = placed(input.graph, input.machine);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    EXPECT_TRUE(a.nodes[i].device == b.nodes[i].device && a.nodes[i].start_us == b.nodes[i].start_us);
}

TEST(Placer, ZeroCostsAndOpsReadTwiceAreFine) {
  const PlaceGraph graph{.nodes = {node("a", 0, 0), node("b", 0, 0), node("c", 1, 1)},
                         .edges = {{0, 1, 5}, {0, 1, 7}, {1, 2, 0}, {0, 2, 3}}};
  EXPECT_DOUBLE_EQ(placed(graph, two_devices()).makespan_us, 1);
}

TEST(PlaceValidator, EveryKindOfBrokenScheduleIsSeen) {
  const PlaceGraph graph{.nodes = {node("a", 1, 900, 60), node("b", 500, 3, 60), node("c", 500, 3, 60)},
                         .edges = {{0, 1, 1000}, {0, 2, 1000}}};
  const Machine machine = two_devices();
  const Schedule right = placed(graph, machine);
  const auto broken = [&](auto change) {
    Schedule s = right;
    change(s);
    return !validate(s, graph, machine).empty();
  };
  EXPECT_TRUE(broken([](Schedule& s) { s.nodes[1].start_us -= 5, s.nodes[1].finish_us -= 5; }));  // before its input
  EXPECT_TRUE(broken([](Schedule& s) {
    s.nodes[2].start_us = s.nodes[1].start_us + 1, s.nodes[2].finish_us = s.nodes[2].start_us + 3;
  }));
  EXPECT_TRUE(broken([](Schedule& s) { s.nodes[2].finish_us -= 1; }));  // too fast
  EXPECT_TRUE(broken([](Schedule& s) { s.copies.clear(); }));  // never crosses
  EXPECT_TRUE(broken([](Schedule& s) { s.copies.push_back(s.copies[0]); }));  // crosses twice
  EXPECT_TRUE(
      broken([](Schedule& s) { s.copies[0].start_us -= 1, s.copies[0].finish_us -= 1; }));  // before it is there
  EXPECT_TRUE(broken([](Schedule& s) { s.copies[0].start_us += 5; }));  // too fast
  EXPECT_TRUE(broken([](Schedule& s) { s.makespan_us += 1; }));
  Machine small = machine;
  small.devices[1].memory = 179;
  EXPECT_FALSE(validate(right, graph, small).empty());
  small.devices[1].memory = 180;
  EXPECT_TRUE(validate(right, graph, small).empty());
}

TEST(PlaceExplanation, TheTextBeginsWithTheCrossings) {
  const PlaceGraph graph{.nodes = {node("a", 1, 900), node("say \"b\"", 500, 3)}, .edges = {{0, 1, 1000}}};
  const Explanation e = explain(placed(graph, two_devices()), graph, two_devices());
  EXPECT_TRUE(
      e.to_text().starts_with("1 crossing, 1000 B, 11 us\n  /CPU:0 -> /GPU:0: 1, 1000 B, 11 us\n    a, /CPU:0 -> "
                              "/GPU:0: 1000 B, 11 us\npredicted 15 us"))
      << e.to_text();
  EXPECT_NE(e.to_json().find("\"reason\": \"cheaper_here\""), std::string::npos);
  EXPECT_NE(e.to_dot().find("n0 -> n1 [color=red];"), std::string::npos);
  EXPECT_NE(e.to_dot().find("say \\\"b\\\""), std::string::npos);
  EXPECT_EQ(e.ops[1].bytes_moved, 1000);
  EXPECT_DOUBLE_EQ(e.ops[1].transfer_us, 11);
  EXPECT_NE(timeline_text(e).find("/CPU:0 > /GPU:0 |"), std::string::npos);
}

}  // namespace
}  // namespace tandem
