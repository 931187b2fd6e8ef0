// Models of one's own class, steps of one's own, and what fit takes beside arrays.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tandem/nn/sequential.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

Tensor numbers(const Shape& shape, double scale = 1) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(static_cast<float>(scale * (static_cast<double>(i * 7 % 11) - 5) / 5));
  return Tensor::from(values, shape);
}

std::vector<float> values_of(const Tensor& tensor) { return tensor.to_vector<float>(); }

/// The same numbers in two models, whose first weights are drawn.
void start_alike(Model& model) {
  for (const Variable& variable : model.variables()) variable.assign(numbers(variable.shape(), 0.5));
}

/// Two inputs, two outputs, a layer that is used twice.
struct Twins : Model {
  Twins() : Model("twins", 2, 2) {}
  Tensors call(const Tensors& x, bool training) override {
    const Tensor a = (*shared)(x[0], training), b = (*shared)(x[1], training);
    return {(*sum)(a + b, training), a - b};
  }
  LayerPtr shared = track("shared", Dense(4, "tanh")), sum = track("sum", Dense(1));
};

struct Line : Model {
  explicit Line(std::string name = "line") : Model(std::move(name)) {}
  Tensors call(const Tensors& x, bool training) override { return {(*dense)(x[0], training)}; }
  LayerPtr dense = track("dense", Dense(1));
};

TEST(OwnModel, LearnsPredictsAndKeepsItsWeightsInAFile) {
  const Samples samples({numbers({8, 3}), numbers({8, 3}, 2)}, {numbers({8, 1}), numbers({8, 4})});
  Twins model;
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(samples, {.batch_size = 4, .epochs = 20, .verbose = 0, .shuffle = false});
  EXPECT_LT(history.at("loss").back(), history.at("loss").front());
  EXPECT_EQ(model.count_params(), 3 * 4 + 4 + 4 + 1);
  const std::string path =
      std::filesystem::temp_directory_path() / ("own_model_" + std::to_string(::getpid()) + ".weights.h5");
  model.save_weights(path);
  Twins other;
  other(samples.x);
  other.load_weights(path);
  std::filesystem::remove(path);
  EXPECT_EQ(values_of(other.predict(samples.x)[0]), values_of(model.predict(samples.x)[0]));
  EXPECT_THROW(model.save(path), Error);  // no file describes a class
}

TEST(OwnModel, OneThatDoesNotSayWhatItComputesSaysSo) {
  struct Nothing : Model {
    Nothing() : Model("nothing") {}
  } model;
  try {
    model.predict(numbers({2, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("override call"), std::string::npos) << error.what();
  }
}

/// Keras' train_step written out.
struct WrittenOut : Line {
  Tensor train_step(const Batch& batch) override {
    ++traced;
    GradientTape tape;
    const Outputs outputs = forward(batch.inputs, true);
    const Tensor loss = compute_loss(batch, outputs);
    minimize(tape, loss);
    update_metrics(batch, outputs);
    if (largest) largest->add(reduce_max(abs(outputs.values[0])), 1);
    return loss;
  }
  void watch() { largest = &add_metric("largest"); }
  int traced = 0;
  Mean* largest = nullptr;
};

TEST(OwnSteps, ATrainStepWrittenOutDoesWhatTheUsualOneDoes) {
  const Tensor x = numbers({12, 3}), y = numbers({12, 1}, 3);
  WrittenOut own;
  Line usual;
  for (Model* model : {static_cast<Model*>(&own), static_cast<Model*>(&usual)}) {
    (*model)(x);
    start_alike(*model);
    model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  }
  own.watch();
  const FitOptions options{.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false};
  const History a = own.fit(x, y, options), b = usual.fit(x, y, options);
  EXPECT_EQ(a.at("loss"), b.at("loss"));
  EXPECT_EQ(a.at("mae"), b.at("mae"));
  EXPECT_EQ(a.at("largest").size(), 3u);
  EXPECT_GT(a.at("largest")[0], 0);
  EXPECT_EQ(own.traced, 1);  // it is one plan
}

struct Halved : Line {
  Tensor compute_loss(const Batch& batch, const Outputs& outputs) override {
    return Line::compute_loss(batch, outputs) * 0.5;
  }
  Tensors predict_step(const Tensors& inputs) override { return {Line::predict_step(inputs)[0] + 100.0}; }
};

TEST(OwnSteps, ALossAndAPredictionOfOnesOwnAreUsed) {
  const Tensor x = numbers({8, 3}), y = numbers({8, 1}, 3);
  Halved own;
  Line usual;
  for (Model* model : {static_cast<Model*>(&own), static_cast<Model*>(&usual)}) {
    (*model)(x);
    start_alike(*model);
    model->compile({.optimizer = "sgd", .loss = "mse"});
  }
  EXPECT_FLOAT_EQ(static_cast<float>(own.evaluate(x, y).at("loss")),
                  static_cast<float>(usual.evaluate(x, y).at("loss") / 2));
  EXPECT_FLOAT_EQ(static_cast<float>(own.train_on_batch({x, y}).at("loss")),
                  static_cast<float>(usual.train_on_batch({x, y}).at("loss") / 2));
  EXPECT_GT(own.predict(x).to_vector<float>()[0], 50);
}

struct Costly : Line {
  Tensors call(const Tensors& x, bool training) override {
    add_loss(reduce_sum(square(x[0])));
    return Line::call(x, training);
  }
};

TEST(OwnSteps, AModelMayAddToItsLoss) {
  const Tensor x = numbers({4, 3}), y = zeros({4, 1});
  Costly model;
  model(x);
  for (const Variable& variable : model.variables()) variable.assign(zeros(variable.shape()));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_FLOAT_EQ(static_cast<float>(model.evaluate(x, y).at("loss")), reduce_sum(square(x)).item<float>());
}

TEST(RunEagerly, StepsOpByOpGiveTheSame) {
  const Tensor x = numbers({12, 3}), y = numbers({12, 1}, 3);
  std::vector<History> histories;
  for (const bool eagerly : {false, true}) {
    Sequential model({Dense(4, "relu"), Dense(1)});
    model(x);
    start_alike(model);
    model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .run_eagerly = eagerly});
    histories.push_back(model.fit(x, y, {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false}));
    EXPECT_EQ(model.train_function().tracing_count() == 0, eagerly);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(histories[0].at("loss")[i], histories[1].at("loss")[i], 1e-6);
}

TEST(OwnObjectives, FunctionsAndClassesStandBesideNames) {
  struct Count : Metric {
    Count() : Metric("count") {}
    void update(const Tensor& y_true, const Prediction&, const Tensor&) override {
      sum("seen").assign_add(Tensor(static_cast<float>(y_true.shape()[0])));
    }
    Tensor value() const override { return total("seen"); }
  };
  const Tensor x = numbers({8, 3}), y = numbers({8, 1});
  Sequential model({Dense(1)});
  const auto distance = [](const Tensor& y_true, const Tensor& y_pred) {
    return reduce_mean(abs(y_true - y_pred), {-1});
  };
  model.compile({.optimizer = "sgd",
                 .loss = distance,
                 .metrics = {"mae", MetricConfig::mean_of("own", distance),
                             MetricConfig::made_by("rows", [] { return std::make_unique<Count>(); })}});
  const Logs logs = model.evaluate(x, y, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(logs.at("loss")), static_cast<float>(logs.at("mae")));
  EXPECT_FLOAT_EQ(static_cast<float>(logs.at("own")), static_cast<float>(logs.at("mae")));
  EXPECT_EQ(logs.at("rows"), 8);
}

TEST(FitOptions, AnEpochMayBeShorterAndValidationRarer) {
  const Tensor x = numbers({12, 3}), y = numbers({12, 1});
  Sequential model({Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Dataset checks = Dataset::from_tensor_slices(Value::tuple({x, y})).batch(6);
  const History history = model.fit(x, y,
                                    {.batch_size = 2,
                                     .epochs = 4,
                                     .verbose = 0,
                                     .steps_per_epoch = 3,
                                     .validation_dataset = checks,
                                     .validation_steps = 1,
                                     .validation_freq = 2});
  EXPECT_EQ(model.optimizer()->iterations(), 12);
  EXPECT_EQ(history.at("loss").size(), 4u);
  EXPECT_EQ(history.at("val_loss").size(), 2u);
  EXPECT_THROW(model.fit(x, y, {.verbose = 0, .validation_freq = 0}), Error);
}

TEST(FitOptions, ClassWeightsCountInDatasetsToo) {
  const Tensor x = numbers({8, 3}), y = Tensor::from(std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1}, {8});
  const std::map<std::int64_t, double> by_class{{0, 1.0}, {1, 4.0}, {2, 0.5}};
  std::vector<double> losses;
  for (const bool arrays : {true, false}) {
    Sequential model({Dense(3, "softmax")});
    model(x);
    start_alike(model);
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
    const FitOptions options{.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false, .class_weight = by_class};
    losses.push_back((arrays ? model.fit(x, y, options)
                             : model.fit(Dataset::from_tensor_slices(Value::tuple({x, y})).batch(4), options))
                         .at("loss")
                         .back());
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-6);
}

TEST(Predict, TakesADatasetOfBatches) {
  const Tensor x = numbers({7, 3});
  Sequential model({Dense(2)});
  const Tensor whole = model.predict(x);
  EXPECT_EQ(values_of(model.predict(Dataset::from_tensor_slices(Value::tuple({x, x})).batch(3))[0]), values_of(whole));
  EXPECT_EQ(values_of(model.predict_on_batch({x})[0]), values_of(whole));
}

}  // namespace
}  // namespace tandem
