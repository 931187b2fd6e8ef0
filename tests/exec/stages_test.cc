#include <gtest/gtest.h>

#include <random>

#include "tandem/base/cores.h"
#include "tandem/exec/numerics.h"
#include "tandem/exec/stage_trial.h"
#include "tandem/graph/passes.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

struct Threads {
  explicit Threads(int count) { Cores::process().set_threads(count); }
  ~Threads() { Cores::process().set_threads(usable_cores()); }
};

struct NoStages {
  NoStages() { set_pass_enabled("stage", false); }
  ~NoStages() { set_pass_enabled("stage", true); }
};

/// Stages on all cores, whatever is faster here, and on the host: bits depend on the device, and other tests may have
/// found some.
class Stages : public ::testing::Test {
 protected:
  void SetUp() override { set_stage_use(StageUse::together); }
  void TearDown() override { set_stage_use(StageUse::measured); }

 private:
  const DeviceScope host_{"/CPU:0"};
};

using Body = std::function<Tensors(const Tensors&)>;

std::shared_ptr<const Plan> plan_of(const Body& body, const Tensors& arguments) {
  const DeviceName cpu = DeviceName::parse("/CPU:0");
  return function(body).concrete(arguments)->plan(&cpu);
}

/// How many instructions each stage or bundle has.
std::vector<std::uint32_t> stages_of(const Plan& plan) {
  std::vector<std::uint32_t> sizes;
  for (const Plan::Instruction& one : plan.instructions())
    if (one.joined) sizes.push_back(one.together);
  return sizes;
}

/// Two layers, their gradients by the loss, and the updates of their weights.
struct SmallStep {
  Variable w1{random_normal({100, 64}, 0, 0.1)}, b1{zeros({64})}, w2{random_normal({64, 10}, 0, 0.1)}, b2{zeros({10})};
  Adam adam;

  Tensors operator()(const Tensors& a) {
    GradientTape tape;
    const Tensor logits = bias_add(matmul(relu(bias_add(matmul(a[0], w1), b1)), w2), b2);
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(a[1], logits));
    const std::vector<Variable> variables{w1, b1, w2, b2};
    adam.apply_gradients(variables, tape.gradient(loss, Tensors{w1, b1, w2, b2}));
    return {loss};
  }
};

TEST_F(Stages, ACoreTakesItsRowsThroughAllLayersBeforeTheCoresMeet) {
  const Threads two(2);
  const Body layers = [](const Tensors& a) {
    Tensor x = a[0];
    for (int i = 0; i < 4; ++i) x = relu(bias_add(matmul(x, a[1]), a[2]));
    return Tensors{softmax(x)};
  };
  const auto plan = plan_of(layers, {random_normal({32, 64}), random_normal({64, 64}), zeros({64})});
  EXPECT_EQ(plan->instructions().size(), 5u);
  EXPECT_EQ(stages_of(*plan), (std::vector<std::uint32_t>{5}));
}

TEST_F(Stages, PlansThatUpdateVariablesHaveNone) {
  set_stage_use(StageUse::measured);  // only tests make stages of them
  const Threads two(2);
  SmallStep step;
  const Tensors arguments{random_normal({32, 100}), zeros({32}, DType::i32)};
  EXPECT_TRUE(stages_of(*plan_of([&](const Tensors& a) { return step(a); }, arguments)).empty());
  const Body forward = [&](const Tensors& a) {
    return Tensors{softmax(bias_add(matmul(relu(bias_add(matmul(a[0], step.w1), step.b1)), step.w2), step.b2))};
  };
  EXPECT_EQ(stages_of(*plan_of(forward, arguments)), (std::vector<std::uint32_t>{3}));
}

TEST_F(Stages, NobodyIsCalledForWhatOneCoreHasDoneBefore) {
  const Threads two(2);
  const Body tiny = [](const Tensors& a) { return Tensors{tanh(matmul(relu(matmul(a[0], a[1])), a[1]))}; };
  EXPECT_TRUE(stages_of(*plan_of(tiny, {ones({8, 8}), ones({8, 8})})).empty());
  const Body mixing = [](const Tensors& a) {
    Tensor x = a[0];
    for (int i = 0; i < 4; ++i) x = x - reduce_mean(x, {0}, true);  // every op needs all rows of the one before
    return Tensors{x};
  };
  EXPECT_TRUE(stages_of(*plan_of(mixing, {ones({32, 16})})).empty());
}

TEST_F(Stages, WithOneThreadThereAreNone) {
  const Threads one(1);
  SmallStep step;
  EXPECT_TRUE(stages_of(*plan_of([&](const Tensors& a) { return step(a); }, {ones({32, 100}), zeros({32}, DType::i32)}))
                  .empty());
}

/// Values of [48, 40] and [40, 40] that several ops read, along rows and across.
Tensors random_program(unsigned seed, const Tensors& arguments) {
  std::mt19937 random(seed);
  Tensors values{arguments[0], arguments[1]};
  const Tensor& weight = arguments[2];
  for (int step = 0; step < 40; ++step) {
    const Tensor x = values[random() % values.size()], y = values[random() % values.size()];
    switch (random() % 8) {
      case 0: values.push_back(matmul(x, weight) * 0.1); break;
      case 1: values.push_back(tanh(x + y)); break;
      case 2: values.push_back(x * reduce_mean(y, {0}, true)); break;
      case 3: values.push_back(softmax(x)); break;
      case 4: values.push_back(x - reduce_max(y, {1}, true)); break;
      case 5: values.push_back(matmul(x, matmul(y, x, true)) * 1e-3); break;
      case 6: values.push_back(reshape(relu(reshape(x, Shape({40, 48}))), Shape({48, 40})) - y); break;
      default: values.push_back(x * reduce_sum(square(y), {}, false) * 1e-4); break;
    }
  }
  return {values.end() - 6, values.end()};
}

TEST_F(Stages, RandomProgramsKeepTheirBitsForAnyNumberOfThreads) {
  const Tensors arguments{random_normal({48, 40}), random_normal({48, 40}), random_normal({40, 40})};
  std::size_t staged = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto body = [seed](const Tensors& a) { return random_program(seed, a); };
    Tensors expected;
    {
      const NoStages op_by_op;
      expected = function(body)(arguments);
    }
    for (int threads = 2; threads <= 4; ++threads) {
      const Threads some(threads);
      staged += !stages_of(*plan_of(body, arguments)).empty();
      auto f = function(body);
      for (int run = 0; run < 3; ++run) {
        const Tensors results = f(arguments);
        for (std::size_t i = 0; i < results.size(); ++i)
          ASSERT_EQ(results[i].to_vector<float>(), expected[i].to_vector<float>())
              << "seed " << seed << ", " << threads << " threads, result " << i;
      }
    }
  }
  EXPECT_GT(staged, 30u);
}

// --- Trainings: the same bits with stages and without, for any number of threads ---

/// What a training left behind: predictions, and the history of its metrics.
using Trained = std::pair<std::vector<float>, History>;

Trained trained_dense(bool weighted) {
  set_seed(3);
  Sequential model({Dense(64, "relu"), BatchNormalization(), Dropout(0.3), Dense(64, "tanh"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const Tensor x = random_normal({150, 60}),
               y = random_uniform({150}, 0, 10, DType::i32);  // batches of 32, the last of 22
  FitOptions options{.epochs = 2, .verbose = 0};
  if (weighted) options.sample_weight = random_uniform({150}, 0.5, 2);
  const History history = model.fit(x, y, options);
  return {model.predict(x).to_vector<float>(), history};
}

Trained trained_towers() {
  set_seed(4);
  const Symbol a = Input({50}, {.name = "a"}), b = Input({30}, {.name = "b"});
  const Symbol both = Concatenate()({Dense(64, "relu")(a), Dense(64, "relu")(b)});
  Model model({a, b},
              {Dense(8, DenseOptions{.activation = "softmax", .name = "kind"})(both),
               Dense(3, DenseOptions{.name = "size"})(both)},
              "towers");
  model.compile({.optimizer = "rmsprop", .losses = {"sparse_categorical_crossentropy", "mse"}});
  const Tensors x{random_normal({100, 50}), random_normal({100, 30})},
      y{random_uniform({100}, 0, 8, DType::i32), random_normal({100, 3})};
  const History history = model.fit(Samples(x, y), {.epochs = 2, .verbose = 0});
  std::vector<float> out;
  for (const Tensor& one : model.predict(x)) {
    const auto values = one.to_vector<float>();
    out.insert(out.end(), values.begin(), values.end());
  }
  return {out, history};
}

void expect_the_same_for_all(const std::function<Trained()>& train) {
  const auto expected = [&] {
    const NoStages op_by_op;
    return train();
  }();
  for (int threads = 1; threads <= 4; ++threads) {
    const Threads some(threads);
    EXPECT_EQ(train(), expected) << threads << " threads";
  }
}

TEST_F(Stages, DropoutBatchNormalizationAndARaggedBatchTrainAsOpByOp) {
  expect_the_same_for_all([] { return trained_dense(false); });
}
TEST_F(Stages, WeightsOfSamplesTrainAsOpByOp) {
  expect_the_same_for_all([] { return trained_dense(true); });
}
TEST_F(Stages, SeveralInputsAndOutputsTrainAsOpByOp) { expect_the_same_for_all(trained_towers); }

// --- Together or alone ---

/// Runs until the next trial has ended, when a run on one core takes `one` and one together `all`.
void try_both(StageTrial& trial, std::uint64_t one, std::uint64_t all) {
  for (int run = 0; run < 2 * 7; ++run) trial.note(trial.together() ? all : one, trial.together());
}

TEST(StageTrials, WhatIsFasterStays) {
  StageTrial trial;
  EXPECT_FALSE(trial.together());
  try_both(trial, 20, 12);
  EXPECT_TRUE(trial.together());
  try_both(trial, 20, 12);
  EXPECT_TRUE(trial.together());
  try_both(trial, 16, 40);  // the cores have moved apart
  EXPECT_FALSE(trial.together());
  try_both(trial, 20, 19.5);  // not worth a core
  EXPECT_FALSE(trial.together());
}

TEST(StageTrials, ARunThatWasDisturbedDecidesNothing) {
  StageTrial trial;
  int run = 0;
  for (; run < 2 * 7; ++run) trial.note(run % 7 == 4 ? 900 : trial.together() ? 12 : 20, trial.together());
  EXPECT_TRUE(trial.together());
}

TEST(StageTrials, HowAPlanRunsChangesNoBits) {
  const Threads two(2);
  const Tensors arguments{random_normal({32, 100}), zeros({32}, DType::i32)};
  const auto after_steps = [&] {
    set_seed(5);
    SmallStep step;
    auto f = function([&](const Tensors& a) { return step(a); });
    for (int run = 0; run < 40; ++run) f(arguments);  // a trial of both ways, and on
    return step.w1.value().to_vector<float>();
  };
  set_stage_use(StageUse::together);
  const auto together = after_steps();
  set_stage_use(StageUse::alone);
  const auto alone = after_steps();
  set_stage_use(StageUse::measured);
  EXPECT_EQ(together, alone);
  EXPECT_EQ(together, after_steps());
}

// --- What goes wrong ---

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error.message());
  }
  return "";
}

TEST_F(Stages, AWrongLabelOfAnyPartIsNamedAndTheVariablesStayAsTheyWere) {
  const Threads two(2);
  SmallStep step;
  auto f = function([&](const Tensors& a) { return step(a); });
  const Tensor x = random_normal({32, 100});
  f(Tensors{x, zeros({32}, DType::i32)});
  const auto before = step.w1.value().to_vector<float>();
  for (const auto& wrong : {std::vector<int>{3}, {20}, {20, 5}}) {
    std::vector<std::int32_t> labels(32);
    for (int row : wrong) labels[static_cast<std::size_t>(row)] = 77;
    const std::string message = message_of([&] { f(Tensors{x, Tensor::from(labels, {32})}); });
    EXPECT_NE(message.find(text("row ", wrong.back() < 16 ? wrong.back() : wrong[0])), std::string::npos) << message;
    EXPECT_EQ(step.w1.value().to_vector<float>(), before);
  }
}

TEST_F(Stages, NumbersThatAreNoneAreFoundAtTheOpThatMadeThem) {
  const Threads two(2);
  set_check_numerics(true);
  auto f = function([](const Tensors& a) { return Tensors{matmul(relu(log(matmul(a[0], a[1]))), a[1])}; });
  const std::string message = message_of([&] { f(Tensors{zeros({64, 64}) - 1.0, ones({64, 64})}); });
  set_check_numerics(false);
  EXPECT_NE(message.find("log"), std::string::npos) << message;
}

}  // namespace
}  // namespace tandem
