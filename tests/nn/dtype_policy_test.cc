// Layers that compute in other dtypes than float32, and losses that are scaled.
#include "tandem/nn/dtype_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "tandem/nn/model_file.h"
#include "tandem/nn/optimizers.h"
#include "tandem/nn/sequential.h"

namespace tandem {
namespace {

struct Policy {
  explicit Policy(const char* name) { set_dtype_policy(name); }
  ~Policy() { set_dtype_policy("float32"); }
};

TEST(DTypePolicy, MixedLayersComputeInSixteenBitsAndKeepTheirVariables) {
  const Policy policy("mixed_bfloat16");
  Sequential model({Conv2D(4, {3, 3}, {.activation = "relu"}), BatchNormalization(), Flatten(), Dense(3)});
  const Tensor y = model.predict(random_normal({5, 6, 6, 2}));
  EXPECT_EQ(y.dtype(), DType::bf16);
  for (const Variable& variable : model.variables()) EXPECT_EQ(variable.dtype(), DType::f32) << variable.name();
}

TEST(DTypePolicy, ALayerSaysItItselfAndWhatIsUnknownIsNamed) {
  const LayerPtr dense = make_layer(LayerConfig("Dense").set("units", 3).set("dtype", std::string("float16")));
  EXPECT_EQ(dense(ones({2, 4})).dtype(), DType::f16);
  EXPECT_EQ(dense->variables()[0].dtype(), DType::f16);
  try {
    make_layer(LayerConfig("Dense").set("units", 3).set("dtype", std::string("mixed_bfloat")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'mixed_bfloat16'"), std::string::npos) << error.what();
  }
}

TEST(DTypePolicy, AModelInSixteenBitsLearns) {
  for (const char* name : {"mixed_bfloat16", "mixed_float16"}) {
    const Policy policy(name);
    Sequential model({Dense(16, "relu"), Dense(1)});
    model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.02}), .loss = "mse"});
    EXPECT_EQ(model.optimizer()->scales_losses(), std::string(name) == "mixed_float16");
    const Tensor x = random_normal({64, 4}), y = reduce_sum(x, {1}, true);
    const History history = model.fit(x, y, {.batch_size = 16, .epochs = 20, .verbose = 0});
    EXPECT_LT(history.at("loss").back(), history.at("loss").front() / 2) << name;
  }
}

TEST(DTypePolicy, IsKeptInTheFile) {
  const std::string path = std::filesystem::temp_directory_path() / ("policy_" + std::to_string(::getpid()) + ".keras");
  std::vector<float> before;
  const Tensor x = ones({2, 4});
  {
    const Policy policy("mixed_bfloat16");
    Sequential model({Dense(3)});
    before = cast(model.predict(x), DType::f32).to_vector<float>();
    model.save(path);
  }
  const auto loaded = load_model(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded->layers()[0]->policy().name, "mixed_bfloat16");
  EXPECT_EQ(cast(loaded->predict(x), DType::f32).to_vector<float>(), before);
}

TEST(LossScaling, AStepWithAGradientThatIsNotFiniteIsLeftOut) {
  const Variable v(Tensor(1.0f), true, "v");
  Adam adam(AdamOptions{.learning_rate = 0.1});
  adam.scale_losses(1024, 2);
  adam.apply_gradients({v}, {Tensor(std::numeric_limits<float>::infinity())});
  EXPECT_EQ(v.value().item<float>(), 1.0f);
  EXPECT_EQ(adam.loss_scale(), 512);
  EXPECT_EQ(adam.iterations(), 0);
  EXPECT_EQ(adam.scaled_loss(Tensor(2.0f)).item<float>(), 1024.0f);
  adam.apply_gradients({v}, {Tensor(512.0f)});
  EXPECT_NEAR(v.value().item<float>(), 0.9f, 1e-6);
  adam.apply_gradients({v}, {Tensor(512.0f)});  // the second good step: the scale grows
  EXPECT_EQ(adam.loss_scale(), 1024);
  EXPECT_EQ(adam.iterations(), 2);
  EXPECT_THROW(adam.scale_losses(0), Error);
}

}  // namespace
}  // namespace tandem
