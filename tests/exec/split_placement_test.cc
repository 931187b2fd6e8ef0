// Several devices at work on one op: when the placer splits it, and that the results are the same.
#include "tandem/exec/split_placement.h"

#include <gtest/gtest.h>

#include <set>

#include "tandem/base/event_sink.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

/// Two devices with memories of their own speed ratio, each on a core of its own or both on one.
Machine machine(double gpu_gflops, bool one_core = false, double gb_per_s = 10) {
  return {
      .devices = {{.name = "/CPU:0", .peak_gflops = {{DType::f32, 50}}, .gb_per_s = 10, .launch_us = 0.2, .cores = {0}},
                  {.name = "/GPU:0",
                   .peak_gflops = {{DType::f32, gpu_gflops}},
                   .gb_per_s = 10,
                   .launch_us = 5,
                   .cores = {one_core ? 0 : 1}}},
      .links = {{"/CPU:0", "/GPU:0", 10, gb_per_s}, {"/GPU:0", "/CPU:0", 10, gb_per_s}}};
}

const auto batched = [](Tensor x, Tensor y) { return matmul(x, y); };

std::vector<std::string> devices_of_matmuls(const Explanation& e) {
  std::vector<std::string> devices;
  for (const OpRecord& op : e.ops)
    if (op.op == "matmul") devices.push_back(op.chosen);
  std::ranges::sort(devices);
  return devices;
}

TEST(SplitPlacement, ALargeBatchedMatmulRunsOnBothDevicesAndSaysWhichShareIsWhere) {
  WithMachine figures(machine(50));
  auto f = function(batched);
  const Tensor x = random_normal({16, 256, 256}), y = random_normal({16, 256, 256});
  const Explanation e = explain(f, {x, y});
  EXPECT_EQ(devices_of_matmuls(e), (std::vector<std::string>{"/CPU:0", "/GPU:0"})) << e.to_text();
  int told = 0;
  for (const OpRecord& op : e.ops) told += op.op == "matmul" && op.text.find("of 16") != std::string::npos;
  EXPECT_EQ(told, 2) << e.to_text();

  const auto found = f(x, y).to_vector<float>(), expected = matmul(x, y).to_vector<float>();
  for (std::size_t i = 0; i < expected.size(); i += 997) ASSERT_NEAR(found[i], expected[i], 1e-2);
}

TEST(SplitPlacement, RowsAreReadAndWrittenWhereTheyLie) {
  WithMachine figures(machine(50, false, 100));
  auto f = function(batched);
  const Tensor x = random_normal({16, 256, 256}), y = random_normal({16, 256, 256});
  const auto whole = matmul(x, y).to_vector<float>();
  for (const OpRecord& op : explain(f, {x, y}).ops)
    if (op.op == "slice" || op.op == "concat") {
      EXPECT_EQ(op.compute_us + op.launch_us, 0) << op.op;
      EXPECT_NE(op.text.find(op.op == "slice" ? "read where they lie" : "written side by side"), op.text.npos)
          << op.text;
    }
  for (int run = 0; run < 3; ++run) {
    const std::uint64_t begin = ticks();
    const Tensor made = f(x, y);
    std::vector<Span> spans;
    event_ring().read(spans, 64);
    for (const Span& span : spans) EXPECT_FALSE(span.start >= begin && span.decision->op == "slice");
    const auto found = made.to_vector<float>();
    for (std::size_t i = 0; i < whole.size(); i += 997) ASSERT_NEAR(found[i], whole[i], 1e-2) << i;
  }
}

TEST(SplitPlacement, RowsOfAnArgumentThatChangesAreReadAnew) {
  WithMachine figures(machine(50, false, 100));
  auto f = function([](Tensor x, Tensor y) { return matmul(x, y) + 1; });
  Variable x(random_normal({16, 256, 256}));
  const Tensor y = random_normal({16, 256, 256});
  for (int run = 0; run < 4; ++run) {
    const auto found = f(x.value(), y).to_vector<float>(), expected = (matmul(x.value(), y) + 1).to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); i += 997) ASSERT_NEAR(found[i], expected[i], 1e-2) << run << ", " << i;
    x.assign_add(random_normal({16, 256, 256}));
  }
}

TEST(SplitPlacement, AFasterDeviceGetsTheLargerShare) {
  Machine fast = machine(150, false, 100);
  for (MachineDevice& device : fast.devices) device.gb_per_s = 100;  // what joining the parts costs is little
  WithMachine figures(fast);
  auto f = function(batched);
  const Tensor x = random_normal({16, 512, 512}), y = random_normal({16, 512, 512});
  std::int64_t there = 0, here = 0;
  for (const OpRecord& op : explain(f, {x, y}).ops)
    if (op.op == "matmul") (op.chosen == "/GPU:0" ? there : here) += std::stoll(op.shape.substr(1));
  EXPECT_EQ(here + there, 16);
  EXPECT_GT(here, 0);
  EXPECT_GE(there, 2 * here);
}

TEST(SplitPlacement, DevicesThatShareACoreDoNotSplit) {
  WithMachine figures(machine(50, true));
  auto f = function(batched);
  const Tensor x = random_normal({16, 256, 256}), y = random_normal({16, 256, 256});
  EXPECT_EQ(devices_of_matmuls(explain(f, {x, y})).size(), 1u);
}

TEST(SplitPlacement, ASlowLinkKeepsTheOpWhole) {
  WithMachine figures(machine(50, false, 0.05));
  auto f = function(batched);
  const Tensor x = random_normal({16, 256, 256}), y = random_normal({16, 256, 256});
  EXPECT_EQ(devices_of_matmuls(explain(f, {x, y})), std::vector<std::string>{"/CPU:0"});
}

TEST(SplitPlacement, SmallOpsStayWhole) {
  WithMachine figures(machine(50));
  auto f = function(batched);
  const Tensor x = random_normal({16, 32, 32}), y = random_normal({16, 32, 32});
  EXPECT_EQ(devices_of_matmuls(explain(f, {x, y})).size(), 1u);
}

TEST(SplitPlacement, WhatAScopeAsksForStaysWhole) {
  WithMachine figures(machine(50));
  auto f = function([](Tensor x, Tensor y) {
    const DeviceScope scope("/GPU:0");
    return matmul(x, y);
  });
  const Tensor x = random_normal({16, 256, 256}), y = random_normal({16, 256, 256});
  EXPECT_EQ(devices_of_matmuls(explain(f, {x, y})), std::vector<std::string>{"/GPU:0"});
}

TEST(SplitPlacement, ElementwiseOpsAreSplitWhereTheyComputeMoreThanTheyMove) {
  WithMachine figures(machine(50, false, 0.5));
  const auto devices_of = [](int turns) {
    auto f = function([turns](Tensor x) {
      for (int i = 0; i < turns; ++i) x = sin(x);
      return x;
    });
    std::set<std::string> devices;
    for (const OpRecord& op : explain(f, {random_normal({1 << 10, 1 << 12})}).ops)
      if (op.op != "slice" && op.op != "concat") devices.insert(op.chosen);
    return devices.size();
  };
  EXPECT_EQ(devices_of(30), 2u);
  EXPECT_EQ(devices_of(1), 1u);
}

TEST(SplitPlacement, EveryPartSaysThatItIsOneAndWhatIsGained) {
  WithMachine figures(machine(50));
  auto f = function(batched);
  const Explanation e = explain(f, {random_normal({16, 256, 256}), random_normal({16, 256, 256})});
  ASSERT_TRUE(e.whole);
  EXPECT_LT(e.makespan_us, 0.92 * e.whole->makespan_us);
  for (const OpRecord& op : e.ops) {
    EXPECT_NE(op.text.find("; split: "), std::string::npos) << op.op << ": " << op.text;
    EXPECT_NE(op.text.find(" instead of "), std::string::npos) << op.op << ": " << op.text;
  }
}

TEST(SplitPlacement, ALockKeepsThePlacementOfTheWhole) {
  WithMachine figures(machine(50));
  auto f = function(batched);
  const Tensors inputs{random_normal({16, 256, 256}), random_normal({16, 256, 256})};
  const Explanation e = explain(f, inputs);
  ASSERT_TRUE(e.whole);
  const auto concrete = f.concrete(inputs);
  const LockedFunction kept = locked(*concrete, e);
  ASSERT_EQ(kept.ops.size(), 1u);
  EXPECT_EQ(kept.ops[0].op, "matmul");
  EXPECT_EQ(kept.predicted_us, e.whole->makespan_us);
}

TEST(SplitPlacement, AForwardPassInPartsGivesWhatTheWholeGives) {
  WithMachine figures(machine(50, false, 100));
  const Tensors inputs{random_normal({64, 28, 28, 1}), random_normal({3, 3, 1, 32}, 0, 0.1), random_normal({32}),
                       random_normal({26 * 26 * 32, 10}, 0, 0.01)};
  const auto body = [](const Tensors& t) {
    const Tensor features = relu(bias_add(conv2d(t[0], t[1]), t[2]));
    return Tensors{softmax(matmul(reshape(features, Ints{64, 26 * 26 * 32}), t[3]))};
  };
  const Function f(body);
  ASSERT_TRUE(explain(f, inputs).whole);
  const auto found = f.call(inputs)[0].to_vector<float>(), expected = body(inputs)[0].to_vector<float>();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(SplitPlacement, GradientsThroughAFunctionThatIsSplitAreThoseOfTheWhole) {
  WithMachine figures(machine(50));
  auto f = function([](Tensor x, Tensor y) { return tanh(matmul(x, y)); });
  const Tensor x = random_normal({16, 256, 256}, 0, 0.1), y = random_normal({16, 256, 256}, 0, 0.1);
  const auto gradient = [&](auto body) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_sum(body(x, y)), Tensors{x})[0].template to_vector<float>();
  };
  const auto found = gradient([&](const Tensor& a, const Tensor& b) { return f(a, b); });
  const auto expected = gradient([&](const Tensor& a, const Tensor& b) { return tanh(matmul(a, b)); });
  for (std::size_t i = 0; i < expected.size(); i += 997) ASSERT_NEAR(found[i], expected[i], 1e-2);
}

}  // namespace
}  // namespace tandem
