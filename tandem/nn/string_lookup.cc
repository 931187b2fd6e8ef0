#include "tandem/nn/string_lookup.h"

#include <algorithm>
#include <functional>

#include "tandem/nn/layer_json.h"

namespace tandem {

StringLookupLayer::StringLookupLayer(const LayerConfig& config) : Layer(config), oov_(config.integer("num_oov_indices", 1)) {
  if (oov_ < 0) config.refuse("num_oov_indices must not be negative, got ", oov_);
  config.require("output_mode", "int");
  config.require("invert", false);
  if (!config.has("vocabulary")) return;
  const Json& words = config.json().value.at("vocabulary");
  if (!words.is_array()) config.refuse("vocabulary must be a list of words, got ", shown(words));
  std::vector<std::string> list;
  for (const Json& word : words) {
    if (!word.is_string()) config.refuse("vocabulary must be a list of words, it contains ", shown(word));
    list.push_back(word.get<std::string>());
  }
  set_vocabulary(std::move(list));
}

void StringLookupLayer::set_vocabulary(std::vector<std::string> words) {
  std::unordered_map<std::string, std::int64_t> places;
  for (const std::string& word : words)
    if (!places.emplace(word, oov_ + static_cast<std::int64_t>(places.size())).second) config().refuse("the vocabulary has '", word, "' twice");
  words_ = std::move(words);
  places_ = std::move(places);
}

void StringLookupLayer::adapt(DatasetIterator pass) {
  std::unordered_map<std::string, std::int64_t> counts;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor& words = batch->leaves().at(0).tensor;
    if (words.dtype() != DType::string) config().refuse("adapt needs strings, got ", words.spec());
    for (const std::string& word : words.strings())
      if (!word.empty()) ++counts[word];
  }
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [word, count] : counts) sorted.emplace_back(count, word);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::string> words;
  for (auto& [count, word] : sorted) words.push_back(std::move(word));
  set_vocabulary(std::move(words));
}

Tensor StringLookupLayer::call(const Tensor& x, bool) {
  if (x.dtype() != DType::string) config().refuse("needs strings, got ", x.spec());
  std::vector<std::int64_t> places;
  for (const std::string& word : x.strings()) {
    const auto found = places_.find(word);
    if (found != places_.end()) places.push_back(found->second);
    else if (oov_ > 0) places.push_back(static_cast<std::int64_t>(std::hash<std::string>{}(word) % static_cast<std::size_t>(oov_)));
    else config().refuse("'", word, "' is not in the vocabulary, and num_oov_indices is 0");
  }
  return Tensor::from(places, x.shape());
}

}  // namespace tandem
