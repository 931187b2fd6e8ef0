// Steps that a model overrides, under a strategy: once in each replica, with the results of one device.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

/// Keras' train_step written out; it costs what its kernel weighs.
struct WrittenOut : Model {
  WrittenOut() : Model("written_out") {}
  Tensors call(const Tensors& x, bool training) override {
    return {(*last)((*drop)((*first)(x[0], training), training), training)};
  }
  Tensor train_step(const Batch& batch) override {
    rows.push_back(batch.inputs[0].shape()[0]);
    GradientTape tape;
    const Outputs outputs = forward(batch.inputs, true);
    const Tensor loss = compute_loss(batch, outputs);
    minimize(tape, loss);
    update_metrics(batch, outputs);
    return loss;
  }
  Tensor test_step(const Batch& batch) override {
    tested.push_back(batch.inputs[0].shape()[0]);
    return Model::test_step(batch);
  }
  std::vector<std::int64_t> rows, tested;  // of each call, while it is traced
  LayerPtr first = track(
      "first", make_layer(LayerConfig::from_json(
                   "Dense", R"({"name": "first", "units": 8, "activation": "tanh", "kernel_regularizer": "l2"})")));
  LayerPtr drop = track("drop", Dropout(0.3)), last = track("last", Dense(1));
};

struct Trained {
  std::vector<double> losses, errors;
  Logs evaluated;
  Tensor predictions;
};

Trained train(WrittenOut& model, const MirroredStrategy* strategy) {
  set_seed(5);
  const Tensor x = random_normal({57, 6}), y = random_normal({57, 1});
  std::optional<MirroredStrategy::Scope> scope;
  if (strategy) scope.emplace(*strategy);
  model(x);
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  scope.reset();
  set_seed(6);
  const History history = model.fit(x, y, {.batch_size = 16, .epochs = 13, .verbose = 0});
  return {history.at("loss"), history.at("mae"), model.evaluate(x, y, 57), model.predict(x, 20)};
}

void expect_near(const std::vector<double>& several, const std::vector<double>& one) {
  ASSERT_EQ(several.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(several[i], one[i], 1e-4 * std::abs(one[i])) << "epoch " << i;
}

TEST(OwnStepsInReplicas, AnOverriddenTrainStepRunsInEachReplicaWithTheResultsOfOneDevice) {
  WrittenOut alone;
  const Trained one = train(alone, nullptr);
  EXPECT_EQ(alone.rows, (std::vector<std::int64_t>{16, 9}));
  for (const std::vector<double>& speeds : {std::vector<double>{1, 1}, {3, 1}, {0, 1}}) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
    strategy.set_speeds(speeds);
    WrittenOut model;
    const Trained several = train(model, &strategy);
    std::int64_t seen = 0;
    for (const std::int64_t rows : model.rows) seen += rows;
    EXPECT_EQ(model.rows.size(), speeds[0] == 0 ? 2u : 4u);
    EXPECT_EQ(seen, 16 + 9);
    EXPECT_EQ(model.tested.size(), speeds[0] == 0 ? 1u : 2u);
    expect_near(several.losses, one.losses);
    expect_near(several.errors, one.errors);
    for (const char* name : {"loss", "mae"})
      EXPECT_NEAR(several.evaluated.at(name), one.evaluated.at(name), 1e-3 * one.evaluated.at(name)) << name;
    EXPECT_LT(reduce_max(abs(several.predictions - one.predictions)).item<double>(), 2e-3);
  }
}

TEST(OwnStepsInReplicas, AverageLossesTakeWeightsAndTheSizeOfTheWholeBatch) {
  const Tensor losses = Tensor::from(std::vector<float>{1, 2, 3}, {3}),
               weights = Tensor::from(std::vector<float>{1, 0, 2}, {3});
  EXPECT_FLOAT_EQ(compute_average_loss(losses).item<float>(), 2);
  EXPECT_FLOAT_EQ(compute_average_loss(losses, weights).item<float>(), 7.0f / 3);
  EXPECT_FLOAT_EQ(compute_average_loss(losses, {}, 12).item<float>(), 0.5);
  EXPECT_FLOAT_EQ(compute_average_loss(losses, weights, 0).item<float>(), 0);
  EXPECT_FLOAT_EQ(compute_average_loss(ones({3, 2}), weights, 6).item<float>(), 1);
  EXPECT_NE(error_of([&] { compute_average_loss(Tensor(1.0f)); }).find("a loss an example"), std::string::npos);
  EXPECT_NE(error_of([&] { compute_average_loss(losses, {}, -1); }).find("must not be negative"), std::string::npos);
}

}  // namespace
}  // namespace tandem
