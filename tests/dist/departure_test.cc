// A device that fails in a loop of one's own leaves the group; the step is done again and results are those of one
// device.
#include <gtest/gtest.h>

#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/graph/trace.h"
#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

/// Takes the log's lines of departures while it lives; that one device would be faster may be said, too.
struct Lines {
  std::vector<std::string> seen;
  LogSink before = set_log_sink([this](const LogLine& line) {
    if (line.message.find("has left the group") != std::string_view::npos) seen.emplace_back(line.message);
  });
  ~Lines() { set_log_sink(before); }
};

enum class How { at_once, traced, in_a_loop };

/// What two passes over a dataset, whose last batch is smaller, leave behind.
struct Left {
  std::vector<double> numbers;  // losses, sums that replicas have assigned, weights
  std::vector<std::string> lines;
};

/// `updates`: where variables are updated; null: where the placer likes.
Left train(const MirroredStrategy& strategy, How how, std::string_view faults = "", const char* updates = nullptr) {
  Left left;
  const Lines lines;
  set_seed(7);
  const Tensor x = random_normal({22, 6}), y = random_normal({22, 1});
  const Variable w1(random_normal({6, 8}, 0, 0.4)), w2(random_normal({8, 1}, 0, 0.4)), seen(zeros({}), false);
  const auto optimizer = make_optimizer("adam");
  const auto in_replica = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor hidden = dropout(tanh(matmul(in[0], w1)), 0.3);
    const Tensor loss = compute_average_loss(reduce_sum(square(matmul(hidden, w2) - in[1]), {1}));
    seen.assign_add(loss);
    Tensors out = tape.gradient(loss, Tensors{w1, w2});
    out.push_back(loss);
    return out;
  };
  const auto step = [&](const Tensors& batch) -> Tensors {
    PerReplica results = strategy.run(in_replica, strategy.distribute(batch));
    const Tensor loss = strategy.reduce(ReduceOp::sum, results, 2);
    for (Tensors& one : results)
      if (!one.empty()) one.pop_back();
    std::optional<DeviceScope> there;
    if (updates) there.emplace(updates);
    optimizer->apply_gradients({w1, w2}, strategy.sum(results));
    return {loss};
  };
  const Function traced(step);
  const Function twice([&](const Tensors& batch) -> Tensors {
    return while_loop([](const Tensors& v) { return less(v[0], Tensor::scalar(std::int64_t{2}, DType::i64)); },
                      [&](const Tensors& v) -> Tensors {
                        return {v[0] + Tensor::scalar(std::int64_t{1}, DType::i64), step(batch)[0]};
                      },
                      {Tensor::scalar(std::int64_t{0}, DType::i64), zeros({})});
  });
  const Dataset batches = Dataset::from_tensor_slices(Value::tuple({x, y})).batch(8);
  const FaultScope failing(faults);
  Tensors losses;  // read when all is over
  for (int pass = 0; pass < 2; ++pass)
    for (DatasetIterator elements = batches.iterate(); const std::optional<Value> element = elements.next();) {
      Tensors batch;
      for (const Leaf& leaf : element->leaves()) batch.push_back(leaf.tensor);
      losses.push_back((how == How::at_once  ? step(batch)
                        : how == How::traced ? traced.call(batch)
                                             : twice.call(batch))
                           .back());
    }
  losses.insert(losses.end(), {seen, w1, w2});
  for (const Tensor& values : losses)
    for (const float value : values.to_vector<float>()) left.numbers.push_back(value);
  sync();
  left.lines = lines.seen;
  return left;
}

TEST(Departure, ALoopOfOnesOwnHasTheResultsOfOneDeviceWhereverADeviceFails) {
  for (const How how : {How::at_once, How::traced, How::in_a_loop}) {
    const Left one = train(OneDeviceStrategy("/CPU:0"), how);
    for (const char* site : {"plan.device", "opencl.launch", "opencl.run", "opencl.copy", "opencl.transfer"}) {
      int departed = 0;
      for (int nth = 1; nth < 60; nth += 7) {
        const std::string fault = text(site, ":", nth);
        const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
        const Left several = train(strategy, how, fault);
        ASSERT_EQ(several.numbers.size(), one.numbers.size());
        for (std::size_t i = 0; i < one.numbers.size(); ++i)
          ASSERT_NEAR(several.numbers[i], one.numbers[i], 1e-4 * std::max(1.0, std::abs(one.numbers[i])))
              << fault << ", " << static_cast<int>(how) << ", number " << i;
        EXPECT_EQ(strategy.num_replicas_in_sync(), 2);
        EXPECT_EQ(several.lines.size(), 2 - strategy.devices().size()) << fault;
        departed += strategy.devices().size() == 1;
      }
      EXPECT_TRUE(departed > 0 || std::string_view(site) == "plan.device") << site << ", " << static_cast<int>(how);
    }
  }
}

TEST(Departure, UpdatesThatRanOnTheDeviceThatFailsAreDoneAgain) {
  const Left one = train(OneDeviceStrategy("/CPU:0"), How::traced);
  for (const char* site : {"opencl.launch", "opencl.run", "opencl.transfer"})
    for (int nth = 1; nth < 90; nth += 5) {
      const std::string fault = text(site, ":", nth);
      const Left several = train(MirroredStrategy({"/CPU:0", "/GPU:0"}), How::traced, fault, "/GPU:0");
      ASSERT_EQ(several.numbers.size(), one.numbers.size());
      for (std::size_t i = 0; i < one.numbers.size(); ++i)
        ASSERT_NEAR(several.numbers[i], one.numbers[i], 1e-4 * std::max(1.0, std::abs(one.numbers[i])))
            << fault << ", number " << i;
    }
}

TEST(Departure, OneOfThoseThatAreLeftStandsInForADevice) {
  const Lines lines;
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  const PerReplica parts = strategy.distribute({ones({6, 2})});  // divided before it fails
  const auto where = [&] {
    return strategy.run([](const Tensors& in) -> Tensors { return {reduce_sum(tanh(in[0]))}; }, parts);
  };
  EXPECT_EQ(strategy.experimental_local_results(where()).size(), 2u);
  {
    const FaultScope failing("opencl.launch:1");
    EXPECT_EQ(strategy.experimental_local_results(where()).size(), 2u);
  }
  EXPECT_EQ(strategy.devices(), std::vector<std::string>{"/CPU:0"});
  EXPECT_EQ(strategy.replica_devices(), (std::vector<std::string>{"/CPU:0", "/CPU:0"}));
  EXPECT_EQ(strategy.distribute({ones({6, 2})}).size(), 2u);
  EXPECT_NEAR(strategy.reduce(ReduceOp::sum, where()).item<double>(), 12 * std::tanh(1.0), 1e-5);
  strategy.set_speeds({2});  // one a device that is left: its replicas share what it gets
  EXPECT_EQ(strategy.distribute({ones({6, 2})})[1][0].shape()[0], 3);
  EXPECT_EQ(lines.seen.size(), 1u);
}

/// Its device leaves by another run, while this one asks for that.
struct LeavesMeanwhile final : DeviceGroup {
  bool may_leave() const override { return true; }
  bool leave(const Error&) override {
    ++left;
    return false;
  }
  void part_from_lost() override {}
  std::uint64_t departures() const override { return left; }
  DeviceName stand_in(const DeviceName&) const override { return DeviceName::parse("/CPU:0"); }
  std::uint64_t left = 0;
};

TEST(Departure, ByAnotherRunAtTheSameMomentLetsThisOneGoOn) {
  const auto group = std::make_shared<LeavesMeanwhile>();
  const Function function([&](const Tensors& in) -> Tensors {
    Trace::current()->note_group(group);
    const DeviceScope there("/GPU:0");
    return {reduce_sum(tanh(in[0]))};
  });
  const FaultScope failing("opencl.launch:1");
  EXPECT_NEAR(function.call({ones({4})})[0].item<double>(), 4 * std::tanh(1.0), 1e-5);
  EXPECT_EQ(group->left, 1u);
}

TEST(Departure, IsAnErrorWhereThatIsWantedAndVariablesKeepWhatTheyHad) {
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"}, {.on_failure = MirroredOptions::OnFailure::stop});
  for (const How how : {How::at_once, How::traced})
    EXPECT_NE(error_of([&] { train(strategy, how, "opencl.launch:9"); }).find("/GPU:0"), std::string::npos);
  EXPECT_EQ(strategy.devices().size(), 2u);
}

}  // namespace
}  // namespace tandem
