#include "tandem/nn/op_layers.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

const Json kTensor = Json::parse(R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "dtype": "float32", "keras_history": ["x", 0, 0]}})");

Json constant(const char* value, const char* dtype = "float32") {
  return {{"class_name", "__tensor__"}, {"config", {{"value", Json::parse(value)}, {"dtype", dtype}}}};
}

TEST(OpLayers, ATensorThatWasThereWhenTheModelWasDrawnIsAnOperand) {
  const Tensor x = Tensor::from({2.f, 4.f, 6.f, 8.f}, {2, 2});
  const LayerPtr divide = make_op_layer(LayerConfig("TrueDivide"), Json::array({kTensor, constant("2.0")}));
  EXPECT_EQ((*divide)(x, false).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  const LayerPtr subtract = make_op_layer(LayerConfig("Subtract"), Json::array({constant("[[1, 2], [3, 4]]"), kTensor}));
  EXPECT_EQ((*subtract)(x, false).to_vector<float>(), (std::vector<float>{-1, -2, -3, -4}));
}

TEST(OpLayers, AConstantThatIsNoTensorIsRefused) {
  const auto made = [](const Json& value) { return error_of([&] { make_op_layer(LayerConfig("Add"), Json::array({kTensor, value})); }); };
  EXPECT_NE(made(constant("[[1, 2], [3]]")).find("lists of equal length"), std::string::npos);
  EXPECT_NE(made(constant("[1, [2]]")).find("lists of equal length"), std::string::npos);
  EXPECT_NE(made(constant("[\"a\"]")).find("numbers"), std::string::npos);
  EXPECT_NE(made(constant("1", "float31")).find("unknown dtype"), std::string::npos);
  EXPECT_NE(made(constant((std::string(40, '[') + "1" + std::string(40, ']')).c_str())).find("axes"), std::string::npos);
}

}  // namespace
}  // namespace tandem
