// One line says where one device alone should be faster than all of a strategy.
#include "tandem/dist/forecast.h"

#include <gtest/gtest.h>

#include "tandem/autodiff/graph_function.h"
#include "tandem/base/log.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

/// Two devices of one speed, of which the second takes so long to start a kernel; in force while it lives.
struct GivenMachine {
  explicit GivenMachine(double launch_us) {
    Machine machine{.name = "test"};
    for (const char* name : {"/CPU:0", "/GPU:0"})
      machine.devices.push_back({.name = name, .peak_gflops = {{DType::f32, 1.0}}, .gb_per_s = 10, .launch_us = 0.1});
    machine.devices[1].launch_us = launch_us;
    machine.links = {{"/CPU:0", "/GPU:0", 0.1, 10}, {"/GPU:0", "/CPU:0", 0.1, 10}};
    default_runtime().set_machine(machine);
  }
  ~GivenMachine() { default_runtime().set_machine(std::nullopt); }
};

const std::vector<std::string> kDevices{"/CPU:0", "/GPU:0"};

/// What is said of a step of both, each with half of the rows.
std::string said(double launch_us, double seen_alone_s = 0) {
  const GivenMachine given(launch_us);
  const MirroredStrategy strategy(kDevices);
  const Variable w(ones({32, 8}));
  const Function step([&](const Tensors& batch) -> Tensors {
    const PerReplica results = strategy.run(
        [&](const Tensors& in) -> Tensors {
          GradientTape tape;
          const Tensor loss = reduce_sum(square(matmul(in[0], w)));
          return {tape.gradient(loss, w)};
        },
        strategy.distribute(batch));
    w.assign(w - strategy.sum(results)[0] * 0.1);
    return {};
  });
  const auto function = step.concrete({zeros({64, 32})});
  const auto placed = default_runtime().place(function->optimized(), {});
  return predicted_slower(function->optimized(), placed->explanation.makespan_us, kDevices, seen_alone_s);
}

TEST(Forecast, NamesTheDeviceThatShouldBeFasterAloneWithBothFigures) {
  const std::string line = said(5000);
  EXPECT_TRUE(line.starts_with("MirroredStrategy: a step is predicted to take ")) << line;
  EXPECT_NE(line.find(" ms on /CPU:0, /GPU:0 together and about "), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("ms on /CPU:0 alone: OneDeviceStrategy(\"/CPU:0\") is faster here")) << line;
}

TEST(Forecast, SaysNothingWhereAllTogetherShouldBeFaster) { EXPECT_EQ(said(0.1), ""); }

TEST(Forecast, IsNotToldWhereEveryDeviceWasSeenToBeSlowerAlone) {
  EXPECT_EQ(said(5000, 1), "");
  EXPECT_NE(said(5000, 1e-3), "") << "the prediction may be right";
}

TEST(Forecast, IsToldOnceForTheSameDevices) {
  int lines = 0;
  const LogSink before = set_log_sink([&](const LogLine&) { ++lines; });
  const std::vector<std::string> devices{"/CPU:0", "/CPU:99"};
  for (const char* line : {"", "first", "second"}) tell_slower(devices, line);
  set_log_sink(before);
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace tandem
