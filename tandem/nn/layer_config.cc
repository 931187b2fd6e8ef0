#include <cctype>

#include "tandem/nn/layer_json.h"

namespace tandem {
namespace {

constexpr int kMostNesting = 200;

/// The parser needs no stack for nesting, but whoever walks through the values does.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      else if (c == '"') quoted = false;
    } else if (c == '"') quoted = true;
    else if (c == '{' || c == '[') {
      if (++depth > kMostNesting) return true;
    } else if (c == '}' || c == ']') --depth;
  }
  return false;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  if (too_deep(text)) fail(ErrorCode::bad_file, file, ": JSON nested more than ", kMostNesting, " deep");
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    fail(ErrorCode::bad_file, file, ": ", error.what());
  }
}

double real_or(const Json& object, const char* key, double fallback) {
  return object.contains(key) && object[key].is_number() ? object[key].get<double>() : fallback;
}

std::string text_or(const Json& object, const char* key, const char* fallback) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : fallback;
}

std::optional<NamedJson> named(const Json& value) {
  if (value.is_string()) return NamedJson{.name = value.get<std::string>()};
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string()) return std::nullopt;
  NamedJson found{.name = value["class_name"].get<std::string>()};
  found.has_config = value.contains("config") && value["config"].is_object();
  if (found.has_config) found.config = value["config"];
  return found;
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

Json open_shape_json(const std::vector<std::int64_t>& shape) {
  Json json = Json::array();
  for (const std::int64_t size : shape) json.push_back(size < 0 ? Json() : Json(size));
  return json;
}

std::string snake_case(std::string_view class_name) {
  const auto upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  const auto lower = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    // Keras: before a capital that lower-case letters follow, and between a small letter and a capital.
    const bool starts_word = upper(c) && i + 1 < class_name.size() && lower(class_name[i + 1]);
    const bool ends_word = upper(c) && i > 0 && lower(class_name[i - 1]);
    if (i > 0 && (starts_word || ends_word) && out.back() != '_') out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

LayerConfig::LayerConfig(std::string class_name, std::string name)
    : class_name_(std::move(class_name)),
      json_(std::make_shared<Json>()) {
  json_->value["name"] = name.empty() ? snake_case(class_name_) : name;
}

LayerConfig LayerConfig::from_json(std::string class_name, std::string_view json) {
  auto parsed = std::make_shared<Json>(Json{parse_json(json, class_name)});
  if (!parsed->value.is_object())
    fail(ErrorCode::invalid_argument, class_name, ": the config must be an object, got ", shown(parsed->value));
  return LayerConfig(std::move(class_name), std::move(parsed));
}

std::string LayerConfig::name() const {
  const auto name = json_->value.find("name");
  return name != json_->value.end() && name->is_string() ? name->get<std::string>() : snake_case(class_name_);
}

std::string LayerConfig::to_json() const {
  return json_->value.dump(-1, ' ', false, tandem::Json::error_handler_t::replace);
}

namespace {

const Json* find(const LayerConfig& config, std::string_view key) {
  const auto found = config.json().value.find(std::string(key));
  return found == config.json().value.end() || found->is_null() ? nullptr : &*found;
}

const Json& found_or_refuse(const LayerConfig& config, std::string_view key) {
  const Json* value = find(config, key);
  if (!value) config.refuse("the argument '", key, "' is missing");
  return *value;
}

[[noreturn]] void wrong(const LayerConfig& config, std::string_view key, const char* wanted, const Json& got) {
  config.refuse("'", key, "' must be ", wanted, ", got ", shown(got));
}

LayerConfig layer_in(const LayerConfig& config, std::string_view key, const Json& value) {
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string() ||
      !value.contains("config") || !value["config"].is_object())
    wrong(config, key, "a layer with class_name and config", value);
  return LayerConfig(value["class_name"].get<std::string>(),
                     std::make_shared<LayerConfig::Json>(LayerConfig::Json{value["config"]}));
}

void append_numbers(const LayerConfig& config, std::string_view key, const Json& value, std::vector<float>& out,
                    std::vector<std::int64_t>& shape, std::size_t depth) {
  if (value.is_number()) {
    if (depth != shape.size()) wrong(config, key, "numbers in lists of one shape", value);
    return out.push_back(value.get<float>());
  }
  if (!value.is_array() || depth >= kMaxRank) wrong(config, key, "a number or lists of numbers", value);
  const auto size = static_cast<std::int64_t>(value.size());
  if (depth == shape.size() && out.empty()) shape.push_back(size);
  if (depth >= shape.size() || shape[depth] != size) wrong(config, key, "numbers in lists of one shape", value);
  for (const Json& item : value) append_numbers(config, key, item, out, shape, depth + 1);
}

}  // namespace

bool LayerConfig::has(std::string_view key) const { return find(*this, key) != nullptr; }

bool LayerConfig::is_null(std::string_view key) const {
  const auto found = json_->value.find(std::string(key));
  return found != json_->value.end() && found->is_null();
}

std::int64_t LayerConfig::integer(std::string_view key, std::optional<std::int64_t> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const tandem::Json& value = found_or_refuse(*this, key);
  if (!value.is_number_integer()) wrong(*this, key, "an integer", value);
  return value.get<std::int64_t>();
}

double LayerConfig::real(std::string_view key, std::optional<double> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const tandem::Json& value = found_or_refuse(*this, key);
  if (!value.is_number()) wrong(*this, key, "a number", value);
  return value.get<double>();
}

bool LayerConfig::flag(std::string_view key, bool fallback) const {
  const tandem::Json* value = find(*this, key);
  if (!value) return fallback;
  if (!value->is_boolean()) wrong(*this, key, "true or false", *value);
  return value->get<bool>();
}

std::string LayerConfig::text(std::string_view key, std::string_view fallback) const {
  const tandem::Json* value = find(*this, key);
  if (!value) return std::string(fallback);
  if (!value->is_string()) wrong(*this, key, "a string", *value);
  return value->get<std::string>();
}

Ints LayerConfig::ints(std::string_view key, int count, std::optional<Ints> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const tandem::Json& value = found_or_refuse(*this, key);
  if (count && value.is_number_integer()) return Ints(static_cast<std::size_t>(count), value.get<std::int64_t>());
  Ints out;
  if (value.is_array())
    for (const tandem::Json& item : value)
      if (item.is_number_integer()) out.push_back(item.get<std::int64_t>());
  const bool right =
      value.is_array() && out.size() == value.size() && (count == 0 || out.size() == static_cast<std::size_t>(count));
  if (!right) wrong(*this, key, count ? tandem::text(count, " integers").c_str() : "a list of integers", value);
  return out;
}

Tensor LayerConfig::numbers(std::string_view key) const {
  std::vector<float> values;
  std::vector<std::int64_t> shape;
  append_numbers(*this, key, found_or_refuse(*this, key), values, shape, 0);
  return Tensor::from(values, Shape(std::span<const std::int64_t>(shape)));
}

std::string LayerConfig::activation(std::string_view key, std::string_view fallback) const {
  const tandem::Json* value = find(*this, key);
  if (value && value->is_object() && value->contains("config")) value = &(*value)["config"];
  if (value && value->is_object() && value->contains("name")) value = &(*value)["name"];
  if (!value || value->is_null()) return std::string(fallback);
  if (!value->is_string()) wrong(*this, key, "the name of an activation", *value);
  return value->get<std::string>();
}

std::optional<std::string> LayerConfig::value_json(std::string_view key) const {
  const auto found = json_->value.find(key);
  return found == json_->value.end() || found->is_null() ? std::nullopt : std::optional(found->dump());
}

LayerConfig LayerConfig::layer(std::string_view key) const { return layer_in(*this, key, found_or_refuse(*this, key)); }

std::vector<LayerConfig> LayerConfig::layers(std::string_view key) const {
  const tandem::Json& list = found_or_refuse(*this, key);
  if (!list.is_array()) wrong(*this, key, "a list of layers", list);
  std::vector<LayerConfig> all;
  for (const tandem::Json& value : list) all.push_back(layer_in(*this, key, value));
  return all;
}

LayerConfig& LayerConfig::set_flag(std::string_view key, bool value) {
  return json_->value[std::string(key)] = value, *this;
}
LayerConfig& LayerConfig::set_integer(std::string_view key, std::int64_t value) {
  return json_->value[std::string(key)] = value, *this;
}
LayerConfig& LayerConfig::set_real(std::string_view key, double value) {
  return json_->value[std::string(key)] = value, *this;
}
LayerConfig& LayerConfig::set(std::string_view key, const std::string& value) {
  return json_->value[std::string(key)] = value, *this;
}
LayerConfig& LayerConfig::set(std::string_view key, const Ints& value) {
  return json_->value[std::string(key)] = value, *this;
}

LayerConfig& LayerConfig::set_json(std::string_view key, std::string_view json) {
  return json_->value[std::string(key)] = parse_json(json, class_name_), *this;
}

void LayerConfig::require_flag(std::string_view key, bool wanted) const {
  if (flag(key, wanted) != wanted) refuse(key, " = ", wanted ? "false" : "true", " is not supported in C++");
}
void LayerConfig::require(std::string_view key, std::string_view wanted) const {
  if (text(key, wanted) != wanted)
    refuse(key, " = '", text(key, wanted), "' is not supported in C++; '", wanted, "' is");
}

}  // namespace tandem
