// The JSON inside a LayerConfig, for the sources of nn: users of the library need no JSON headers.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "tandem/nn/layer_config.h"

namespace tandem {

using Json = nlohmann::ordered_json;  // keeps the order of a file's keys

struct LayerConfig::Json {
  tandem::Json value = tandem::Json::object();
};

/// Reads JSON; throws bad_file naming `file` and the place of the mistake.
Json parse_json(std::string_view text, const std::string& file);
/// Short, for errors.
std::string shown(const Json& value);
/// The number or the text under a key; `fallback` where there is none.
double real_or(const Json& object, const char* key, double fallback);
std::string text_or(const Json& object, const char* key, const char* fallback);
/// What is written as "l2" or as {"class_name": "L2", "config": {…}}; nothing for any other JSON.
struct NamedJson {
  std::string name;
  Json config = Json::object();
  bool has_config = false;
};
std::optional<NamedJson> named(const Json& value);
/// A shape whose open sizes are null, as Keras writes them.
Json open_shape_json(const std::vector<std::int64_t>& shape);

}  // namespace tandem
