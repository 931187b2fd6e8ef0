#include "tandem/nn/optimizer.h"

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

}  // namespace
}  // namespace tandem
