#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Sequential& compiled(Sequential& model, const char* loss, std::vector<MetricConfig> metrics = {}) {
  model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.1}),
                 .loss = loss,
                 .metrics = std::move(metrics)});
  return model;
}

TEST(Fit, TheLastPartIsKeptForValidation) {
  const Tensor x = random_normal({10, 3}), y = random_normal({10, 1});
  Sequential model({Dense(1)});
  const History history = compiled(model, "mse").fit(x, y, {.verbose = 0, .validation_split = 0.3});
  const double wanted = model.evaluate(slice(x, {7, 0}, {3, 3}), slice(y, {7, 0}, {3, 1})).at("loss");
  EXPECT_NEAR(history.at("val_loss")[0], wanted, 1e-6);
  EXPECT_THROW(model.fit(x, y, {.validation_split = 1.5}), Error);
}

TEST(Fit, WeightsOfSamplesAndClassesCount) {
  const Tensor x = Tensor::from({1.f, 1.f}, {2, 1}), y = Tensor::from({0, 1}, {2});
  Sequential model({Dense(2, "softmax")});
  compiled(model, "sparse_categorical_crossentropy");
  model(x);
  const auto loss_with = [&](const FitOptions& options) {
    model.variables()[0].assign(zeros({1, 2}));
    model.variables()[1].assign(Tensor::from({1.f, 0.f}, {2}));
    return model.fit(x, y, options).at("loss")[0];
  };
  const double first = -std::log(std::exp(1.0) / (std::exp(1.0) + 1)), second = -std::log(1 / (std::exp(1.0) + 1));
  EXPECT_NEAR(loss_with({.verbose = 0}), (first + second) / 2, 1e-6);
  EXPECT_NEAR(loss_with({.verbose = 0, .class_weight = {{1, 3.0}}}), (first + 3 * second) / 2, 1e-6);
  EXPECT_NEAR(loss_with({.verbose = 0, .sample_weight = Tensor::from({0.f, 1.f}, {2})}), second / 2, 1e-6);
}

TEST(Fit, DatasetsOfBatches) {
  const Tensor x = random_normal({20, 3}), y = random_normal({20, 1});
  Sequential model({Dense(1)});
  compiled(model, "mse", {"mae"});
  const Dataset batches = Dataset::from_tensor_slices(Value::tuple({x, y})).batch(8);
  EXPECT_EQ(model.fit(batches, {.epochs = 2, .verbose = 0}).at("mae").size(), 2u);
  EXPECT_EQ(model.optimizer()->iterations(), 6);
  model.fit(batches.repeat(), {.epochs = 2, .verbose = 0, .steps_per_epoch = 5});
  EXPECT_EQ(model.optimizer()->iterations(), 16);
  EXPECT_THROW(model.fit(batches.repeat(), {.verbose = 0}), Error);
  EXPECT_NEAR(model.evaluate(batches).at("loss"), model.evaluate(x, y).at("loss"), 1e-5);
}

TEST(Fit, SingleStepsReturnTheirOwnMetrics) {
  const Tensor x = random_normal({8, 3}), y = random_normal({8, 1});
  Sequential model({Dense(1)});
  compiled(model, "mse");
  const double before = model.test_on_batch({x, y}).at("loss");
  EXPECT_NEAR(model.train_on_batch({x, y}).at("loss"), before, 1e-6);
  EXPECT_LT(model.test_on_batch({x, y}).at("loss"), before);
}

TEST(Fit, RegularizersAddToTheLossAndShrinkTheWeights) {
  const Tensor x = ones({4, 2}), y = zeros({4, 1});
  Sequential model({make_layer(LayerConfig("Dense")
                                   .set("units", 1)
                                   .set("use_bias", false)
                                   .set("kernel_regularizer", std::string("l2"))
                                   .set("kernel_initializer", std::string("ones")))});
  compiled(model, "mse");
  EXPECT_NEAR(model.test_on_batch({x, y}).at("loss"), 4 + 0.01 * 2, 1e-6);
  model.train_on_batch({x, y});
  // d/dw of (w1 + w2)^2 + 0.01 (w1^2 + w2^2) at 1: 4 + 0.02
  EXPECT_NEAR(model.variables()[0].value().data<float>()[0], 1 - 0.1 * 4.02, 1e-6);
}

TEST(Fit, BinaryLossesSkipTheSigmoid) {
  set_seed(2);
  const Tensor x = random_normal({200, 4}), y = cast(greater(reduce_sum(x, {1}, true), 0.0), DType::f32);
  Sequential model({Dense(8, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.02}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy", "mae"}});
  const History history = model.fit(x, y, {.epochs = 20, .verbose = 0});
  EXPECT_GT(history.at("accuracy").back(), 0.95);
  const Tensor p = model.predict(x);
  EXPECT_NEAR(model.evaluate(x, y).at("mae"), reduce_mean(abs(p - y)).item<double>(), 1e-5);
}

TEST(Fit, UnknownNamesNameTheKnown) {
  Sequential model({Dense(1)});
  try {
    model.compile({.loss = "mean_squared_errror"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("mean_squared_error"), std::string::npos);
  }
  EXPECT_THROW(model.compile({.loss = "mse", .metrics = {"acuracy"}}), Error);
  EXPECT_THROW(model.compile({.optimizer = "adamm", .loss = "mse"}), Error);
}

}  // namespace
}  // namespace tandem
