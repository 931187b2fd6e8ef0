// What layers cost beside the loss, what weights may be, and states that outlive a batch.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

LayerPtr layer(const char* class_name, const char* arguments) {
  return make_layer(LayerConfig::from_json(class_name, arguments));
}

TEST(LayerCosts, ActivityIsAPartOfTheLoss) {
  const Tensor x = Tensor::from<float>({1, -2, 3, 4}, {2, 2});
  for (
      const LayerPtr& costly :
      {layer("ActivityRegularization", R"({"name": "a", "l1": 0.5, "l2": 0.1})"),
       layer(
           "Activation",
           R"({"name": "a", "activation": "linear", "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.1}}})")}) {
    Sequential model({costly});
    model.compile({.loss = "mse"});
    EXPECT_NEAR(model.evaluate(x, x).at("loss"), (0.5 * 10 + 0.1 * 30) / 2, 1e-6);  // a sample
  }
}

class Costly final : public Layer {
 public:
  using Layer::Layer;

 private:
  Tensor call(const Tensor& x, bool) override {
    add_loss(reduce_sum(x) * 2.0);
    return x;
  }
};

TEST(LayerCosts, ALayerOfOnesOwnMayAddToTheLoss) {
  Sequential model({std::make_shared<Costly>("costly")});
  model.compile({.loss = "mse"});
  const Tensor x = ones({3, 2});
  EXPECT_NEAR(model.evaluate(x, x).at("loss"), 12, 1e-6);
  EXPECT_NO_THROW(model(x));  // where nobody trains, nobody asks
}

TEST(Constraints, HoldAfterEveryStep) {
  const auto trained = [](const char* constraint) {
    set_seed(4);
    Sequential model(
        {layer("Dense", text(R"({"name": "d", "units": 3, "kernel_constraint": )", constraint, "}").c_str())});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = random_normal({16, 4});
    for (int i = 0; i < 5; ++i) model.train_on_batch({x, ones({16, 3}) * 5.0});
    return model.variables()[0].value();
  };
  const auto norms = [](const Tensor& w) { return sqrt(reduce_sum(square(w), {0})).to_vector<float>(); };
  for (const float norm : norms(trained(R"("unit_norm")"))) EXPECT_NEAR(norm, 1, 1e-5);
  for (const float norm : norms(trained(R"({"class_name": "MaxNorm", "config": {"max_value": 0.5, "axis": 0}})")))
    EXPECT_LE(norm, 0.5 + 1e-5);
  for (const float norm :
       norms(trained(R"({"class_name": "MinMaxNorm", "config": {"min_value": 0.2, "max_value": 0.3}})")))
    EXPECT_TRUE(norm > 0.2 - 1e-5 && norm < 0.3 + 1e-5);
  for (const float weight : trained(R"("NonNeg")").to_vector<float>()) EXPECT_GE(weight, 0);
  EXPECT_NE(error_of([&] {
              trained(R"("rising")");
            }).find("unknown constraint 'rising'; the known ones are max_norm, min_max_norm, unit_norm, non_neg"),
            std::string::npos);
}

TEST(Stateful, ALayerGoesOnFromTheLastBatchUntilItIsReset) {
  set_seed(2);
  const LayerPtr kept = layer("LSTM", R"({"name": "l", "units": 3, "stateful": true, "return_sequences": true})");
  const Tensor x = random_normal({2, 6, 4});
  const Tensor all = (*kept)(x);
  kept->reset_state();
  const Tensor parts = concat({(*kept)(slice(x, {0, 0, 0}, {2, 3, 4})), (*kept)(slice(x, {0, 3, 0}, {2, 3, 4}))}, 1);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_NEAR(parts.to_vector<float>()[i], all.to_vector<float>()[i], 1e-6);
  EXPECT_NE(error_of([&] { (*kept)(random_normal({3, 6, 4})); }).find("every batch must have the same size"),
            std::string::npos);
}

TEST(RecurrentDropout, DropsWhileTrainingOnly) {
  set_seed(2);
  const Tensor x = random_normal({2, 5, 4});
  for (const char* rates : {R"("dropout": 0.5)", R"("recurrent_dropout": 0.5)"}) {
    const LayerPtr gru = layer("GRU", text(R"({"name": "g", "units": 8, )", rates, "}").c_str());
    const std::vector<float> still = (*gru)(x).to_vector<float>();
    EXPECT_EQ((*gru)(x).to_vector<float>(), still);
    EXPECT_NE((*gru)(x, true).to_vector<float>(), still);
  }
}

TEST(SpectralNormalization, BringsTheLargestSingularValueToOne) {
  set_seed(7);
  const LayerPtr layer_of_one = layer(
      "SpectralNormalization",
      R"({"name": "s", "power_iterations": 30, "layer": {"class_name": "Dense", "config": {"name": "d", "units": 3}}})");
  const Tensor x = random_normal({5, 4});
  (*layer_of_one)(x, true);
  const Tensor kernel = layer_of_one->children()[0].second->own_variables()[0];
  Tensor v = ones({3, 1});
  for (int i = 0; i < 100; ++i) {
    v = matmul(kernel, matmul(kernel, v), true);
    v = v / sqrt(reduce_sum(square(v)));
  }
  EXPECT_NEAR(sqrt(reduce_sum(square(matmul(kernel, v)))).item<float>(), 1, 1e-3);
}

}  // namespace
}  // namespace tandem
