#include "tandem/nn/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"

namespace tandem {
namespace {

TEST(Sgd, StepsAgainstTheGradient) {
  const Variable w(Tensor::from({1.f, 2.f}, {2}));
  Sgd sgd({.learning_rate = 0.1});
  sgd.apply_gradients({w}, {Tensor::from({1.f, -1.f}, {2})});
  EXPECT_FLOAT_EQ(w.value().data<float>()[0], 0.9f);
  EXPECT_FLOAT_EQ(w.value().data<float>()[1], 2.1f);
}

TEST(Sgd, MomentumIsKeras) {
  const Variable w(Tensor::scalar(1.0, DType::f64));
  Sgd sgd({.learning_rate = 0.1, .momentum = 0.9});
  double value = 1, velocity = 0;
  for (int step = 0; step < 5; ++step) {
    const double gradient = 0.5 + step;
    sgd.apply_gradients({w}, {Tensor::scalar(gradient, DType::f64)});
    velocity = 0.9 * velocity - 0.1 * gradient;
    value += velocity;
    EXPECT_NEAR(w.value().item<double>(), value, 1e-12);
  }
}

TEST(Adam, FollowsTheFormula) {
  const Variable w(Tensor::scalar(1.0, DType::f64));
  Adam adam({.learning_rate = 0.01});
  double value = 1, m = 0, v = 0;
  for (int step = 1; step <= 10; ++step) {
    const double gradient = std::sin(step);
    adam.apply_gradients({w}, {Tensor::scalar(gradient, DType::f64)});
    m += (gradient - m) * (1 - 0.9);
    v += (gradient * gradient - v) * (1 - 0.999);
    const double rate = 0.01 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
    value -= rate * m / (std::sqrt(v) + 1e-7);
    EXPECT_NEAR(w.value().item<double>(), value, 1e-12);
  }
  EXPECT_EQ(adam.iterations(), 10);
}

TEST(Optimizer, WorksInPlaceUnlessSomebodyHoldsTheOldValue) {
  const Variable w(ones({64}));
  const Tensor gradient = ones({64});
  Sgd sgd({.learning_rate = 0.5});
  const void* bytes = w.value().raw_data();
  sgd.apply_gradients({w}, {gradient});
  EXPECT_EQ(w.value().raw_data(), bytes);
  const Tensor held = w;
  sgd.apply_gradients({w}, {gradient});
  EXPECT_NE(w.value().raw_data(), bytes);
  EXPECT_FLOAT_EQ(held.data<float>()[0], 0.5f);
  EXPECT_FLOAT_EQ(w.value().data<float>()[0], 0.0f);
}

TEST(Optimizer, LeavesVariablesWithoutGradientAlone) {
  const Variable w(ones({2}));
  Adam adam;
  adam.apply_gradients({w}, {Tensor()});
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_THROW(adam.apply_gradients({w}, {}), Error);
}

TEST(Optimizer, AWrongGradientLeavesTheVariableAsItWas) {
  const Variable w(ones({2}));
  Adam adam;
  EXPECT_THROW(adam.apply_gradients({w}, {ones({3})}), Error);
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Optimizer, NesterovIsKeras) {
  const Variable w(Tensor::scalar(1.0, DType::f64));
  Sgd sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  double value = 1, velocity = 0;
  for (int step = 0; step < 5; ++step) {
    const double gradient = 0.5 + step;
    sgd.apply_gradients({w}, {Tensor::scalar(gradient, DType::f64)});
    velocity = 0.9 * velocity - 0.1 * gradient;
    value += 0.9 * velocity - 0.1 * gradient;
    EXPECT_NEAR(w.value().item<double>(), value, 1e-12);
  }
}

TEST(Optimizer, RMSpropFollowsTheFormula) {
  const Variable w(Tensor::scalar(1.0, DType::f64));
  RMSprop rmsprop({.learning_rate = 0.01, .momentum = 0.5});
  double value = 1, squares = 0, velocity = 0;
  for (int step = 0; step < 5; ++step) {
    const double gradient = std::cos(step);
    rmsprop.apply_gradients({w}, {Tensor::scalar(gradient, DType::f64)});
    squares = 0.9 * squares + 0.1 * gradient * gradient;
    velocity = 0.5 * velocity + 0.01 * gradient / std::sqrt(squares + 1e-7);
    value -= velocity;
    EXPECT_NEAR(w.value().item<double>(), value, 1e-12);
  }
}

TEST(Optimizer, WeightDecayShrinksFirst) {
  const Variable w(Tensor::scalar(2.0, DType::f64));
  Sgd sgd({.learning_rate = 0.1, .weight_decay = 0.5});
  sgd.apply_gradients({w}, {Tensor::scalar(1.0, DType::f64)});
  EXPECT_NEAR(w.value().item<double>(), 2 - 2 * 0.1 * 0.5 - 0.1, 1e-12);
  const Variable v(Tensor::scalar(2.0, DType::f64));
  AdamW adamw({.learning_rate = 0.1, .weight_decay = 0.5});
  adamw.apply_gradients({v}, {Tensor::scalar(1.0, DType::f64)});
  EXPECT_NEAR(v.value().item<double>(), 2 - 2 * 0.1 * 0.5 - 0.1, 1e-6);
}

TEST(Optimizer, GradientsAreLimited) {
  const auto step = [](const GradientLimits& limits) {
    const Variable a(zeros({2})), b(zeros({1}));
    Sgd({.learning_rate = 1, .limits = limits})
        .apply_gradients({a, b}, {Tensor::from({3.f, 4.f}, {2}), Tensor::from({12.f}, {1})});
    std::vector<float> moved = a.value().to_vector<float>();
    moved.push_back(b.value().data<float>()[0]);
    return moved;
  };
  const auto near = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], -wanted[i], 1e-5);
  };
  near(step({.clipvalue = 3.5}), {3, 3.5, 3.5});
  near(step({.clipnorm = 1}), {0.6f, 0.8f, 1});
  near(step({.global_clipnorm = 6.5}), {1.5, 2, 6});
  near(step({.clipnorm = 100}), {3, 4, 12});
  EXPECT_THROW(Sgd({.limits = {.clipnorm = 1, .clipvalue = 1}}), Error);
}

TEST(LearningRateSchedules, FollowKerasFormulas) {
  const auto at = [](const RateSchedule& schedule, double step) {
    return schedule->at(Tensor::scalar(step, DType::f64)).item<double>();
  };
  const RateSchedule exponential =
      ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5});
  EXPECT_NEAR(at(exponential, 15), 0.1 * std::pow(0.5, 1.5), 1e-12);
  const RateSchedule stairs =
      ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5, .staircase = true});
  EXPECT_NEAR(at(stairs, 15), 0.05, 1e-12);
  EXPECT_NEAR(
      at(PolynomialDecay({.initial_learning_rate = 1, .decay_steps = 10, .end_learning_rate = 0, .power = 2}), 5), 0.25,
      1e-12);
  EXPECT_NEAR(at(InverseTimeDecay({.initial_learning_rate = 1, .decay_steps = 2, .decay_rate = 0.5}), 4), 0.5, 1e-12);
  const RateSchedule cosine =
      CosineDecay({.initial_learning_rate = 0, .decay_steps = 10, .warmup_target = 1, .warmup_steps = 4});
  EXPECT_NEAR(at(cosine, 2), 0.5, 1e-12);
  EXPECT_NEAR(at(cosine, 9), 0.5, 1e-12);
  const RateSchedule pieces = PiecewiseConstantDecay({3, 6}, {1, 0.5, 0.1});
  EXPECT_EQ(at(pieces, 3), 1);
  EXPECT_EQ(at(pieces, 6), 0.5);
  EXPECT_EQ(at(pieces, 7), 0.1);
  for (const RateSchedule& schedule : {exponential, stairs, cosine, pieces})
    EXPECT_NEAR(at(read_schedule(schedule->class_name(), schedule->arguments()), 5), at(schedule, 5), 1e-12);
}

TEST(Schedules, WhatAFileSaysWronglyIsNoSchedule) {
  for (const char* arguments :
       {R"({"boundaries": "1, 2", "values": [1, 2]})", R"({"boundaries": [1], "values": [1, "two"]})", "[]", "{", "{}"})
    EXPECT_EQ(read_schedule("PiecewiseConstantDecay", arguments), nullptr) << arguments;
}

TEST(LearningRateSchedules, DecideTheStep) {
  const Variable w(Tensor::scalar(0.0, DType::f64));
  Sgd sgd({.learning_rate = PiecewiseConstantDecay({0, 1}, {1, 0.1, 0.01})});
  for (int step = 0; step < 3; ++step) sgd.apply_gradients({w}, {Tensor::scalar(1.0, DType::f64)});
  EXPECT_NEAR(w.value().item<double>(), -1.11, 1e-12);
  EXPECT_NEAR(sgd.learning_rate(), 0.01, 1e-12);
  EXPECT_THROW(sgd.set_learning_rate(1), Error);
  EXPECT_EQ(sgd.state({w}).size(), 1u);  // only the count of steps
}

TEST(Optimizer, ArgumentsSurviveAFile) {
  const Adam adam(
      {.learning_rate = ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5}),
       .beta_1 = 0.8,
       .limits = {.clipnorm = 2}});
  const auto again = read_optimizer(adam.class_name(), adam.arguments());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->arguments(), adam.arguments());
  EXPECT_FALSE(read_optimizer("Adam", R"({"learning_rate": {"class_name": "Mine", "config": {}}})"));
  EXPECT_FALSE(read_optimizer("Lamb", "{}"));
}

TEST(Optimizer, ArgumentsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(Adam({.step = {.gradient_accumulation_steps = 1}}), Error);
  EXPECT_THROW(Adam({.step = {.use_ema = true, .ema_momentum = 2}}), Error);
  EXPECT_THROW(Lion({.beta_1 = 0}), Error);
  EXPECT_THROW(Ftrl({.learning_rate_power = 1}), Error);
  EXPECT_THROW(read_optimizer("SGD", R"({"gradient_accumulation_steps": 1e300})"), Error);
  EXPECT_THROW(make_optimizer("adamm"), Error);
}

/// Three steps along a table of ones, of which the batch names row 0 twice.
std::vector<float> table_after(Optimizer& optimizer) {
  const Variable table(ones({3, 1}));
  const Tensor indices = Tensor::from({std::int64_t{0}, std::int64_t{0}, std::int64_t{1}}, {3}),
               weights = Tensor::from({1.f, 2.f, -3.f}, {3, 1});
  for (int step = 0; step < 3; ++step) {
    GradientTape tape;
    const Tensor loss = reduce_sum(square(gather(table, indices)) * weights);
    const RowNotes notes;
    const Tensors gradients = tape.gradient(loss, Tensors{table});
    optimizer.apply_gradients({table}, gradients, {}, notes.of_all(gradients));
  }
  return table.value().to_vector<float>();
}

void expect_table(Optimizer&& optimizer, const std::vector<float>& of_keras) {
  const std::vector<float> got = table_after(optimizer);
  for (std::size_t i = 0; i < of_keras.size(); ++i)
    EXPECT_NEAR(got[i], of_keras[i], 2e-5) << optimizer.class_name() << ", row " << i;
}

/// The figures are those of Keras 3.15 on TensorFlow.
TEST(Optimizers, SquareEachRowOfAnEmbeddingAsKerasDoes) {
  expect_table(Sgd({.learning_rate = 0.1}), {0.064f, 4.096f, 1});
  expect_table(Adam({.learning_rate = 0.1}), {0.60084f, 1.30049f, 1});
  expect_table(Adam({.learning_rate = 0.1, .amsgrad = true}), {0.60084f, 1.30049f, 1});
  expect_table(AdamW({.learning_rate = 0.1, .weight_decay = 0.2}), {0.5508f, 1.23568f, 0.94119f});
  expect_table(RMSprop({.learning_rate = 0.1, .momentum = 0.5}), {-0.12993f, 2.17451f, 1});
  expect_table(Adagrad({.learning_rate = 0.1}), {0.71049f, 1.23575f, 1});
  expect_table(Adadelta({.learning_rate = 10.0}), {0.94304f, 1.04324f, 1});
  expect_table(Adamax({.learning_rate = 0.1}), {0.7155f, 1.28814f, 1});
  expect_table(Nadam({.learning_rate = 0.1}), {0.67578f, 1.26252f, 1});
  expect_table(Ftrl({.learning_rate = 0.1}), {0.64699f, 1.18064f, 0});
  expect_table(Lion({.learning_rate = 0.1}), {0.7f, 1.3f, 1});
}

TEST(Optimizers, ClipTheRowsOfAnEmbeddingAsKerasDoes) {
  expect_table(Sgd({.learning_rate = 0.1, .limits = {.clipnorm = 1}}), {0.78393f, 1.2525f, 1});
  expect_table(Sgd({.learning_rate = 0.1, .limits = {.global_clipnorm = 1}}), {0.78393f, 1.2525f, 1});
  expect_table(Sgd({.learning_rate = 0.1, .limits = {.clipvalue = 1}}), {0.4f, 1.3f, 1});
  expect_table(Adam({.learning_rate = 0.1, .limits = {.clipnorm = 1}}), {0.60167f, 1.30042f, 1});
  expect_table(Adam({.learning_rate = 0.1, .limits = {.global_clipnorm = 1}}), {0.70231f, 1.30039f, 1});
  expect_table(Adam({.learning_rate = 0.1, .limits = {.clipvalue = 1}}), {0.57574f, 1.3f, 1});
  expect_table(Adagrad({.learning_rate = 0.1, .limits = {.global_clipnorm = 1}}), {0.79392f, 1.22204f, 1});
  expect_table(Adamax({.learning_rate = 0.1, .limits = {.clipnorm = 1}}), {0.71997f, 1.29256f, 1});
  expect_table(Adamax({.learning_rate = 0.1, .limits = {.clipvalue = 1}}), {0.7f, 1.3f, 1});
}

TEST(Optimizers, FitSquaresEachRowToo) {
  Sequential model({Embedding(3, 1), Flatten()});
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.1}), .loss = "mse"});
  const Tensor x = Tensor::from({0, 0, 1}, {1, 3});
  model.predict(x);
  model.set_weights({ones({3, 1})});
  model.train_on_batch({x, zeros({1, 3})});
  const std::vector<float> table = model.get_weights()[0].to_vector<float>();
  EXPECT_NEAR(table[0], 1 - 0.1 * std::sqrt(2.0), 1e-5);  // the mean is 2 g, the mean of squares 2 g^2
  EXPECT_NEAR(table[1], 1 - 0.1, 1e-5);
  EXPECT_EQ(table[2], 1);
}

}  // namespace
}  // namespace tandem
