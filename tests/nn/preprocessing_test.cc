// Layers that prepare data, as layers and as functions of elements.
#include "tandem/nn/preprocessing.h"

#include <gtest/gtest.h>

#include "tandem/op/arrays.h"
#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

Tensor counting(const Shape& shape) {
  return reshape(range(0, static_cast<double>(shape.elements()), 1, DType::f32), Ints(shape.begin(), shape.end()));
}

TEST(Preprocessing, NormalizationLearnsMeanAndVarianceFromBatches) {
  const Tensor data = Tensor::from<float>({1, 10, 3, 10, 5, 40, 7, 40}, {4, 2});
  const LayerPtr layer = Normalization();
  adapt(layer, Dataset::from_tensor_slices(data).batch(3));
  const Tensor ready = Dataset::from_tensor_slices(data)
                           .batch(4)
                           .map([layer](const Tensor& x) { return (*layer)(x); })
                           .iterate()
                           .next()
                           ->tensor();
  const std::vector<float> values = ready.to_vector<float>();
  EXPECT_NEAR(values[0], -3 / std::sqrt(5.0), 1e-5);
  EXPECT_NEAR(values[1], -1, 1e-5);
  EXPECT_NEAR(values[7], 1, 1e-5);
  EXPECT_NE(error_of([&] { adapt(layer, Dataset::from_tensor_slices(data).batch(2).repeat()); }).find("infinite"),
            std::string::npos);
  EXPECT_NE(error_of([&] { adapt(Flatten(), data); }).find("learns nothing from data"), std::string::npos);
}

TEST(Preprocessing, StringsBecomePlacesTheMostFrequentFirst) {
  const Tensor words = Tensor::from_strings({"b", "a", "b", "c", "c", "b"}, {6});
  const LayerPtr layer = StringLookup();
  adapt(layer, words);
  EXPECT_EQ((*layer)(Tensor::from_strings({"b", "c", "a", "?"}, {2, 2})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 2, 3, 0}));
  std::vector<std::int64_t> places;
  for (const Value& place : Dataset::from_tensor_slices(words).map([layer](const Tensor& x) { return (*layer)(x); }))
    places.push_back(place.tensor().item<std::int64_t>());
  EXPECT_EQ(places, (std::vector<std::int64_t>{1, 3, 1, 2, 2, 1}));
  EXPECT_NE(error_of([&] { (*StringLookup({"a"}, 0))(words); }).find("'b' is not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(error_of([&] { StringLookup({"a", "a"}); }).find("'a' twice"), std::string::npos);
}

TEST(Preprocessing, StringsFallIntoTheBinsOfKeras) {
  const auto bins = [](const char* arguments, const std::vector<std::string>& words) {
    return (*make_layer(LayerConfig::from_json("Hashing", arguments)))(
               Tensor::from_strings(words, {static_cast<std::int64_t>(words.size())}))
        .to_vector<std::int64_t>();
  };
  using Places = std::vector<std::int64_t>;
  EXPECT_EQ(bins(R"({"name": "h", "num_bins": 3})", {"A", "B", "C", "D", "E"}), (Places{1, 0, 1, 1, 2}));
  EXPECT_EQ(bins(R"({"name": "h", "num_bins": 3, "mask_value": ""})", {"A", "B", "", "C", "D"}),
            (Places{1, 1, 0, 2, 2}));
  EXPECT_EQ(bins(R"({"name": "h", "num_bins": 3, "salt": [133, 137]})", {"A", "B", "C", "D", "E"}),
            (Places{1, 2, 1, 0, 2}));
  EXPECT_EQ((*Hashing(3))(Tensor::from<std::int64_t>({7}, {1})).to_vector<std::int64_t>(),
            bins(R"({"name": "h", "num_bins": 3})", {"7"}));
  EXPECT_NE(error_of([] { (*Hashing(3))(ones({2})); }).find("needs strings or whole numbers"), std::string::npos);
}

TEST(Preprocessing, WordsComeOutAsNumbersOrAsCounts) {
  const LayerPtr counts = make_layer(LayerConfig::from_json(
      "TextVectorization", R"({"name": "t", "output_mode": "count", "vocabulary": ["b", "a"], "ngrams": 2})"));
  EXPECT_EQ((*counts)(Tensor::from_strings({"A, b b"}, {1})).to_vector<float>(),
            (std::vector<float>{2, 2, 1}));  // "a b" and "b b" are unknown
  const LayerPtr letters = make_layer(LayerConfig::from_json(
      "TextVectorization", R"({"name": "t", "split": "character", "standardize": null, "vocabulary": ["a", "ü"]})"));
  EXPECT_EQ((*letters)(Tensor::from_strings({"üaA"}, {1})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{3, 2, 1}));
  const LayerPtr back =
      make_layer(LayerConfig::from_json("StringLookup", R"({"name": "s", "vocabulary": ["x", "y"], "invert": true})"));
  EXPECT_EQ((*back)(Tensor::from<std::int64_t>({2, 0, 1}, {3})).strings(),
            (std::vector<std::string>{"y", "[UNK]", "x"}));
}

TEST(Preprocessing, CategoriesBecomeCodes) {
  const Tensor rows = Tensor::from<std::int32_t>({0, 2, 2, 1}, {2, 2});
  EXPECT_EQ((*CategoryEncoding(3))(rows).to_vector<float>(), (std::vector<float>{1, 0, 1, 0, 1, 1}));
  EXPECT_EQ((*CategoryEncoding(3, "count"))(Tensor::from<std::int32_t>({2, 2}, {1, 2})).to_vector<float>(),
            (std::vector<float>{0, 0, 2}));
  EXPECT_EQ((*CategoryEncoding(3, "one_hot"))(Tensor::from<std::int32_t>({1, 0}, {2})).to_vector<float>(),
            (std::vector<float>{0, 1, 0, 1, 0, 0}));
  EXPECT_NE(error_of([] { CategoryEncoding(3, "two_hot"); }).find("two_hot"), std::string::npos);
}

TEST(Preprocessing, ImagesAreFlippedCutTurnedAndBrightenedAtRandomWhileTraining) {
  set_seed(3);
  const Tensor image = counting({4, 6, 1});
  for (const LayerPtr& layer : {RandomFlip("horizontal"), RandomRotation(0.2), RandomBrightness(0.5)})
    EXPECT_EQ((*layer)(image).to_vector<float>(), image.to_vector<float>()) << layer->name();
  const std::vector<float> flipped = reverse(image, {1}).to_vector<float>();
  int turned = 0;
  const LayerPtr flip = RandomFlip("horizontal");
  for (int i = 0; i < 40; ++i) turned += (*flip)(image, true).to_vector<float>() == flipped;
  EXPECT_GT(turned, 8);
  EXPECT_LT(turned, 32);

  const Tensor cut = (*RandomCrop(2, 3))(concat({expand_dims(image, 0), expand_dims(image, 0)}, 0), true);
  EXPECT_EQ(cut.shape(), (Shape{2, 2, 3, 1}));
  const std::vector<float> part = cut.to_vector<float>();
  EXPECT_EQ(part[1], part[0] + 1);
  EXPECT_EQ(part[3], part[0] + 6);
  EXPECT_EQ((*RandomCrop(2, 4))(image).to_vector<float>()[0], 7);  // the middle
  EXPECT_NE(error_of([&] { (*RandomCrop(9, 9))(image, true); }).find("cannot cut 9 x 9"), std::string::npos);

  const std::vector<float> bright = (*RandomBrightness(0.5, 30))(image, true).to_vector<float>();
  for (float value : bright) EXPECT_TRUE(value >= 0 && value <= 30);
}

TEST(Preprocessing, AQuarterTurnIsExact) {
  // All angles are one: from 0.25 of a turn to 0.25.
  const LayerPtr quarter =
      make_layer(LayerConfig::from_json("RandomRotation", R"({"name": "turn", "factor": [0.25, 0.25]})"));
  const std::vector<float> turned = (*quarter)(Tensor::from<float>({0, 1, 2, 3}, {2, 2, 1}), true).to_vector<float>();
  const std::vector<float> expected{1, 3, 0, 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(turned[i], expected[i], 1e-5);
}

}  // namespace
}  // namespace tandem
