// Runs that are handed over: in order, a few ahead, and what becomes of those that fail.
#include "tandem/core/run_queue.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

TEST(RunQueue, TheCallerGoesOnWhileTheFirstRunHasNotEnded) {
  std::binary_semaphore go(0);
  std::vector<int> order;
  const std::uint64_t waits = RunQueue::counts().waits;
  RunQueue::hand_over({.work = [&] {
    go.acquire();
    order.push_back(0);
  }});
  for (int i = 1; i < static_cast<int>(RunQueue::kMost); ++i)
    RunQueue::hand_over({.work = [&order, i] { order.push_back(i); }});
  EXPECT_FALSE(RunQueue::idle());
  EXPECT_EQ(RunQueue::counts().waits, waits);
  go.release();
  RunQueue::await_all();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(RunQueue::idle());
}

TEST(RunQueue, NeverHasMoreRunsThanItsLimit) {
  std::atomic<int> ended{0};
  for (int i = 0; i < 20; ++i) {
    RunQueue::hand_over({.work = [&] { ++ended; }});
    EXPECT_GE(ended + static_cast<int>(RunQueue::kMost), i + 1);
  }
  RunQueue::await_all();
  EXPECT_EQ(ended, 20);
}

TEST(RunQueue, AFailureTakesTheRunsBehindItAlongAndIsToldOnce) {
  std::binary_semaphore go(0);
  bool happened = false;
  int undone = 0;
  const Event first = RunQueue::promise(), second = RunQueue::promise();
  RunQueue::hand_over({.work =
                           [&] {
                             go.acquire();
                             fail(ErrorCode::device_failed, "on purpose");
                           },
                       .promise = first,
                       .undo = [&] { ++undone; }});
  RunQueue::hand_over({.work = [&] { happened = true; }, .promise = second, .undo = [&] { ++undone; }});
  go.release();
  EXPECT_NE(error_of([&] { RunQueue::await_all(); }).find("on purpose"), std::string::npos);
  EXPECT_EQ(undone, 2);
  EXPECT_FALSE(happened);
  RunQueue::await_all();  // told already
  EXPECT_NE(error_of([&] { wait(second); }).find("on purpose"), std::string::npos);  // but its results are not there
  RunQueue::hand_over({.work = [&] { happened = true; }});
  RunQueue::await_all();
  EXPECT_TRUE(happened);
}

TEST(RunQueue, WhoHandsOverTheNextRunIsToldOfAFailure) {
  RunQueue::hand_over({.work = [] { fail(ErrorCode::device_failed, "on purpose"); }});
  bool told = false;
  for (int i = 0; i < 1000 && !told; ++i)
    told = error_of([] { RunQueue::hand_over({.work = [] {}}); }).find("on purpose") != std::string::npos;
  EXPECT_TRUE(told);
  RunQueue::await_all();
}

TEST(RunQueue, PerformsWorkAfterWhatWasHandedOverAndThrowsWhatItThrows) {
  std::vector<int> order;
  RunQueue::hand_over({.work = [&] { order.push_back(1); }});
  RunQueue::perform([&] {
    order.push_back(2);
    RunQueue::perform([&] { order.push_back(3); });  // inside a run: at once
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_NE(error_of([] { RunQueue::perform([] { fail(ErrorCode::device_failed, "inside"); }); }).find("inside"),
            std::string::npos);
  EXPECT_TRUE(RunQueue::idle());
}

/// Ten steps of a model by two replicas, traced.
struct Steps {
  MirroredStrategy strategy{{"/CPU:0", "/GPU:0"}};
  Variable weight{Tensor::from({1.0f, 2.0f, 3.0f}, {3}), true, "weight"};
  Function step{[this](const Tensors& batch) -> Tensors {
    const PerReplica made = strategy.run(
        [&](const Tensors& mine) -> Tensors {
          GradientTape tape;
          const Tensor loss = compute_average_loss(square(reduce_sum(mine[0] * weight.value(), {1})));
          return {loss, tape.gradient(loss, weight.value())};
        },
        strategy.distribute(batch));
    weight.assign_sub(strategy.sum(made)[1] * 0.01);
    return {strategy.reduce(ReduceOp::sum, made)};
  }};
  Tensors call(const Tensor& x) {
    const DeviceScope on("/CPU:0");  // what no replica does: there is nothing to place, and no machine to be measured
    return step.call({x});
  }
};

TEST(RunAhead, StepsOfReplicasAreHandedOverAndOnlyWhoReadsWaits) {
  set_seed(1);
  Steps several;
  several.strategy.set_speeds({1, 1});
  const Tensor x = random_normal({8, 3});
  several.call(x);  // traces
  sync();
  const RunQueue::Counts before = RunQueue::counts();
  std::binary_semaphore go(0);
  RunQueue::hand_over({.work = [&] { go.acquire(); }});  // the devices are busy
  std::vector<Tensors> losses;
  for (std::size_t i = 1; i < RunQueue::kMost; ++i) losses.push_back(several.call(x));
  EXPECT_EQ(RunQueue::counts().runs - before.runs, RunQueue::kMost);
  EXPECT_EQ(RunQueue::counts().waits, before.waits);
  EXPECT_FALSE(RunQueue::idle());
  go.release();
  EXPECT_GT(losses[0][0].item<double>(), losses[2][0].item<double>());
  EXPECT_GT(RunQueue::counts().waits, before.waits);
}

TEST(RunAhead, VariablesAreReadAndReplacedInTheOrderOfTheProgram) {
  const auto train = [](bool waits) {
    set_seed(1);
    Steps steps;
    steps.strategy.set_speeds({1, 1});
    const Tensor x = random_normal({8, 3});
    std::vector<float> seen;
    for (int i = 0; i < 12; ++i) {
      steps.call(x);
      if (waits) sync();
      if (i % 5 == 2) seen.push_back(steps.weight.value().data<float>()[0]);
      if (i % 5 == 4) steps.weight.assign(steps.weight.value() * 0.5);
    }
    seen.push_back(steps.weight.value().data<float>()[2]);
    return seen;
  };
  EXPECT_EQ(train(false), train(true));
}

}  // namespace
}  // namespace tandem
