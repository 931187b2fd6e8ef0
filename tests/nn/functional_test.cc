#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tandem/tandem.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

TEST(Functional, SymbolsKnowTheirShapes) {
  const Symbol x = Input({28, 28, 3});
  const Symbol y = Conv2D(8, {3, 3}, {.padding = "same"})(x);
  EXPECT_EQ(y.shape(), (std::vector<std::int64_t>{-1, 28, 28, 8}));
  const Symbol flat = Flatten()(y);
  EXPECT_EQ(flat.shape(), (std::vector<std::int64_t>{-1, 28 * 28 * 8}));
  const Symbol words = Embedding(100, 16)(Input({-1}, {.dtype = DType::i32}));
  EXPECT_EQ(words.shape(), (std::vector<std::int64_t>{-1, -1, 16}));
}

/// Two towers that meet, with a layer that both share.
struct Towers {
  Symbol a = Input({6}, {.name = "a"}), b = Input({4}, {.name = "b"});
  LayerPtr shared = Dense(5, DenseOptions{.activation = "tanh", .name = "shared"});
  Symbol left = shared(Dense(3, DenseOptions{.name = "left"})(a)),
         right = shared(Dense(3, DenseOptions{.name = "right"})(b));
  Symbol both = Concatenate()({left, right});
  Model model{{a, b},
              {Dense(2, DenseOptions{.activation = "softmax", .name = "kind"})(both),
               Dense(1, DenseOptions{.name = "size"})(both)},
              "towers"};
};

TEST(Functional, SeveralInputsAndOutputsAndASharedLayer) {
  Towers towers;
  EXPECT_EQ(towers.model.count_params(), (6 * 3 + 3) + (4 * 3 + 3) + (3 * 5 + 5) + (10 * 2 + 2) + (10 + 1));
  const Tensors out = towers.model(Tensors{ones({7, 6}), ones({7, 4})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].shape(), Shape({7, 2}));
  EXPECT_EQ(out[1].shape(), Shape({7, 1}));
}

TEST(Functional, TrainsSeveralOutputsWithLossesOfTheirOwn) {
  set_seed(1);
  Towers towers;
  towers.model.compile({.optimizer = "adam",
                        .losses = {"sparse_categorical_crossentropy", "mse"},
                        .loss_weights = {1, 0.5},
                        .metrics = {"mae"}});
  EXPECT_THROW(towers.model.compile({.losses = {"mse"}}), Error);
  const Tensor a = random_normal({256, 6}), b = random_normal({256, 4});
  const Tensor kind = cast(greater(reduce_sum(a, {1}), 0.0), DType::i32), size = reduce_sum(b, {1}, true);
  towers.model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.02}),
                        .losses = {"sparse_categorical_crossentropy", "mse"},
                        .loss_weights = {1, 0.5}});
  const History history = towers.model.fit(Samples({a, b}, {kind, size}), {.epochs = 30, .verbose = 0});
  EXPECT_LT(history.at("kind_loss").back(), 0.25);
  EXPECT_LT(history.at("size_loss").back(), 0.5);
  EXPECT_NEAR(history.at("loss").back(), history.at("kind_loss").back() + 0.5 * history.at("size_loss").back(), 1e-4);
}

TEST(Functional, SavedAndLoadedPredictsTheSame) {
  const TemporaryFolder folder;
  Towers towers;
  const Tensors inputs{random_normal({3, 6}), random_normal({3, 4})};
  const std::string path = folder.path("towers.keras");
  towers.model.save(path);
  const auto loaded = load_model(path);
  const Tensors wanted = towers.model.predict(inputs), got = loaded->predict(inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(got[i].to_vector<float>(), wanted[i].to_vector<float>());
}

/// A residual block and attention: what layers of several inputs are for.
TEST(Functional, BlocksOfSeveralKindsAreDrawnAndSaved) {
  const TemporaryFolder folder;
  const Symbol image = Input({8, 8, 4}, {.name = "image"}), words = Input({5, 6}, {.name = "words"});
  const Symbol block = ReLU()(Add()({Conv2D(4, {3, 3}, {.padding = "same"})(image), image}));
  const Symbol attended = LayerNormalization()(Add()({MultiHeadAttention(2, 3)({words, words}), words}));
  Model model(
      {image, words},
      {Dense(3)(Concatenate()({GlobalAveragePooling2D()(block), GlobalAveragePooling1D()(attended), LSTM(4)(words)}))});
  const Tensors inputs{random_normal({2, 8, 8, 4}), random_normal({2, 5, 6})};
  model.save(folder.path("blocks.keras"));
  const auto loaded = load_model(folder.path("blocks.keras"));
  EXPECT_EQ(loaded->predict(inputs)[0].to_vector<float>(), model.predict(inputs)[0].to_vector<float>());
}

TEST(Functional, WhatDoesNotFitIsRefusedWhereItIsDrawn) {
  const Symbol x = Input({5});
  EXPECT_THROW(Conv2D(8, {3, 3})(x), Error);
  const Symbol other = Input({5}, {.name = "other"});
  const Symbol y = Dense(3)(other);
  try {
    Model model({x}, {y});
    FAIL() << "an input that is missing was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'other'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Model({y}, {Dense(1)(y)}), Error);
  EXPECT_THROW(Model({x, x}, {Dense(1)(x)}), Error);
}

TEST(Functional, SummaryAndPicture) {
  Towers towers;
  const std::string table = towers.model.summary();
  EXPECT_NE(table.find("Model: \"towers\""), std::string::npos);
  EXPECT_NE(table.find("shared (Dense)"), std::string::npos) << table;
  EXPECT_NE(table.find("(None, 10)"), std::string::npos) << table;
  EXPECT_NE(table.find("Total params: 89 (356.00 B)"), std::string::npos) << table;
  EXPECT_NE(towers.model.to_dot().find("-> n"), std::string::npos);
  EXPECT_EQ(towers.model.get_layer("left")->count_params(), 21);
  EXPECT_THROW(towers.model.get_layer("centre"), Error);
}

/// A layer of one's own: scales by a weight that it learns.
class Scale final : public Layer {
 public:
  Scale() : Layer(LayerConfig("Scale")) {}

 private:
  void make_variables(const Shape& input) override {
    factor_ = add_weight("factor", {input[-1]}, [](const Shape& shape) { return ones(shape); });
  }
  Tensor call(const Tensor& x, bool) override { return x * *factor_; }
  std::optional<Variable> factor_;
};

TEST(Functional, LayersOfOnesOwnLearn) {
  const Symbol x = Input({1});
  Model model({x}, {LayerPtr(std::make_shared<Scale>())(x)});
  model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.5}), .loss = "mse"});
  const Tensor inputs = random_uniform({64, 1}, 0.5, 1);
  model.fit(inputs, inputs * 3.0, {.epochs = 30, .verbose = 0});
  EXPECT_NEAR(model.variables()[0].value().data<float>()[0], 3, 1e-2);
}

}  // namespace
}  // namespace tandem
