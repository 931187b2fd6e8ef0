#include "tandem/dist/mirrored.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

/// The predictions of a model with dropout after a short training.
Tensor trained(const MirroredStrategy* strategy) {
  set_seed(5);
  const Tensor x = random_normal({50, 8}), y = random_uniform({50}, 0, 3, DType::i32);
  Sequential model({Dense(16, "relu"), Dropout(0.4), Dense(3, "softmax")});
  if (strategy) {
    const auto scope = strategy->scope();
    model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  } else {
    model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  }
  set_seed(6);
  model.fit(x, y, {.batch_size = 16, .epochs = 3, .verbose = 0});  // 50 = 3 * 16 + 2: a small last batch
  return model.predict(x);
}

TEST(Mirrored, GivesTheResultsOfOneDeviceForAnyDivision) {
  const Tensor one = trained(nullptr);
  const auto gpus = config::list_logical_devices("GPU");
  ASSERT_GE(gpus.size(), 1u) << "the tests run with TANDEM_OPENCL_CPU_AS_GPU";
  for (const std::vector<double>& speeds : {std::vector<double>{1, 1}, {1, 3}, {1, 0}}) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
    strategy.set_speeds(speeds);
    const Tensor several = trained(&strategy);
    EXPECT_LT(reduce_max(abs(several - one)).item<double>(), 1e-5) << strategy.explain();
  }
}

/// The losses of fifty steps of a loop of one's own, with dropout; the last batch of a pass is smaller.
std::vector<double> losses(const MirroredStrategy& strategy, DType dtype) {
  set_seed(7);
  const Tensor x = random_normal({29, 6}, 0, 1, dtype), y = random_normal({29, 1}, 0, 1, dtype);
  const Variable w1(random_normal({6, 8}, 0, 0.4, dtype)), w2(random_normal({8, 1}, 0, 0.4, dtype));
  const std::vector<Variable> variables{w1, w2};
  const auto optimizer = make_optimizer("adam");
  const auto batches =
      strategy.experimental_distribute_dataset(Dataset::from_tensor_slices(Value::tuple({x, y})).batch(6));
  const auto step = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor hidden = dropout(tanh(matmul(in[0], w1)), 0.3);
    const Tensor loss = compute_average_loss(reduce_sum(square(matmul(hidden, w2) - in[1]), {1}));
    Tensors out = tape.gradient(loss, Tensors{w1, w2});
    out.push_back(loss);
    return out;
  };
  std::vector<double> seen;
  while (seen.size() < 50)
    for (auto pass = batches.iterate(); auto batch = pass.next();) {
      PerReplica results = strategy.run(step, *batch);
      seen.push_back(strategy.reduce(ReduceOp::sum, results, 2).item<double>());
      for (Tensors& one : results)
        if (!one.empty()) one.pop_back();
      optimizer->apply_gradients(variables, strategy.sum(results));
    }
  return seen;
}

TEST(Mirrored, TheLossCurveIsThatOfOneDeviceForAnyNumberOfReplicasAndShards) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-6}, {DType::f32, 1e-4}}) {
    const std::vector<double> truth = losses(OneDeviceStrategy("/CPU:0"), dtype);
    for (const std::vector<double>& speeds : {std::vector<double>{1, 1}, {5, 1}, {0, 1}}) {
      const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
      strategy.set_speeds(speeds);
      const std::vector<double> several = losses(strategy, dtype);
      for (std::size_t i = 0; i < truth.size(); ++i)
        ASSERT_NEAR(several[i], truth[i], tolerance * truth[i])
            << dtype_name(dtype) << ", step " << i << ", " << strategy.explain();
    }
  }
}

TEST(Mirrored, ALoopOfOnesOwnHasTheResultsOfOneDevice) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  strategy.set_speeds({1, 2});
  set_seed(1);
  const Tensor x = random_normal({9, 4});
  const Variable w(random_normal({4, 2}));
  const auto loss_of = [&](const Tensor& rows) {
    return compute_average_loss(reduce_sum(square(matmul(rows, w)), {1}));
  };
  GradientTape tape;
  const Tensor truth = loss_of(x), gradient = tape.gradient(truth, w);
  EXPECT_EQ(get_replica_context(), nullptr);
  const PerReplica parts = strategy.distribute({x});
  EXPECT_EQ(parts[0][0].shape(), (Shape{3, 4}));
  const PerReplica results = strategy.run(
      [&](const Tensors& in) -> Tensors {
        EXPECT_EQ(get_replica_context()->total, 9);
        GradientTape inner;
        const Tensor loss = loss_of(in[0]);
        return {loss, inner.gradient(loss, w), in[0]};
      },
      parts);
  EXPECT_NEAR(strategy.reduce(ReduceOp::sum, results).item<double>(), truth.item<double>(), 1e-4);
  PerReplica gradients;
  for (const Tensors& one : results) gradients.push_back({one[1]});
  EXPECT_LT(reduce_max(abs(strategy.sum(gradients)[0] - gradient)).item<double>(), 1e-5);
  EXPECT_LT(reduce_max(abs(strategy.gather(results, 0, 2) - x)).item<double>(), 1e-6);
  EXPECT_LT(reduce_max(abs(strategy.reduce(ReduceOp::mean, results, 2, 0) - reduce_mean(x, {0}))).item<double>(), 1e-5);
}

TEST(Mirrored, AReplicaDrawsTheNumbersOfItsRows) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  set_seed(4);
  const Tensor whole = random_uniform({6, 2});
  set_seed(4);
  const PerReplica drawn = strategy.run([](const Tensors& in) { return Tensors{random_uniform(in[0].shape())}; },
                                        strategy.distribute({zeros({6, 2})}));
  EXPECT_LT(reduce_max(abs(strategy.gather(drawn, 0) - whole)).item<double>(), 1e-7);
}

TEST(Mirrored, AScopeMayBeEnteredAgainAndOutlivesTheNameOfItsStrategy) {
  {
    const auto outer = MirroredStrategy({"/CPU:0", "/GPU:0"}).scope();
    const MirroredStrategy strategy = *get_strategy();
    {
      const auto inner = strategy.scope();
      EXPECT_EQ(get_strategy()->num_replicas_in_sync(), 2);
    }
    EXPECT_EQ(get_strategy()->devices(), (std::vector<std::string>{"/CPU:0", "/GPU:0"}));
  }
  EXPECT_EQ(get_strategy(), nullptr);
}

TEST(Mirrored, RefusesWhatCannotBe) {
  const auto message = [](auto make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([] { MirroredStrategy({"/GPU:7"}); }).find("/GPU:7 is not available; the devices are /CPU:0"),
            std::string::npos);
  EXPECT_NE(message([] { MirroredStrategy({"/CPU:0", "CPU:0"}); }).find("given twice"), std::string::npos);
  EXPECT_NE(message([] {
              MirroredStrategy({"/CPU:0"}).set_speeds({1, 2});
            }).find("needs 1 numbers that are not all 0 and have a finite sum, got [1, 2]"),
            std::string::npos);
  for (const double speed : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max(), std::nan("")})
    EXPECT_NE(message([&] { MirroredStrategy({"/CPU:0", "/GPU:0"}).set_speeds({speed, speed}); }).find("finite sum"),
              std::string::npos)
        << speed;
  const OneDeviceStrategy strategy("/CPU:0");
  EXPECT_NE(message([&] { strategy.run([](const Tensors& in) { return in; }, {}); }).find("1 replicas, inputs for 0"),
            std::string::npos);
  EXPECT_NE(message([&] { strategy.reduce(ReduceOp::sum, {{}}); }).find("no replica has a value"), std::string::npos);
  const auto nested = [&](const Tensors& in) {
    return strategy.run([](const Tensors& more) { return more; }, {in})[0];
  };
  EXPECT_NE(message([&] { strategy.run(nested, {{ones({2})}}); }).find("inside a replica"), std::string::npos);
  const auto scope = strategy.scope();
  EXPECT_NE(message([&] { const auto inner = OneDeviceStrategy("/CPU:0").scope(); }).find("do not nest"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
