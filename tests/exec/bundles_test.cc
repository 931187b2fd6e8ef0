#include <gtest/gtest.h>

#include <random>

#include "tandem/exec/numerics.h"
#include "tandem/exec/stage_trial.h"
#include "tandem/graph/passes.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

struct NoBundles {
  NoBundles() { set_pass_enabled("bundle", false); }
  ~NoBundles() { set_pass_enabled("bundle", true); }
};

/// Bundles on all cores, whatever is faster here, and not as stages, which would take what bundles are for.
class Bundles : public ::testing::Test {
 protected:
  void SetUp() override { set_pass_enabled("stage", false), set_stage_use(StageUse::together); }
  void TearDown() override { set_pass_enabled("stage", true), set_stage_use(StageUse::measured); }
};

using Body = Tensors (*)(const Tensors&);

/// How many instructions run at once, bundle by bundle.
std::vector<std::uint32_t> bundles_of(const Body body, const Tensors& arguments) {
  const DeviceName cpu = DeviceName::parse("/CPU:0");
  const auto plan = function(body).concrete(arguments)->plan(&cpu);
  std::vector<std::uint32_t> sizes;
  for (const Plan::Instruction& one : plan->instructions())
    if (one.together > 1) sizes.push_back(one.together);
  return sizes;
}

Tensors four_chains(const Tensors& arguments) {
  Tensors ends;
  for (int c = 0; c < 4; ++c) {
    Tensor x = arguments[0] + (1.0 + c);
    for (int i = 0; i < 3; ++i) x = matmul(x, arguments[1]);
    ends.push_back(x);
  }
  return ends;
}

TEST_F(Bundles, ChainsThatNeedNothingOfEachOtherRunSideBySide) {
  const Tensors arguments{random_normal({64, 64}), random_normal({64, 64})};
  const auto sizes = bundles_of(four_chains, arguments);
  ASSERT_GE(sizes.size(), 3u);
  for (std::uint32_t size : sizes) EXPECT_EQ(size, 4u);
}

TEST_F(Bundles, WhatDependsOnEachOtherOrIsTooSmallOrTooLargeDoesNot) {
  const Body chain = [](const Tensors& a) { return Tensors{matmul(matmul(a[0], a[1]), a[1])}; };
  EXPECT_TRUE(bundles_of(chain, {ones({64, 64}), ones({64, 64})}).empty());
  EXPECT_TRUE(bundles_of(four_chains, {ones({4, 4}), ones({4, 4})}).empty());
  EXPECT_TRUE(bundles_of(four_chains, {ones({512, 512}), ones({512, 512})}).empty());
}

/// Values that several ops read, some of them for the last time, and results among them.
Tensors random_program(unsigned seed, const Tensors& arguments) {
  std::mt19937 random(seed);
  Tensors values = arguments;
  for (int step = 0; step < 40; ++step) {
    const Tensor x = values[random() % values.size()], y = values[random() % values.size()];
    switch (random() % 5) {
      case 0: values.push_back(matmul(x, y) * 0.1); break;
      case 1: values.push_back(tanh(x + y)); break;
      case 2: values.push_back(x * reduce_mean(y, {0}, true)); break;
      case 3: values.push_back(softmax(x)); break;
      default: values.push_back(transpose(x) - y); break;
    }
  }
  return {values.end() - 6, values.end()};
}

TEST_F(Bundles, RandomProgramsKeepTheirBits) {
  const Tensors arguments{random_normal({72, 72}), random_normal({72, 72}), random_normal({72, 72})};
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto body = [seed](const Tensors& a) { return random_program(seed, a); };
    auto bundled = function(body);
    Tensors expected;
    {
      NoBundles one_by_one;
      expected = function(body)(arguments);
    }
    for (int run = 0; run < 5; ++run) {
      const Tensors results = bundled(arguments);
      for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(results[i].to_vector<float>(), expected[i].to_vector<float>())
            << "seed " << seed << ", run " << run << ", result " << i;
    }
  }
}

std::vector<float> trained(const char* device) {
  DeviceScope scope(device);
  set_seed(3);
  std::vector<LayerPtr> layers;
  for (int i = 0; i < 5; ++i) layers.push_back(Dense(48, "relu"));  // 12 variables: one launch and a half
  layers.push_back(Dense(10));
  Sequential model(layers);
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = random_normal({64, 48}), y = random_normal({64, 10});
  model.fit(x, y, {.batch_size = 16, .epochs = 3, .verbose = 0});
  return model.predict(x).to_vector<float>();
}

TEST_F(Bundles, AStepUpdatesItsVariablesAsOneByOne) {
  const auto bundled = trained("/CPU:0");
  NoBundles one_by_one;
  EXPECT_EQ(bundled, trained("/CPU:0"));
}

TEST(DevicesBundles, AGpuUpdatesVariablesInOneLaunchAsInMany) {
  const auto joined = trained("/GPU:0");
  NoBundles one_by_one;
  EXPECT_EQ(joined, trained("/GPU:0"));
}

TEST(DevicesBundles, EightUpdatesAreOneLaunch) {
  std::vector<Variable> variables;
  for (int i = 0; i < 10; ++i) variables.emplace_back(ones({3 + i, 5}));
  Adam adam;
  auto step = function([&](Tensor x) {
    Tensors gradients;
    for (const Variable& variable : variables) gradients.push_back(variable * x);
    adam.apply_gradients(variables, gradients);
    return x;
  });
  const DeviceName gpu = DeviceName::parse("/GPU:0");
  std::vector<std::uint32_t> launches;
  for (const Plan::Instruction& one : step.concrete({ones({})})->plan(&gpu)->instructions())
    if (one.joined) launches.push_back(one.together);
  EXPECT_EQ(launches, (std::vector<std::uint32_t>{8, 2}));
}

TEST_F(Bundles, TheOpThatFailsIsNamed) {
  set_check_numerics(true);
  auto f = function([](Tensor x, Tensor zero) {
    return Tensors{matmul(x, x), matmul(transpose(x), x), log(matmul(zero, x)), matmul(x, zero)};
  });
  std::string message;
  try {
    f(ones({64, 64}), zeros({64, 64}));
  } catch (const Error& error) {
    message = error.message();
  }
  set_check_numerics(false);
  EXPECT_NE(message.find("log"), std::string::npos) << message;
}

}  // namespace
}  // namespace tandem
