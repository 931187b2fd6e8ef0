// Layers that prepare data: codes of categories, places of words and numbers.
#include "tandem/base/string_hash.h"
#include "tandem/nn/discretization.h"
#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/preprocessing.h"
#include "tandem/nn/string_lookup.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

/// Class numbers as rows; a second input is the weights of a "count".
class CategoryEncodingLayer final : public Layer {
 public:
  explicit CategoryEncodingLayer(const LayerConfig& config)
      : Layer(config),
        tokens_(positive(config, "num_tokens")),
        output_(config, "multi_hot") {
    if (output_.is_int() || output_.has_weights())
      config.refuse("output_mode must be 'one_hot', 'multi_hot' or 'count', got '", config.text("output_mode", ""),
                    "'");
  }

 private:
  Tensor call(const Tensor& x, bool) override { return encoded(x, {}); }
  Tensors call_all(const Tensors& inputs, bool) override {
    if (inputs.size() > 2)
      config().refuse("class numbers and perhaps count_weights are needed, got ", inputs.size(), " inputs");
    if (inputs.size() == 2 && config().text("output_mode", "multi_hot") != "count")
      config().refuse("count_weights are for output_mode 'count'");
    return {encoded(inputs[0], inputs.size() == 2 ? inputs[1] : Tensor())};
  }
  Tensor encoded(const Tensor& x, const Tensor& weights) const {
    return output_.encoded(x.dtype() == DType::i64 ? x : cast(x, DType::i32), tokens_, weights);
  }
  std::int64_t tokens_;
  TokenOutput output_;
};

/// Strings or whole numbers in bins by their fingerprint, or by a salted hash; the first bin may be for a mask.
LayerPtr make_hashing(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t bins = positive(config, "num_bins");
  const Ints salt = config.ints("salt", config.has("salt") ? 2 : 0, Ints{});
  std::optional<std::string> mask;
  if (const auto given = config.value_json("mask_value"))
    mask = given->starts_with('"') ? config.text("mask_value", "") : std::to_string(config.integer("mask_value"));
  const TokenOutput output(config, "int");
  return std::make_shared<Plain>(config, std::nullopt, [=](const Tensor& x, bool) {
    const std::int64_t first = mask && bins > 1 ? 1 : 0;
    const auto bin_of = [&](const std::string& word) -> std::int64_t {
      if (first && word == *mask) return 0;
      const std::uint64_t hash =
          salt.empty() ? fingerprint64(word)
                       : siphash(word, static_cast<std::uint64_t>(salt[0]), static_cast<std::uint64_t>(salt[1]));
      return first + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(bins - first));
    };
    std::vector<std::int64_t> places;
    if (x.dtype() == DType::string)
      for (const std::string& word : x.strings()) places.push_back(bin_of(word));
    else if (is_integer(x.dtype()))
      for (const std::int64_t number : cast(x, DType::i64).to_vector<std::int64_t>())
        places.push_back(bin_of(std::to_string(number)));
    else config.refuse("needs strings or whole numbers, got ", x.spec());
    return output.encoded(Tensor::from(places, x.shape()), bins);
  });
}

constexpr LayerRecord kRecords[] = {{"CategoryEncoding", make_as<CategoryEncodingLayer>},
                                    {"Discretization", make_as<DiscretizationLayer>},
                                    {"Hashing", make_hashing},
                                    {"IntegerLookup", make_as<LookupLayer>},
                                    {"StringLookup", make_as<LookupLayer>},
                                    {"TextVectorization", make_as<TextVectorizationLayer>}};

}  // namespace

std::span<const LayerRecord> preprocessing_layers() { return kRecords; }

LayerPtr Normalization(std::string name) { return make_layer(LayerConfig("Normalization", std::move(name))); }
LayerPtr StringLookup(std::vector<std::string> vocabulary, std::int64_t oov, std::string name) {
  auto layer = std::make_shared<LookupLayer>(LayerConfig("StringLookup", std::move(name)).set("num_oov_indices", oov));
  layer->set_vocabulary(std::move(vocabulary));
  return layer;
}
LayerPtr TextVectorization(std::vector<std::string> vocabulary, std::int64_t length, std::string name) {
  LayerConfig config("TextVectorization", std::move(name));
  if (length > 0) config.set("output_sequence_length", length);
  auto layer = std::make_shared<TextVectorizationLayer>(config);
  if (!vocabulary.empty()) layer->set_vocabulary(std::move(vocabulary));
  return layer;
}
LayerPtr Discretization(std::int64_t num_bins, std::string output_mode, std::string name) {
  return make_layer(
      LayerConfig("Discretization", std::move(name)).set("num_bins", num_bins).set("output_mode", output_mode));
}
LayerPtr IntegerLookup(std::vector<std::int64_t> vocabulary, std::string name) {
  LayerConfig config("IntegerLookup", std::move(name));
  if (!vocabulary.empty()) config.set("vocabulary", Ints(vocabulary.begin(), vocabulary.end()));
  return make_layer(config);
}
LayerPtr Hashing(std::int64_t num_bins, std::string name) {
  return make_layer(LayerConfig("Hashing", std::move(name)).set("num_bins", num_bins));
}
LayerPtr CategoryEncoding(std::int64_t num_tokens, std::string output_mode, std::string name) {
  return make_layer(
      LayerConfig("CategoryEncoding", std::move(name)).set("num_tokens", num_tokens).set("output_mode", output_mode));
}
LayerPtr RandomFlip(std::string mode, std::string name) {
  return make_layer(LayerConfig("RandomFlip", std::move(name)).set("mode", mode));
}
LayerPtr RandomCrop(std::int64_t height, std::int64_t width, std::string name) {
  return make_layer(LayerConfig("RandomCrop", std::move(name)).set("height", height).set("width", width));
}
LayerPtr RandomRotation(double factor, std::string name) {
  return make_layer(LayerConfig("RandomRotation", std::move(name)).set("factor", factor));
}
LayerPtr RandomBrightness(double factor, double most, std::string name) {
  LayerConfig config("RandomBrightness", std::move(name));
  config.set("factor", factor);
  if (most != 255)
    config = LayerConfig::from_json("RandomBrightness", text("{\"name\": \"", config.name(), "\", \"factor\": ", factor,
                                                             ", \"value_range\": [0, ", most, "]}"));
  return make_layer(config);
}

namespace {

/// Mean and variance of all but the last axis, batch by batch.
void adapt_normalization(Layer& layer, DatasetIterator pass) {
  double count = 0;
  Tensor sum, squares;
  Shape shape;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor x = cast(batch->leaves().at(0).tensor, DType::f64);
    if (x.rank() < 1)
      fail(ErrorCode::shape_mismatch, "adapt: elements must be batches, got ", x.spec(), "; batch the dataset first");
    Ints axes;
    for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
    const auto last = static_cast<double>(x.shape()[-1]);
    if (last == 0 || x.size() == 0) continue;
    const Tensor add = axes.empty() ? x : reduce_sum(x, axes),
                 square_sum = axes.empty() ? x * x : reduce_sum(x * x, axes);
    sum = count == 0 ? add : sum + add, squares = count == 0 ? square_sum : squares + square_sum;
    count += static_cast<double>(x.size()) / last;
    shape = x.shape();
  }
  if (count == 0) fail(ErrorCode::invalid_argument, "adapt: there is no data");
  const Tensor mean = sum / count, variance = maximum(squares / count - mean * mean, 0.0);
  layer.build(shape);
  layer.set_weights({cast(mean, DType::f32), cast(variance, DType::f32),
                     Tensor::scalar(static_cast<std::int64_t>(count), DType::i32)});
}

}  // namespace

void adapt(const LayerPtr& layer, const Dataset& batches) {
  if (batches.cardinality() == -1)
    fail(ErrorCode::invalid_argument, "adapt: the dataset is infinite; take(n) makes it finite");
  if (auto* lookup = dynamic_cast<LookupLayer*>(layer.get())) return lookup->adapt(batches.iterate());
  if (auto* bins = dynamic_cast<DiscretizationLayer*>(layer.get())) return bins->adapt(batches.iterate());
  if (auto* texts = dynamic_cast<TextVectorizationLayer*>(layer.get())) return texts->adapt(batches.iterate());
  if (layer->config().class_name() == "Normalization") return adapt_normalization(*layer, batches.iterate());
  fail(ErrorCode::invalid_argument, "adapt: layer '", layer->name(),
       "' learns nothing from data; Discretization, IntegerLookup, Normalization, StringLookup and TextVectorization "
       "do");
}
void adapt(const LayerPtr& layer, const Tensor& data) { adapt(layer, Dataset::from_tensors(data)); }

}  // namespace tandem
