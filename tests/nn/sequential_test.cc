#include "tandem/nn/sequential.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"

namespace tandem {
namespace {

/// Ten clusters that a small network can tell apart.
struct Clusters {
  Tensor x, y;
  explicit Clusters(std::int64_t samples) {
    set_seed(3);
    const Tensor centers = random_normal({10, 20}, 0, 3);
    y = random_uniform({samples}, 0, 10, DType::i32);
    x = gather(centers, y) + random_normal({samples, 20});
  }
};

/// The step of Dense(relu) and Dense(softmax) with SGD, written out with plain loops.
struct PlainStep {
  std::vector<double> w1, b1, w2, b2;
  int in, hidden, out;

  double run(const std::vector<float>& x, const std::vector<int>& y, double rate) {
    const int n = static_cast<int>(y.size());
    std::vector<double> h(static_cast<std::size_t>(n * hidden)), p(static_cast<std::size_t>(n * out));
    double loss = 0;
    auto at = [](std::vector<double>& v, int i) -> double& { return v[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < hidden; ++j) {
        double sum = at(b1, j);
        for (int k = 0; k < in; ++k)
          sum += static_cast<double>(x[static_cast<std::size_t>(i * in + k)]) * at(w1, k * hidden + j);
        at(h, i * hidden + j) = std::max(sum, 0.0);
      }
      double total = 0;
      for (int j = 0; j < out; ++j) {
        double sum = at(b2, j);
        for (int k = 0; k < hidden; ++k) sum += at(h, i * hidden + k) * at(w2, k * out + j);
        total += at(p, i * out + j) = std::exp(sum);
      }
      for (int j = 0; j < out; ++j) at(p, i * out + j) /= total;
      loss -= std::log(at(p, i * out + y[static_cast<std::size_t>(i)])) / n;
    }
    std::vector<double> dw1(w1.size()), db1(b1.size()), dw2(w2.size()), db2(b2.size());
    for (int i = 0; i < n; ++i) {
      std::vector<double> dh(static_cast<std::size_t>(hidden));
      for (int j = 0; j < out; ++j) {
        const double d = (at(p, i * out + j) - (j == y[static_cast<std::size_t>(i)])) / n;
        at(db2, j) += d;
        for (int k = 0; k < hidden; ++k) {
          at(dw2, k * out + j) += at(h, i * hidden + k) * d;
          at(dh, k) += at(w2, k * out + j) * d;
        }
      }
      for (int j = 0; j < hidden; ++j) {
        if (at(h, i * hidden + j) <= 0) continue;
        at(db1, j) += at(dh, j);
        for (int k = 0; k < in; ++k)
          at(dw1, k * hidden + j) += static_cast<double>(x[static_cast<std::size_t>(i * in + k)]) * at(dh, j);
      }
    }
    for (auto [value, grad] : {std::pair(&w1, &dw1), {&b1, &db1}, {&w2, &dw2}, {&b2, &db2}})
      for (std::size_t i = 0; i < value->size(); ++i) (*value)[i] -= rate * (*grad)[i];
    return loss;
  }
};

std::vector<double> doubles(const Variable& variable) {
  const auto values = variable.value().to_vector<float>();
  return {values.begin(), values.end()};
}

void expect_steps_as_written_out(const char* device) {
  const Clusters data(96);
  Sequential model({Dense(16, "relu"), Dense(10, "softmax")});
  model(slice(data.x, {0, 0}, {1, 20}));  // builds
  model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.1}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  const auto variables = model.variables();
  PlainStep plain{
      doubles(variables[0]), doubles(variables[1]), doubles(variables[2]), doubles(variables[3]), 20, 16, 10};
  DeviceScope scope(device);
  const auto x = data.x.to_vector<float>();
  const auto y = data.y.to_vector<std::int32_t>();
  for (int epoch = 0; epoch < 3; ++epoch) {
    double wanted = 0;
    for (int batch = 0; batch < 3; ++batch)
      wanted += plain.run({x.begin() + batch * 640, x.begin() + (batch + 1) * 640},
                          {y.begin() + batch * 32, y.begin() + (batch + 1) * 32}, 0.1) /
                3;
    const History history = model.fit(data.x, data.y, {.verbose = 0, .shuffle = false});
    EXPECT_NEAR(history.at("loss")[0], wanted, 1e-5 * wanted) << device;
  }
  for (int k = 0; k < 4; ++k) {
    const auto got = doubles(variables[static_cast<std::size_t>(k)]);
    const auto& wanted = *std::array{&plain.w1, &plain.b1, &plain.w2, &plain.b2}[static_cast<std::size_t>(k)];
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 2e-6 + 1e-5 * std::abs(wanted[i])) << device;
  }
}

TEST(Sequential, TrainsAsTheStepsWrittenOutInPlainLoops) { expect_steps_as_written_out("/CPU:0"); }
TEST(DevicesSequential, TrainsOnAGpuAsTheStepsWrittenOutInPlainLoops) { expect_steps_as_written_out("/GPU:0"); }

TEST(Sequential, LearnsToTellClustersApart) {
  const Clusters data(2000);
  Sequential model({Dense(32, "relu"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const History history = model.fit(data.x, data.y, {.epochs = 12, .verbose = 0});
  EXPECT_GE(history.at("accuracy").back(), 0.99);
  EXPECT_GE(model.evaluate(data.x, data.y).at("accuracy"), 0.99);
  const Tensor probabilities = model.predict(slice(data.x, {0, 0}, {70, 20}));
  EXPECT_EQ(probabilities.shape(), Shape({70, 10}));
  EXPECT_NEAR(reduce_sum(probabilities).item<double>(), 70, 1e-3);
  EXPECT_EQ(model.train_function().tracing_count(), 2);  // whole batches, and the last one
}

TEST(Sequential, TheSameSeedGivesTheSameWeights) {
  const Clusters data(200);
  auto train = [&] {
    set_seed(11);
    Sequential model({Dense(8, "tanh"), Dropout(0.3), Dense(10, "softmax")});
    model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
    model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
    return model.variables()[0].value().to_vector<float>();
  };
  EXPECT_EQ(train(), train());
}

TEST(Sequential, LearnsALineWithMeanSquaredError) {
  set_seed(5);
  const Tensor x = random_normal({256, 1}), y = x * 3.0 + 2.0;
  Sequential model({Dense(1)});
  model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.1}), .loss = "mse"});
  model.fit(x, y, {.epochs = 20, .verbose = 0});
  EXPECT_NEAR(model.variables()[0].value().item<double>(), 3, 1e-2);
  EXPECT_NEAR(model.variables()[1].value().item<double>(), 2, 1e-2);
}

TEST(Sequential, AConvolutionTrains) {
  set_seed(9);
  const Tensor y = random_uniform({64}, 0, 2, DType::i32);
  const Tensor x = random_normal({64, 8, 8, 1}) * 0.3 + reshape(cast(y, DType::f32), Shape{64, 1, 1, 1});
  Sequential model({Conv2D(4, {3, 3}, {.activation = "relu"}), MaxPooling2D(), Flatten(), Dense(2, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  EXPECT_GE(model.fit(x, y, {.batch_size = 16, .epochs = 40, .verbose = 0}).at("accuracy").back(), 0.95);
}

TEST(Sequential, MistakesAreNamed) {
  Sequential model({Dense(4, "relu"), Dense(3, "softmax")});
  EXPECT_THROW(model.fit(ones({4, 2}), zeros({4}, DType::i32)), Error);  // not compiled
  EXPECT_THROW(model.compile({.optimizer = "adma", .loss = "mse"}), Error);
  EXPECT_THROW(model.compile({.loss = "no such loss"}), Error);
  model.compile({.loss = "sparse_categorical_crossentropy"});
  EXPECT_THROW(model.fit(ones({4, 2}), zeros({5}, DType::i32)), Error);
  EXPECT_THROW(model.fit(ones({0, 2}), zeros({0}, DType::i32)), Error);
  model.fit(ones({4, 2}), zeros({4}, DType::i32), {.verbose = 0});
  const auto before = model.variables()[0].value().to_vector<float>();
  EXPECT_THROW(model.fit(ones({4, 3}), zeros({4}, DType::i32), {.verbose = 0}), Error);            // other width
  EXPECT_THROW(model.fit(ones({4, 2}), fill({4}, 7, DType::i32), {.verbose = 0}), Error);  // label out of range
  EXPECT_EQ(model.variables()[0].value().to_vector<float>(), before);
}

}  // namespace
}  // namespace tandem
