// Layers that prepare data: codes of categories, places of words and numbers.
#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/preprocessing.h"
#include "tandem/nn/string_lookup.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

LayerPtr make_category_encoding(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t tokens = positive(config, "num_tokens");
  const std::string mode = config.text("output_mode", "multi_hot");
  if (mode != "one_hot" && mode != "multi_hot" && mode != "count") config.refuse("output_mode must be 'one_hot', 'multi_hot' or 'count', got '", mode, "'");
  return plain(config, [=](const Tensor& x, bool) {
    const Tensor numbers = x.dtype() == DType::i64 ? x : cast(x, DType::i32);
    if (mode == "one_hot") return one_hot(numbers.rank() > 0 && numbers.shape()[-1] == 1 ? squeeze(numbers, {-1}) : numbers, tokens);
    const Tensor rows = one_hot(numbers.rank() == 0 ? expand_dims(numbers, 0) : numbers, tokens);
    return mode == "count" ? reduce_sum(rows, {-2}) : reduce_max(rows, {-2});
  });
}

LayerPtr make_string_lookup(const LayerConfig& config, const LayerMakers&) { return std::make_shared<StringLookupLayer>(config); }

/// Numbers as the bin that they lie in: its boundaries in rising order.
LayerPtr make_discretization(const LayerConfig& config, const LayerMakers&) {
  config.require("output_mode", "int");
  if (!config.has("bin_boundaries")) config.refuse("bin_boundaries are needed in C++");
  return plain(config, [boundaries = reshape(config.numbers("bin_boundaries"), Ints{-1})](const Tensor& x, bool) {
    const Tensor numbers = is_floating(x.dtype()) ? x : cast(x, DType::f32);
    return reshape(searchsorted(boundaries, reshape(numbers, Ints{-1}), true), x.shape());
  });
}

/// Whole numbers as their place in a vocabulary, counted from 1; 0 for others.
LayerPtr make_integer_lookup(const LayerConfig& config, const LayerMakers&) {
  config.require("output_mode", "int");
  config.require("invert", false);
  if (!config.has("vocabulary") || !config.is_null("mask_token") || config.integer("num_oov_indices", 1) != 1)
    config.refuse("in C++ a vocabulary in the description, one place for other numbers and no mask_token are supported");
  const Tensor words = cast(reshape(config.numbers("vocabulary"), Ints{-1}), DType::i64);
  return plain(config, [words](const Tensor& x, bool) {
    const Tensor same = equal(expand_dims(cast(x, DType::i64), -1), words);  // [..., word]
    const Tensor places = range(1, static_cast<double>(words.size() + 1), 1, DType::i64);
    return reduce_sum(cast(same, DType::i64) * places, {-1});
  });
}

constexpr LayerRecord kRecords[] = {{"CategoryEncoding", make_category_encoding}, {"Discretization", make_discretization},
                                    {"IntegerLookup", make_integer_lookup},       {"StringLookup", make_string_lookup}};

}  // namespace

std::span<const LayerRecord> preprocessing_layers() { return kRecords; }

LayerPtr Normalization(std::string name) { return make_layer(LayerConfig("Normalization", std::move(name))); }
LayerPtr StringLookup(std::vector<std::string> vocabulary, std::int64_t oov, std::string name) {
  auto layer = std::make_shared<StringLookupLayer>(LayerConfig("StringLookup", std::move(name)).set("num_oov_indices", oov));
  layer->set_vocabulary(std::move(vocabulary));
  return layer;
}
LayerPtr CategoryEncoding(std::int64_t num_tokens, std::string output_mode, std::string name) {
  return make_layer(LayerConfig("CategoryEncoding", std::move(name)).set("num_tokens", num_tokens).set("output_mode", output_mode));
}
LayerPtr RandomFlip(std::string mode, std::string name) { return make_layer(LayerConfig("RandomFlip", std::move(name)).set("mode", mode)); }
LayerPtr RandomCrop(std::int64_t height, std::int64_t width, std::string name) {
  return make_layer(LayerConfig("RandomCrop", std::move(name)).set("height", height).set("width", width));
}
LayerPtr RandomRotation(double factor, std::string name) { return make_layer(LayerConfig("RandomRotation", std::move(name)).set("factor", factor)); }
LayerPtr RandomBrightness(double factor, double most, std::string name) {
  LayerConfig config("RandomBrightness", std::move(name));
  config.set("factor", factor);
  if (most != 255) config = LayerConfig::from_json("RandomBrightness", text("{\"name\": \"", config.name(), "\", \"factor\": ", factor, ", \"value_range\": [0, ", most, "]}"));
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
    if (x.rank() < 1) fail(ErrorCode::shape_mismatch, "adapt: elements must be batches, got ", x.spec(), "; batch the dataset first");
    Ints axes;
    for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
    const auto last = static_cast<double>(x.shape()[-1]);
    if (last == 0 || x.size() == 0) continue;
    const Tensor add = axes.empty() ? x : reduce_sum(x, axes), square_sum = axes.empty() ? x * x : reduce_sum(x * x, axes);
    sum = count == 0 ? add : sum + add, squares = count == 0 ? square_sum : squares + square_sum;
    count += static_cast<double>(x.size()) / last;
    shape = x.shape();
  }
  if (count == 0) fail(ErrorCode::invalid_argument, "adapt: there is no data");
  const Tensor mean = sum / count, variance = maximum(squares / count - mean * mean, 0.0);
  layer.build(shape);
  layer.set_weights({cast(mean, DType::f32), cast(variance, DType::f32), Tensor::scalar(static_cast<std::int64_t>(count), DType::i32)});
}

}  // namespace

void adapt(const LayerPtr& layer, const Dataset& batches) {
  if (batches.cardinality() == -1) fail(ErrorCode::invalid_argument, "adapt: the dataset is infinite; take(n) makes it finite");
  if (auto* lookup = dynamic_cast<StringLookupLayer*>(layer.get())) return lookup->adapt(batches.iterate());
  if (layer->config().class_name() == "Normalization") return adapt_normalization(*layer, batches.iterate());
  fail(ErrorCode::invalid_argument, "adapt: layer '", layer->name(), "' learns nothing from data; Normalization and StringLookup do");
}
void adapt(const LayerPtr& layer, const Tensor& data) { adapt(layer, Dataset::from_tensors(data)); }

}  // namespace tandem
