// fit, evaluate and predict by several devices: the results of one, whatever becomes of the devices.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

struct Trained {
  std::vector<double> losses, metrics;
  Tensor predictions;
  Logs evaluated;
};

struct Losses final : Callback {
  explicit Losses(std::vector<double>& seen) : seen(seen) {}
  bool wants_batches() const override { return true; }
  void on_train_batch_end(Model&, std::int64_t, const Logs& logs) override { seen.push_back(logs.at("loss")); }
  std::vector<double>& seen;
};

/// Fifty steps, two epochs whose last batch is smaller.
struct Task {
  CompileOptions options = {.loss = "mse"};
  bool weighted = false;
  std::vector<std::int64_t> target = {1};  // shape of one
};
Trained train(const std::function<std::vector<LayerPtr>()>& layers, const MirroredStrategy* strategy, Task task = {}) {
  set_seed(3);
  const Tensor x = random_normal({16 * 25 - 7, 6});
  std::vector<std::int64_t> shape = task.target;
  shape.insert(shape.begin(), x.shape()[0]);
  const Tensor y = random_normal(Shape(std::span<const std::int64_t>(shape)));
  Sequential model(layers());
  std::optional<MirroredStrategy::Scope> scope;
  if (strategy) scope.emplace(*strategy);
  model.compile(task.options);
  scope.reset();
  set_seed(4);
  Trained out;
  const FitOptions fit{.batch_size = 16,
                       .epochs = 2,
                       .verbose = 0,
                       .sample_weight = task.weighted ? random_uniform({x.shape()[0]}) : Tensor(),
                       .callbacks = {std::make_shared<Losses>(out.losses)}};
  out.metrics = model.fit(x, y, fit).at("loss");
  out.predictions = model.predict(x, 50);
  out.evaluated = model.evaluate(x, y, 50);
  return out;
}

std::string difference(const Trained& several, const Trained& one, double tolerance = 1e-4) {
  if (several.losses.size() != one.losses.size()) return text(several.losses.size(), " steps, not ", one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    if (!(std::abs(several.losses[i] - one.losses[i]) <= tolerance * std::abs(one.losses[i])))
      return text("step ", i, ": ", several.losses[i], " and ", one.losses[i]);
  if (const double off = reduce_max(abs(several.predictions - one.predictions)).item<double>(); !(off < 20 * tolerance))
    return text("predictions differ by ", off);
  for (const auto& [name, value] : one.evaluated)
    if (!(std::abs(several.evaluated.at(name) - value) <= 20 * tolerance * std::abs(value)))
      return text(name, ": ", several.evaluated.at(name), " and ", value);
  return "";
}

std::vector<LayerPtr> normalized() {
  return {Dense(8), BatchNormalization({.momentum = 0.9, .synchronized = true}), ReLU(), Dropout(0.3), Dense(1)};
}

LayerPtr layer(const char* class_name, const char* arguments) {
  return make_layer(LayerConfig::from_json(class_name, arguments));
}

TEST(MirroredTraining, HasTheLossesOfOneDeviceWithSynchronisedNormalizationAndDropout) {
  const Trained one = train(normalized, nullptr);
  ASSERT_EQ(one.losses.size(), 50u);
  for (const std::vector<double>& speeds : {std::vector<double>{1, 1}, {1, 3}, {0, 1}}) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
    strategy.set_speeds(speeds);
    EXPECT_EQ(difference(train(normalized, &strategy), one), "") << strategy.explain();
  }
}

TEST(MirroredTraining, MovingAveragesTakeOneStepABatchAlsoWhenReplicasNormalizeApart) {
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  strategy.set_speeds({3, 1});
  set_seed(1);
  const Tensor x = random_normal({8, 2});
  Sequential model({BatchNormalization({.momentum = 0.9}), Dense(1)});
  const auto scope = strategy.scope();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, ones({8, 1}), {.batch_size = 8, .verbose = 0, .shuffle = false});
  const Tensor mean = model.layers()[0]->own_variables()[2].value();
  EXPECT_LT(reduce_max(abs(mean - reduce_mean(x, {0}) * 0.1)).item<double>(), 1e-6);
}

TEST(MirroredTraining, LossesOfMaskedStepsByWeightsAndOfActivityAreThoseOfOneDevice) {
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  strategy.set_speeds({1, 2});
  const auto costly = []() -> std::vector<LayerPtr> {
    return {
        layer(
            "Dense",
            R"({"name": "d", "units": 4, "activation": "tanh", "activity_regularizer": {"class_name": "L2", "config": {"l2": 0.1}}, "kernel_regularizer": "l2"})"),
        Dense(1)};
  };
  EXPECT_EQ(difference(train(costly, &strategy), train(costly, nullptr)), "");
  const auto masked = []() -> std::vector<LayerPtr> {  // three steps of two numbers; those that are 0 do not count
    return {Lambda([](const Tensor& x) { return relu(x); }), Reshape({3, 2}),
            layer("Masking", R"({"name": "m", "mask_value": 0.0})"), Dense(1)};
  };
  const auto plain = []() -> std::vector<LayerPtr> { return {Dense(1)}; };
  for (const char* reduction : {"sum_over_batch_size", "sum", "mean_with_sample_weight"}) {
    Task task{.options = {.loss = {"mse", {.reduction = reduction}}}, .weighted = true};
    EXPECT_EQ(difference(train(plain, &strategy, task), train(plain, nullptr, task)), "") << reduction;
    task.target = {3, 1};
    EXPECT_EQ(difference(train(masked, &strategy, task), train(masked, nullptr, task)), "") << reduction << ", masked";
  }
}

TEST(MirroredTraining, RowsOfAnEmbeddingThatABatchNamesTwiceCountAsOnOneDevice) {
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  strategy.set_speeds({1, 2});
  const auto embedded = []() -> std::vector<LayerPtr> {  // six words, each one of three
    return {Lambda([](const Tensor& x) { return cast(minimum(abs(x), 2.0), DType::i32); }), Embedding(3, 4), Flatten(),
            Dense(1)};
  };
  for (const char* optimizer : {"sgd", "adam", "adamax", "adagrad"})
    for (const GradientLimits& limits :
         {GradientLimits{}, GradientLimits{.clipnorm = 0.05}, GradientLimits{.clipvalue = 0.01}}) {
      const auto task = [&] {
        const std::string arguments = text("{\"learning_rate\": 0.01, \"clipnorm\": ", limits.clipnorm,
                                           ", \"clipvalue\": ", limits.clipvalue, "}");
        return Task{.options = {.optimizer_object = read_optimizer(make_optimizer(optimizer)->class_name(), arguments),
                                .loss = "mse"}};
      };
      EXPECT_EQ(difference(train(embedded, &strategy, task()), train(embedded, nullptr, task())), "")
          << optimizer << ", " << limits.clipnorm << ", " << limits.clipvalue;
    }
}

TEST(MirroredTraining, ADeviceThatFailsLeavesTheGroupAndTheLossesStayThoseOfOneDevice) {
  const Trained one = train(normalized, nullptr);
  for (const bool from_dataset : {false, true}) {
    std::vector<std::string> lines;
    const LogSink before = set_log_sink([&](const LogLine& line) {
      if (line.message.find("is faster here") == std::string_view::npos) lines.emplace_back(line.message);
    });
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
    strategy.set_speeds({1, 1});
    if (!from_dataset) {
      const FaultScope failing("plan.device:7");
      EXPECT_EQ(difference(train(normalized, &strategy), one), "");
    } else {
      Sequential model({Dense(2)});
      const auto scope = strategy.scope();
      model.compile({.optimizer = "sgd", .loss = "mse"});
      const FaultScope failing("plan.device:3");
      const Tensor x = ones({40, 3}), y = ones({40, 2});
      std::vector<double> seen;
      model.fit(Dataset::from_tensor_slices(Value::tuple({x, y})).batch(8),
                {.verbose = 0, .callbacks = {std::make_shared<Losses>(seen)}});
      EXPECT_EQ(seen.size(), 5u) << "the step is done again, none is left out";
    }
    set_log_sink(before);
    EXPECT_EQ(strategy.devices(), std::vector<std::string>{"/CPU:0"});
    EXPECT_EQ(strategy.explain(), "/CPU:0 100 %: /GPU:0 has left the group (it failed)");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].find("MirroredStrategy: /GPU:0 failed and has left the group; its rows go to /CPU:0 and the "
                            "step is done again."),
              0u)
        << lines[0];
  }
}

TEST(MirroredTraining, ADeviceMayFailWhileSpeedsAreMeasured) {
  const LogSink before = set_log_sink([](const LogLine&) {});
  const Trained one = train(normalized, nullptr);
  for (const char* fault : {"opencl.launch:3", "opencl.run:9", "opencl.transfer:5", "plan.device:3"}) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});  // nobody sets its speeds
    const FaultScope failing(fault);
    EXPECT_EQ(difference(train(normalized, &strategy), one), "") << fault;
    EXPECT_EQ(strategy.devices(), std::vector<std::string>{"/CPU:0"}) << fault;
  }
  set_log_sink(before);
}

TEST(MirroredTraining, ADeviceMayFailWhileAModelIsTestedOrPredicts) {
  const LogSink before = set_log_sink([](const LogLine&) {});
  const Tensor x = ones({40, 3}), y = ones({40, 2});
  const auto left_after = [&](const std::function<void(Sequential&)>& use) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
    strategy.set_speeds({1, 1});
    Sequential model({Dense(2)});
    const auto scope = strategy.scope();
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(x, y, {.verbose = 0});
    const FaultScope failing("plan.device:2");
    use(model);
    return strategy.devices();
  };
  const std::vector<std::string> one{"/CPU:0"};
  EXPECT_EQ(left_after([&](Sequential& model) { EXPECT_TRUE(std::isfinite(model.evaluate(x, y, 8).at("loss"))); }),
            one);
  EXPECT_EQ(left_after([&](Sequential& model) { EXPECT_EQ(model.predict(x, 8).shape(), (Shape{40, 2})); }), one);
  set_log_sink(before);
}

TEST(MirroredTraining, AFailingDeviceStopsItWhereThatIsWantedOrWhereVariablesLivedThere) {
  using OnFailure = MirroredOptions::OnFailure;
  for (const MirroredOptions& options :
       {MirroredOptions{.on_failure = OnFailure::stop}, {.sharded = true}, {.reduce_to = "/GPU:0"}}) {
    const MirroredStrategy strategy({"/CPU:0", "/GPU:0"}, options);
    strategy.set_speeds({1, 1});
    const FaultScope failing("plan.device:3");
    EXPECT_NE(error_of([&] { train(normalized, &strategy); }).find("failed on /GPU:0"), std::string::npos);
    EXPECT_EQ(strategy.devices().size(), 2u);
  }
}

TEST(MirroredTraining, ShardsFollowMeasuredSpeedWithAReason) {
  const Trained one = train(normalized, nullptr);
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  EXPECT_EQ(strategy.explain(), "equal shards: nothing has been measured yet");
  EXPECT_EQ(difference(train(normalized, &strategy), one), "") << strategy.explain();
  const auto& speeds = strategy.division()->speeds();
  EXPECT_TRUE(speeds[0] > 1 || strategy.explain().find("nothing has been measured") != std::string::npos)
      << "rows a second, unless both were equal: " << strategy.explain();
}

TEST(MirroredTraining, VariablesAndTheirStateMayLiveOnOneDeviceEach) {
  const Trained one = train(normalized, nullptr);
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"}, {.sharded = true});
  strategy.set_speeds({1, 1});
  EXPECT_EQ(difference(train(normalized, &strategy), one), "");
  const std::size_t bytes[] = {100, 60, 50};
  EXPECT_EQ(strategy.homes(bytes), (std::vector<std::string>{"/CPU:0", "/GPU:0", "/GPU:0"}));
}

/// Ends the process when something is not so.
void require(const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "not so: %s\n", wrong.c_str());
  std::_Exit(1);
}

[[noreturn]] void train_on_up_to_three() {
  setenv("TANDEM_OPENCL_CPU_AS_GPU", "2", 1);
  const Trained one = train(normalized, nullptr);
  using Group = std::pair<std::vector<std::string>, std::vector<double>>;
  for (const auto& [devices, speeds] : {Group{{"/GPU:1"}, {1}},
                                        {{"/GPU:0", "/GPU:1"}, {1, 2}},
                                        {{"/CPU:0", "/GPU:0", "/GPU:1"}, {5, 2, 1}},
                                        {{"/CPU:0", "/GPU:0", "/GPU:1"}, {3, 0, 9}}}) {
    const MirroredStrategy strategy(devices);
    strategy.set_speeds(speeds);
    require(difference(train(normalized, &strategy), one));
  }
  std::fprintf(stderr, "equal\n");
  std::_Exit(0);
}

TEST(MirroredTraining, HasTheLossesOfOneDeviceForOneToThreeReplicas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(train_on_up_to_three(), ::testing::ExitedWithCode(0), "equal");
}

}  // namespace
}  // namespace tandem
