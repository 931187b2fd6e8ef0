// Layers that prepare data: codes of categories, places of strings, random changes of images.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/preprocessing.h"
#include "tandem/nn/string_lookup.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

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

/// Calls `change` with a batch of float images while training.
LayerPtr changing(const LayerConfig& config, std::function<Tensor(const Tensor&)> change) {
  return plain(config, [config, change = std::move(change)](const Tensor& x, bool training) {
    if (x.rank() != 3 && x.rank() != 4) config.refuse("needs images [height, width, channels], alone or in a batch, got ", x.spec());
    if (!training) return x;
    const Tensor images = x.rank() == 3 ? expand_dims(x, 0) : x;
    const Tensor changed = change(is_floating(images.dtype()) ? images : cast(images, DType::f32));
    return x.rank() == 3 ? squeeze(changed, {0}) : changed;
  });
}

LayerPtr make_random_flip(const LayerConfig& config, const LayerMakers&) {
  const std::string mode = config.text("mode", "horizontal_and_vertical");
  const bool both = mode == "horizontal_and_vertical";
  if (!both && mode != "horizontal" && mode != "vertical") config.refuse("mode must be 'horizontal', 'vertical' or 'horizontal_and_vertical', got '", mode, "'");
  return changing(config, [=](const Tensor& images) {
    const auto maybe = [](const Tensor& x, std::int64_t axis) {
      return where(less(random_uniform({x.shape()[0], 1, 1, 1}), 0.5), reverse(x, {axis}), x);
    };
    const Tensor wide = mode == "vertical" ? images : maybe(images, 2);
    return mode == "horizontal" ? wide : maybe(wide, 1);
  });
}

/// `count` places of an axis of `size` in a row, from a random one on or, without `random`, in the middle.
Tensor part(const Tensor& x, std::int64_t axis, std::int64_t count, bool random) {
  const std::int64_t size = x.shape()[static_cast<int>(axis)];
  const Tensor first = random ? random_uniform({}, 0, static_cast<double>(size - count + 1), DType::i32) : Tensor(static_cast<int>((size - count) / 2));
  return gather(x, range(0, static_cast<double>(count)) + first, axis);
}

LayerPtr make_random_crop(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  return plain(config, [=](const Tensor& x, bool training) {
    if (x.rank() < 3 || x.shape()[-3] < height || x.shape()[-2] < width)
      config.refuse("cannot cut ", height, " x ", width, " pixels out of ", x.spec());
    return part(part(x, x.rank() - 3, height, training), x.rank() - 2, width, training);
  });
}

struct Bounds {
  double low, high;
};
/// A number stands for both directions.
Bounds bounds(const LayerConfig& config, const char* key) {
  const Tensor factor = config.numbers(key);
  const std::vector<float> values = factor.to_vector<float>();
  if (values.size() == 1) return {-values[0], values[0]};
  if (values.size() != 2 || values[0] > values[1]) config.refuse(key, " must be a number or [lower, upper], got ", factor);
  return {values[0], values[1]};
}

/// Mirrored beyond the border: … 1 0 | 0 1 … n-1 | n-1 …
Tensor mirrored(const Tensor& place, std::int64_t size) {
  const Tensor inside = floormod(place, number_like(place, 2 * size));
  return minimum(inside, number_like(place, 2 * size - 1) - inside);
}

/// The images at other places: x and y are [batch, height, width], in pixels.
Tensor seen_at(const Tensor& images, const Tensor& x, const Tensor& y) {
  const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2], channels = images.shape()[3];
  const Tensor pixels = reshape(images, Shape{batch * height * width, channels});
  const Tensor first = reshape(range(0, static_cast<double>(batch)) * static_cast<int>(height * width), Shape{batch, 1, 1});
  const Tensor left = floor(x), top = floor(y), right_share = expand_dims(x - left, 3), bottom_share = expand_dims(y - top, 3);
  const auto at = [&](const Tensor& column, const Tensor& row) {
    const Tensor place = mirrored(cast(row, DType::i32), height) * static_cast<int>(width) + mirrored(cast(column, DType::i32), width);
    return gather(pixels, place + first);
  };
  const Tensor above = at(left, top) * (1.0 - right_share) + at(left + 1.0, top) * right_share;
  const Tensor below = at(left, top + 1.0) * (1.0 - right_share) + at(left + 1.0, top + 1.0) * right_share;
  return above * (1.0 - bottom_share) + below * bottom_share;
}

LayerPtr make_random_rotation(const LayerConfig& config, const LayerMakers&) {
  const Bounds turn = bounds(config, "factor");
  config.require("fill_mode", "reflect");
  config.require("interpolation", "bilinear");
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const Tensor angle = random_uniform({batch, 1, 1}, turn.low * 2 * std::numbers::pi, turn.high * 2 * std::numbers::pi);
    const double middle_x = static_cast<double>(width - 1) / 2, middle_y = static_cast<double>(height - 1) / 2;
    const Tensor x = reshape(range(0, static_cast<double>(width), 1, DType::f32), Shape{1, 1, width}) - middle_x;
    const Tensor y = reshape(range(0, static_cast<double>(height), 1, DType::f32), Shape{1, height, 1}) - middle_y;
    return seen_at(images, cos(angle) * x - sin(angle) * y + middle_x, sin(angle) * x + cos(angle) * y + middle_y);
  });
}

LayerPtr make_random_brightness(const LayerConfig& config, const LayerMakers&) {
  const Bounds change = bounds(config, "factor");
  const std::vector<float> range = config.has("value_range") ? config.numbers("value_range").to_vector<float>() : std::vector<float>{0, 255};
  if (range.size() != 2 || !(range[0] < range[1])) config.refuse("value_range must be [lower, upper]");
  return changing(config, [=](const Tensor& images) {
    const Tensor shift = random_uniform({images.shape()[0], 1, 1, 1}, change.low, change.high) * static_cast<double>(range[1] - range[0]);
    return clip_by_value(images + shift, Tensor(range[0]), Tensor(range[1]));
  });
}

LayerPtr make_string_lookup(const LayerConfig& config, const LayerMakers&) { return std::make_shared<StringLookupLayer>(config); }

constexpr LayerRecord kRecords[] = {{"CategoryEncoding", make_category_encoding}, {"RandomBrightness", make_random_brightness},
                                    {"RandomCrop", make_random_crop},             {"RandomFlip", make_random_flip},
                                    {"RandomRotation", make_random_rotation},     {"StringLookup", make_string_lookup}};

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
