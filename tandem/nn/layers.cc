#include "tandem/nn/layers.h"

#include <algorithm>
#include <array>

#include "tandem/base/nearest.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/model_config.h"

namespace tandem {
namespace {

std::vector<LayerRecord> all_records() {
  std::vector<LayerRecord> all;
  for (const auto family : {basic_layers(), convolution_layers(), volume_layers(), normalization_layers(),
                            shape_layers(), merge_layers(), recurrent_layers(), conv_lstm_layers(), wrapper_layers(),
                            attention_layers(), einsum_layers(), preprocessing_layers(), image_layers()})
    all.insert(all.end(), family.begin(), family.end());
  std::sort(all.begin(), all.end(),
            [](const LayerRecord& a, const LayerRecord& b) { return a.class_name < b.class_name; });
  return all;
}

const std::vector<LayerRecord>& records() {
  static const std::vector<LayerRecord> all = all_records();
  return all;
}

}  // namespace

LayerPtr make_layer(const LayerConfig& config, const LayerMakers& custom) {
  if (const auto own = custom.find(config.class_name()); own != custom.end()) return own->second(config);
  for (const LayerRecord& record : records())
    if (record.class_name == config.class_name()) return record.make(config, custom);
  if (is_model_class(config.class_name())) return read_nested_model(config, custom);
  fail(ErrorCode::invalid_argument, "layer '", config.name(), "' is of the unknown class '", config.class_name(), "'",
       nearest_hint(config.class_name(), known_layers()), "; give load_model a maker for it: {.custom_layers = {{\"",
       config.class_name(), "\", [](const LayerConfig& config) { … }}}}; known are ", join(known_layers()));
}

LayerPtr Lambda(std::function<Tensor(const Tensor&)> function, std::string name) {
  return plain(LayerConfig("Lambda", std::move(name)),
               [function = std::move(function)](const Tensor& x, bool) { return function(x); });
}

std::vector<std::string> known_layers() {
  std::vector<std::string> names;
  for (const LayerRecord& record : records()) names.emplace_back(record.class_name);
  return names;
}

std::int64_t positive(const LayerConfig& config, std::string_view argument) {
  const std::int64_t value = config.integer(argument);
  if (value < 1) config.refuse(argument, " must be positive, got ", value);
  return value;
}

std::int64_t channels_of_group(const LayerConfig& config, std::int64_t channels, std::int64_t filters) {
  const std::int64_t groups = config.integer("groups", 1);
  if (groups < 1 || channels % groups || filters % groups)
    config.refuse(groups, " groups do not divide ", channels, " channels and ", filters, " filters");
  return channels / groups;
}

Tensor part_of(const Tensor& x, int axis, std::int64_t first, std::int64_t count) {
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis);
  Ints begin(static_cast<std::size_t>(x.rank()), 0), size(x.shape().begin(), x.shape().end());
  begin[at] = first;
  size[at] = count;
  return slice(x, begin, size);
}

void need_rank(const Layer& layer, const Shape& input, int rank, std::string_view axes) {
  constexpr std::array kWords{"no", "one", "two", "three", "four", "five", "six"};
  if (input.rank() != rank)
    fail(ErrorCode::shape_mismatch, "layer '", layer.name(), "' needs ", kWords.at(static_cast<std::size_t>(rank)),
         " axes, ", axes, ", got ", input);
}

Ints axes_of(const LayerConfig& config, std::string_view key, int rank, std::int64_t fallback) {
  Ints axes;
  const Tensor given = config.has(key) ? config.numbers(key) : Tensor::scalar(fallback, DType::f32);
  for (const float axis : given.to_vector<float>())
    axes.push_back(normalize_axis(config.class_name(), static_cast<std::int64_t>(axis), rank));
  return axes;
}

}  // namespace tandem
