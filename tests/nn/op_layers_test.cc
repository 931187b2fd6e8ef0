#include "tandem/nn/op_layers.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

const Json kTensor = Json::parse(
    R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "dtype": "float32", "keras_history": ["x", 0, 0]}})");

Json constant(const char* value, const char* dtype = "float32") {
  return {{"class_name", "__tensor__"}, {"config", {{"value", Json::parse(value)}, {"dtype", dtype}}}};
}

TEST(OpLayers, ATensorThatWasThereWhenTheModelWasDrawnIsAnOperand) {
  const Tensor x = Tensor::from({2.f, 4.f, 6.f, 8.f}, {2, 2});
  const LayerPtr divide = make_op_layer(LayerConfig("TrueDivide"), Json::array({kTensor, constant("2.0")}));
  EXPECT_EQ((*divide)(x, false).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  const LayerPtr subtract =
      make_op_layer(LayerConfig("Subtract"), Json::array({constant("[[1, 2], [3, 4]]"), kTensor}));
  EXPECT_EQ((*subtract)(x, false).to_vector<float>(), (std::vector<float>{-1, -2, -3, -4}));
}

TEST(OpLayers, AConstantThatIsNoTensorIsRefused) {
  const auto made = [](const Json& value) {
    return error_of([&] { make_op_layer(LayerConfig("Add"), Json::array({kTensor, value})); });
  };
  EXPECT_NE(made(constant("[[1, 2], [3]]")).find("lists of equal length"), std::string::npos);
  EXPECT_NE(made(constant("[1, [2]]")).find("lists of equal length"), std::string::npos);
  EXPECT_NE(made(constant("[\"a\"]")).find("numbers"), std::string::npos);
  EXPECT_NE(made(constant("1", "float31")).find("unknown dtype"), std::string::npos);
  EXPECT_NE(made(constant((std::string(40, '[') + "1" + std::string(40, ']')).c_str())).find("axes"),
            std::string::npos);
}

TEST(OpLayers, AFunctionMayGiveSeveralResults) {
  const LayerPtr split = make_op_layer(LayerConfig("Split").set_json("indices_or_sections", "[1, 3]").set("axis", -1),
                                       Json::array({kTensor}));
  const Tensors parts = (*split)(Tensors{Tensor::from({1.f, 2.f, 3.f, 4.f}, {1, 4})}, false);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(OpLayers, SlicesMayRunBackwards) {
  const Json key = Json::parse(R"([{"class_name": "__slice__", "config": {"start": null, "stop": null, "step": -1}}])");
  const LayerPtr item = make_op_layer(LayerConfig("GetItem"), Json::array({kTensor, key}));
  EXPECT_EQ((*item)(Tensor::from({1.f, 2.f, 3.f}, {3}), false).to_vector<float>(), (std::vector<float>{3, 2, 1}));
}

TEST(OpLayers, ArgumentsThatDoNotFitAreRefusedByName) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const auto refused = [&](const LayerConfig& config, const Json& args = Json::array({kTensor})) {
    return error_of([&] { (*make_op_layer(config, args))(x, false); });
  };
  EXPECT_NE(refused(LayerConfig("Split").set("indices_or_sections", 3)).find("does not divide into 3"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Split")).find("indices_or_sections"), std::string::npos);
  EXPECT_NE(refused(LayerConfig("Tile").set_json("repeats", "[1, 1099511627776]")).find("repeats must be"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Repeat").set("axis", 0)).find("'repeats' is missing"), std::string::npos);
  EXPECT_NE(refused(LayerConfig("Einsum").set("subscripts", std::string("aa->a"))).find("letter twice"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Einsum").set("subscripts", std::string("ab,bc->ac"))).find("is not for 1 operands"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Quantile").set("axis", 1), Json::array({kTensor, 2.0})).find("between 0 and 1"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Argmax").set_json("axis", "[]")).find("'axis' must be an integer"), std::string::npos);
  EXPECT_NE(refused(LayerConfig("Median").set_json("axis", "[0, 1]")).find("one axis is supported"), std::string::npos);
  EXPECT_NE(refused(LayerConfig("Add"), Json::array({kTensor, kTensor})).find("more tensors are needed"),
            std::string::npos);
  EXPECT_NE(refused(LayerConfig("Cumsun")).find("did you mean 'Cumsum'"), std::string::npos);
}

}  // namespace
}  // namespace tandem
