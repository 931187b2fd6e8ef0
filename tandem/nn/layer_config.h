// The arguments of a layer by Keras' names, as they stand in a model's file.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/op/ops.h"

namespace tandem {

/// What a layer is made from, and what is written when it is saved. Reading an argument that is missing gives the
/// fallback; one of the wrong kind throws invalid_argument, naming layer, argument and what was found.
class LayerConfig {
 public:
  /// Without arguments; the name is Keras' for the class ("dense") unless given.
  explicit LayerConfig(std::string class_name, std::string name = "");
  /// From a JSON object of arguments.
  static LayerConfig from_json(std::string class_name, std::string_view json);

  const std::string& class_name() const { return class_name_; }
  std::string name() const;
  std::string to_json() const;

  /// False when the argument is missing or null.
  bool has(std::string_view key) const;
  bool is_null(std::string_view key) const;
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = std::nullopt) const;
  double real(std::string_view key, std::optional<double> fallback = std::nullopt) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  /// A list of integers; with `count`, one number stands for so many of it, and another length is refused.
  Ints ints(std::string_view key, int count = 0, std::optional<Ints> fallback = std::nullopt) const;
  /// A tensor from a number or nested lists of numbers.
  Tensor numbers(std::string_view key) const;
  /// The name of an activation, which may be wrapped in an object; "linear" when missing.
  std::string activation(std::string_view key = "activation", std::string_view fallback = "linear") const;
  /// Any argument as JSON text; none when it is missing or null.
  std::optional<std::string> value_json(std::string_view key) const;
  /// The layer inside a layer, as Bidirectional has one.
  LayerConfig layer(std::string_view key) const;
  /// A list of layers, as StackedRNNCells has one.
  std::vector<LayerConfig> layers(std::string_view key) const;

  LayerConfig& set(std::string_view key, std::same_as<bool> auto value) { return set_flag(key, value); }
  LayerConfig& set(std::string_view key, PlainNumber auto value) {
    if constexpr (std::is_integral_v<decltype(value)>) return set_integer(key, static_cast<std::int64_t>(value));
    else return set_real(key, static_cast<double>(value));
  }
  LayerConfig& set(std::string_view key, const std::string& value);
  LayerConfig& set(std::string_view key, const Ints& value);
  /// Any argument from JSON text.
  LayerConfig& set_json(std::string_view key, std::string_view json);

  /// Throws invalid_argument in the name of this layer.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::invalid_argument, class_name_, " layer '", name(), "': ", parts...);
  }
  /// Throws unless the argument is missing or `wanted`: for what is not supported.
  void require(std::string_view key, std::same_as<bool> auto wanted) const { require_flag(key, wanted); }
  void require(std::string_view key, std::string_view wanted) const;

  struct Json;  // tandem/nn/layer_json.h
  explicit LayerConfig(std::string class_name, std::shared_ptr<Json> json)
      : class_name_(std::move(class_name)),
        json_(std::move(json)) {}
  const Json& json() const { return *json_; }

 private:
  LayerConfig& set_flag(std::string_view key, bool value);
  LayerConfig& set_integer(std::string_view key, std::int64_t value);
  LayerConfig& set_real(std::string_view key, double value);
  void require_flag(std::string_view key, bool wanted) const;

  std::string class_name_;
  std::shared_ptr<Json> json_;
};

/// Keras' name for the first object of a class: "MaxPooling2D" -> "max_pooling2d".
std::string snake_case(std::string_view class_name);

}  // namespace tandem
