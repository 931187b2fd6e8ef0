// Traced functions on two devices: where the placer puts their ops, and that they run there.
#include "tandem/exec/graph_placement.h"

#include <gtest/gtest.h>

#include "tandem/base/error.h"
#include "tandem/exec/start_order.h"
#include "tandem/tandem.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

std::vector<std::string> chosen(const Explanation& e) {
  std::vector<std::string> list;
  for (const OpRecord& op : e.ops) list.push_back(op.op + " " + op.chosen);
  return list;
}

Tensor chain(Tensor x, const Tensor& w) {
  for (int i = 0; i < 4; ++i) x = matmul(x, w);
  return x;
}

TEST(GraphPlacement, LargeWorkGoesToTheFasterDeviceAndRunsThere) {
  WithMachine figures(cpu_and_gpu(20));
  auto f = function([](Tensor x, Tensor w) { return chain(x, w); });
  const Tensor x = ones({256, 256}) * 0.01f;
  const Tensor y = f(x, x);
  EXPECT_EQ(explain(y).device, "/GPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::cheaper_here);
  EXPECT_EQ(explain(y).requested, "");
  EXPECT_NEAR(y.to_vector<float>()[0], chain(x, x).to_vector<float>()[0], 1e-4);
}

TEST(GraphPlacement, SmallWorkStaysOnTheCpu) {
  WithMachine figures(cpu_and_gpu(20));
  auto f = function([](Tensor x, Tensor w) { return chain(x, w); });
  const Tensor x = ones({2, 2});
  EXPECT_EQ(explain(f(x, x)).device, "/CPU:0");
  for (const OpRecord& op : explain(f, {x, x}).ops) EXPECT_EQ(op.reason, ReasonCode::too_small) << op.text;
}

TEST(GraphPlacement, ASlowLinkKeepsWorkNearItsData) {
  auto f = function([](Tensor x) { return square(x); });
  const Tensor x = ones({1 << 20});
  {
    WithMachine figures(cpu_and_gpu(20, 1000));
    EXPECT_EQ(explain(f(x)).device, "/GPU:0");
  }
  WithMachine figures(cpu_and_gpu(20, 1));
  EXPECT_EQ(explain(f(x)).device, "/CPU:0");
  EXPECT_EQ(explain(f(x)).reason, ReasonCode::near_its_data);
}

TEST(GraphPlacement, AScopeInsideIsMetAndTheRestIsPlaced) {
  WithMachine figures(cpu_and_gpu(20));
  auto f = function([](Tensor x, Tensor w) {
    Tensor y = chain(x, w);
    DeviceScope scope("/CPU:0");
    return reduce_sum(y);
  });
  const Tensor x = ones({256, 256}) * 0.01f;
  const Explanation e = explain(f, {x, x});
  ASSERT_EQ(e.ops.size(), 5u);
  EXPECT_EQ(e.ops[0].chosen, "/GPU:0");
  EXPECT_EQ(e.ops[4].chosen, "/CPU:0");
  EXPECT_EQ(e.ops[4].reason, ReasonCode::requested);
  EXPECT_EQ(explain(f(x, x)).reason, ReasonCode::requested);
}

TEST(GraphPlacement, AScopeAroundTheCallIsMet) {
  WithMachine figures(cpu_and_gpu(20));
  auto f = function([](Tensor x, Tensor w) { return chain(x, w); });
  const Tensor x = ones({256, 256}) * 0.01f;
  DeviceScope scope("/CPU:0");
  const Tensor y = f(x, x);
  EXPECT_EQ(explain(y).device, "/CPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::requested);
}

TEST(GraphPlacement, AVariableThatIsUpdatedMovesToWhereTheUpdateRuns) {
  WithMachine figures(cpu_and_gpu(20, 0.5));
  const Variable w(ones({512, 512}) * 0.001f);
  auto step = function([&](Tensor x) {
    w.assign_sub(matmul(w, matmul(w, matmul(w, w))) * 0.1f);
    return reduce_sum(x);
  });
  const Tensor x = ones({4});
  step(x);
  step(x);
  ASSERT_NE(w.value().storage().space().device(), nullptr);
  EXPECT_EQ(w.value().storage().space().device()->name().short_name(), "/GPU:0");
  const Explanation e = explain(step, {x});
  EXPECT_TRUE(e.crossings.empty()) << e.to_text();  // nothing of it crosses in a later step
}

TEST(GraphPlacement, ALoopOfManySmallStepsStaysOnTheCpuAsSequential) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors& v) { return less(v[0], Tensor(1000.0f)); },
                      [](const Tensors& v) -> Tensors { return {v[0] + 1.0f}; }, {x}, {.maximum_iterations = 1000})[0];
  });
  const Tensor x(0.0f);
  const Explanation e = explain(f, {x}, {.machine = cpu_and_gpu(600)});
  ASSERT_EQ(chosen(e), (std::vector<std::string>{"while_loop /CPU:0"}));
  EXPECT_EQ(e.ops[0].reason, ReasonCode::sequential) << e.ops[0].text;
  WithMachine figures(cpu_and_gpu(600));
  EXPECT_EQ(f(x).item<float>(), 1000);
}

TEST(GraphPlacement, ALoopThatCountsIsReckonedWithItsTurns) {
  const auto launches = [](double step, const Tensor& end) {
    auto f = function([=](Tensor x) {
      const auto go_on = [&](const Tensors& v) { return logical_and(less(v[0], end), less(v[1], Tensor(1e9f))); };
      return while_loop(
          go_on, [=](const Tensors& v) -> Tensors { return {v[0] + Tensor(static_cast<float>(step)), v[1] * v[0]}; },
          {x, x})[1];
    });
    return explain(f, {Tensor(0.0f)}, {.machine = cpu_and_gpu(600)}).ops[0].launch_us;
  };
  const double of_a_thousand = launches(1, Tensor(1000.0f));
  EXPECT_NEAR(launches(1, Tensor(2000.0f)), 2 * of_a_thousand, 1e-6);
  EXPECT_NEAR(launches(4, Tensor(1000.0f)), of_a_thousand / 4, 1e-6);
  EXPECT_EQ(launches(-1, Tensor(1000.0f)), launches(-1, Tensor(2000.0f)));  // it counts elsewhere: the usual guess
}

TEST(GraphPlacement, ALoopOfLargeStepsRunsInsideWhereTheLoopWasPut) {
  WithMachine figures(cpu_and_gpu(20));
  auto f = function([](Tensor x, Tensor w) {
    return while_loop([](const Tensors&) { return less(Tensor(0.0f), Tensor(1.0f)); },
                      [&](const Tensors& v) -> Tensors { return {matmul(v[0], w)}; }, {x},
                      {.maximum_iterations = 3})[0];
  });
  const Tensor x = ones({256, 256}) * 0.01f;
  const Tensor y = f(x, x);
  EXPECT_EQ(explain(y).device, "/GPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::colocated);
  EXPECT_NEAR(y.to_vector<float>()[0], matmul(matmul(matmul(x, x), x), x).to_vector<float>()[0], 1e-4);
}

TEST(GraphPlacement, RandomNumbersDoNotDependOnTheOrderInWhichOpsStart) {
  auto f = function([](Tensor x) {
    return random_normal({4}, 0, 1, DType::f32, 7) + reduce_sum(matmul(x, x)) * 0.0f +
           random_normal({4}, 0, 1, DType::f32, 8);
  });
  const Tensor x = ones({256, 256});
  set_seed(3);
  default_runtime().devices();
  default_runtime().set_machine(cpu_and_gpu(0.001));
  const auto on_cpu = f(x).to_vector<float>();
  set_seed(3);
  default_runtime().set_machine(cpu_and_gpu(1000, 1000));
  const auto mixed = f(x).to_vector<float>();
  default_runtime().set_machine(std::nullopt);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(on_cpu[i], mixed[i], 1e-6);
}

TEST(GraphPlacement, TensorFlowsRuleTakesTheFirstGpu) {
  default_runtime().set_placement_policy(PlacementPolicy::first_gpu);
  auto f = function([](Tensor x) { return x + x; });
  const Tensor y = f(ones({2})), z = ones({2}) * 3.0f;
  default_runtime().set_placement_policy(PlacementPolicy::automatic);
  for (const Tensor* t : {&y, &z}) {
    EXPECT_EQ(explain(*t).device, "/GPU:0");
    EXPECT_EQ(explain(*t).reason, ReasonCode::requested);
  }
}

TEST(GraphPlacement, AnotherMachineShowsItsPlanNextToThisOne) {
  auto f = function([](Tensor x, Tensor w) { return chain(x, w); });
  const Tensor x = ones({256, 256});
  Machine fast = cpu_and_gpu(600);
  fast.name = "a desktop";
  fast.devices.push_back({.name = "/GPU:7", .peak_gflops = {{DType::f32, 1}}, .launch_us = 50});
  const Explanation e = explain(f, {x, x}, {.machine = fast});
  EXPECT_EQ(chosen(e), std::vector<std::string>(4, "matmul /GPU:0"));
  EXPECT_EQ(e.ops[0].candidates.size(), 3u);
  EXPECT_EQ(e.ops[0].dtype, "float32");
  EXPECT_EQ(e.ops[0].shape, "[256, 256]");
  EXPECT_GT(e.ops[0].transfer_us, 0);
  EXPECT_EQ(e.ops[0].launch_us, 5);
  EXPECT_TRUE(e.here_us);
  EXPECT_EQ(e.to_text().find("2 crossings, "), 0u) << e.to_text();
  EXPECT_NE(e.to_text().find("on a desktop; "), std::string::npos) << e.to_text();
}

TEST(StartOrder, HandsOverAsEarlyAsCanBeAndKeepsTheOrderOfEachDevice) {
  const int gpu = 0, other_gpu = 1;
  const auto order = [](const std::vector<StartItem>& items) { return start_order(items); };
  using Order = std::vector<std::int32_t>;
  // What is handed over goes before what keeps the thread at work, also when it is to start later.
  EXPECT_EQ(order({{.start = 0},
                   {.start = 4, .queue = &gpu},
                   {.start = 5, .queue = &gpu, .inputs = {0}},
                   {.start = 1, .inputs = {2}}}),
            (Order{1, 0, 2, 3}));
  // It does not overtake what its device is to do before.
  EXPECT_EQ(order({{.start = 0},
                   {.start = 9, .queue = &gpu},
                   {.start = 1, .queue = &gpu, .inputs = {0}},
                   {.start = 7, .queue = &other_gpu}}),
            (Order{3, 0, 2, 1}));
  // Devices take turns.
  EXPECT_EQ(order({{.queue = &gpu}, {.queue = &gpu}, {.queue = &gpu}, {.queue = &other_gpu}, {.queue = &other_gpu}}),
            (Order{0, 3, 1, 4, 2}));
  // One that has got nothing yet comes first, though it is to start later.
  EXPECT_EQ(order({{.start = 0, .queue = &gpu},
                   {.start = 1, .queue = &gpu},
                   {.start = 2, .queue = &gpu},
                   {.start = 8, .queue = &other_gpu}}),
            (Order{0, 3, 1, 2}));
  // That is last for which the thread would wait,
  EXPECT_EQ(order({{.queue = &gpu},
                   {.start = 1, .inputs = {0}},
                   {.start = 2, .inputs = {1}},
                   {.start = 3},
                   {.start = 4, .inputs = {3}}}),
            (Order{0, 3, 4, 1, 2}));
  // but for what a device waits for.
  EXPECT_EQ(
      order({{.queue = &gpu}, {.start = 1, .inputs = {0}}, {.start = 2, .queue = &gpu, .inputs = {1}}, {.start = 3}}),
      (Order{0, 1, 2, 3}));
  // Starts that contradict the inputs keep nothing back.
  EXPECT_EQ(order({{.start = 9, .queue = &gpu}, {.start = 1, .queue = &gpu, .inputs = {0}}}), (Order{0, 1}));
}

}  // namespace
}  // namespace tandem
