#include "tandem/nn/string_lookup.h"

#include <algorithm>
#include <functional>

#include "tandem/base/string_hash.h"
#include "tandem/nn/layer_json.h"
#include "tandem/nn/layers.h"

namespace tandem {

TokenOutput::TokenOutput(const LayerConfig& config, std::string_view fallback) : mode_(config.text("output_mode", fallback)) {
  if (mode_ != "int" && mode_ != "one_hot" && mode_ != "multi_hot" && mode_ != "count")
    config.refuse("output_mode must be 'int', 'one_hot', 'multi_hot' or 'count' in C++, got '", mode_, "'");
}

Tensor TokenOutput::encoded(const Tensor& places, std::int64_t depth) const {
  if (is_int()) return places;
  const bool single = places.rank() > 0 && places.shape()[-1] == 1;
  if (mode_ == "one_hot") return one_hot(single ? squeeze(places, {-1}) : places, depth);
  const Tensor rows = one_hot(places.rank() == 0 ? expand_dims(places, 0) : places, depth);
  return mode_ == "count" ? reduce_sum(rows, {-2}) : reduce_max(rows, {-2});
}

StringLookupLayer::StringLookupLayer(const LayerConfig& config)
    : Layer(config), oov_(config.integer("num_oov_indices", 1)), oov_token_(config.text("oov_token", "[UNK]")), output_(config, "int") {
  if (oov_ < 0) config.refuse("num_oov_indices must not be negative, got ", oov_);
  if (config.has("mask_token")) mask_ = config.text("mask_token", "");
  config.require("pad_to_max_tokens", false);
  if (config.flag("invert", false) && !output_.is_int()) config.refuse("invert needs output_mode 'int'");
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

/// What stands before the words: the mask only where numbers come out.
std::vector<std::string> StringLookupLayer::special() const {
  std::vector<std::string> all;
  if (mask_ && output_.is_int()) all.push_back(*mask_);
  all.insert(all.end(), static_cast<std::size_t>(oov_), oov_token_);
  return all;
}

void StringLookupLayer::set_vocabulary(std::vector<std::string> words) {
  const std::vector<std::string> front = special();
  if (words.size() >= front.size() && std::equal(front.begin(), front.end(), words.begin())) words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(front.size()));
  std::unordered_map<std::string, std::int64_t> places;
  for (const std::string& word : words)
    if (!places.emplace(word, static_cast<std::int64_t>(front.size() + places.size())).second) config().refuse("the vocabulary has '", word, "' twice");
  if (mask_ && output_.is_int()) places.emplace(*mask_, 0);
  words_ = std::move(words);
  places_ = std::move(places);
}

void StringLookupLayer::load_asset(std::string_view bytes) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    words.emplace_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  set_vocabulary(std::move(words));
}

std::string StringLookupLayer::saved_asset() const {
  if (words_.empty()) return {};
  std::string out;
  for (const std::string& word : special()) out += word + "\n";
  for (const std::string& word : words_) out += word + "\n";
  out.pop_back();
  return out;
}

void StringLookupLayer::adapt(DatasetIterator pass) {
  std::unordered_map<std::string, std::int64_t> counts;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor& words = batch->leaves().at(0).tensor;
    if (words.dtype() != DType::string) config().refuse("adapt needs strings, got ", words.spec());
    for (const std::string& word : words.strings())
      if (!word.empty()) ++counts[word];
  }
  learn(counts);
}

void StringLookupLayer::learn(const std::unordered_map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [word, count] : counts)
    if (word != oov_token_ && word != mask_) sorted.emplace_back(count, word);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (config().has("max_tokens")) {
    const std::int64_t most = std::max<std::int64_t>(config().integer("max_tokens") - static_cast<std::int64_t>(special().size()), 0);
    if (static_cast<std::int64_t>(sorted.size()) > most) sorted.resize(static_cast<std::size_t>(most));
  }
  std::vector<std::string> words;
  for (auto& [count, word] : sorted) words.push_back(std::move(word));
  set_vocabulary(std::move(words));
}

std::int64_t StringLookupLayer::place_of(const std::string& word) const {
  const auto found = places_.find(word);
  if (found != places_.end()) return found->second;
  if (oov_ == 0) config().refuse("'", word, "' is not in the vocabulary, and num_oov_indices is 0");
  const std::int64_t first = mask_ && output_.is_int() ? 1 : 0;
  return oov_ == 1 ? first : first + static_cast<std::int64_t>(fingerprint64(word) % static_cast<std::uint64_t>(oov_));
}

Tensor StringLookupLayer::words_at(const Tensor& places) const {
  const std::vector<std::string> front = special();
  std::vector<std::string> words;
  for (const std::int64_t place : cast(places, DType::i64).to_vector<std::int64_t>()) {
    const std::int64_t index = place - static_cast<std::int64_t>(front.size());
    const bool known = index >= 0 && index < static_cast<std::int64_t>(words_.size());
    words.push_back(known ? words_[static_cast<std::size_t>(index)] : mask_ && place == 0 ? *mask_ : oov_token_);
  }
  return Tensor::from_strings(std::move(words), places.shape());
}

Tensor StringLookupLayer::call(const Tensor& x, bool) {
  if (config().flag("invert", false)) return words_at(x);
  if (x.dtype() != DType::string) config().refuse("needs strings, got ", x.spec());
  std::vector<std::int64_t> places;
  for (const std::string& word : x.strings()) places.push_back(place_of(word));
  return output_.encoded(Tensor::from(places, x.shape()), static_cast<std::int64_t>(special().size() + words_.size()));
}

namespace {

LayerPtr lookup_of(const LayerConfig& config) {
  LayerConfig inner("StringLookup", config.name() + "_lookup");
  inner.set("mask_token", std::string()).set("output_mode", config.text("output_mode", "int"));
  if (config.has("max_tokens")) inner.set("max_tokens", config.integer("max_tokens"));
  auto layer = std::make_shared<StringLookupLayer>(inner);
  if (!config.has("vocabulary")) return layer;
  std::vector<std::string> words;
  for (const Json& word : config.json().value.at("vocabulary")) {
    if (!word.is_string()) config.refuse("vocabulary must be a list of words, it contains ", shown(word));
    words.push_back(word.get<std::string>());
  }
  layer->set_vocabulary(std::move(words));
  return layer;
}

constexpr std::string_view kPunctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";

}  // namespace

TextVectorizationLayer::TextVectorizationLayer(const LayerConfig& config)
    : Layer(config), ngrams_(config.integer("ngrams", 0)), length_(config.integer("output_sequence_length", 0)), numbers_(config.text("output_mode", "int") == "int"),
      lookup_(lookup_of(config)) {
  const std::string standardize = config.is_null("standardize") ? "" : config.text("standardize", "lower_and_strip_punctuation");
  const std::string split = config.is_null("split") ? "" : config.text("split", "whitespace");
  if (!standardize.empty() && standardize != "lower_and_strip_punctuation" && standardize != "lower" && standardize != "strip_punctuation")
    config.refuse("unknown standardize '", standardize, "'");
  if (!split.empty() && split != "whitespace" && split != "character") config.refuse("unknown split '", split, "'");
  lower_ = standardize.find("lower") != std::string::npos, strip_ = standardize.find("strip") != std::string::npos;
  by_character_ = split == "character", whole_ = split.empty();
  if (ngrams_ < 0 || length_ < 0) config.refuse("ngrams and output_sequence_length must not be negative, got ", ngrams_, " and ", length_);
  for (const char* flag : {"ragged", "sparse"}) config.require(flag, false);
}

std::vector<std::string> TextVectorizationLayer::words_of(std::string text) const {
  if (lower_)  // of ASCII: other letters stay as they are, as with Keras' encoding ""
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (strip_) std::erase_if(text, [](char c) { return kPunctuation.find(c) != std::string_view::npos; });
  std::vector<std::string> words;
  if (whole_) words.push_back(text);
  for (std::size_t at = 0; !whole_ && at < text.size();) {
    if (by_character_) {  // a character of UTF-8 goes on with bytes 10xxxxxx
      std::size_t end = at + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      words.push_back(text.substr(at, end - at));
      at = end;
      continue;
    }
    constexpr std::string_view kSpace = " \t\n\r\f\v";
    const std::size_t begin = text.find_first_not_of(kSpace, at);
    if (begin == std::string::npos) break;
    at = std::min(text.find_first_of(kSpace, begin), text.size());
    words.push_back(text.substr(begin, at - begin));
  }
  const std::size_t singles = words.size();
  for (std::size_t n = 2; n <= static_cast<std::size_t>(ngrams_); ++n)
    for (std::size_t i = 0; i + n <= singles; ++i) {
      std::string joined = words[i];
      for (std::size_t k = 1; k < n; ++k) joined += " " + words[i + k];
      words.push_back(std::move(joined));
    }
  return words;
}

void TextVectorizationLayer::adapt(DatasetIterator pass) {
  std::unordered_map<std::string, std::int64_t> counts;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor& texts = batch->leaves().at(0).tensor;
    if (texts.dtype() != DType::string) config().refuse("adapt needs strings, got ", texts.spec());
    for (const std::string& text : texts.strings())
      for (std::string& word : words_of(text)) ++counts[std::move(word)];
  }
  lookup().learn(counts);
}

Tensor TextVectorizationLayer::call(const Tensor& x, bool training) {
  if (x.dtype() != DType::string) config().refuse("needs strings, got ", x.spec());
  if (x.rank() > 2 || (x.rank() == 2 && x.shape()[1] != 1)) config().refuse("needs one text a sample, got ", x.spec());
  std::vector<std::vector<std::string>> rows;
  std::size_t longest = static_cast<std::size_t>(length_);
  for (const std::string& text : x.strings()) {
    rows.push_back(words_of(text));
    if (length_ == 0) longest = std::max(longest, rows.back().size());
  }
  if (!numbers_) {
    Tensors encoded;
    for (const auto& row : rows) {
      if (row.empty()) config().refuse("a text without words cannot be counted; give output_mode 'int', or leave it out");
      encoded.push_back(expand_dims((*lookup_)(Tensor::from_strings(row, {static_cast<std::int64_t>(row.size())}), training), 0));
    }
    return concat(encoded, 0);
  }
  std::vector<std::string> padded;
  for (auto& row : rows) {
    row.resize(longest);
    padded.insert(padded.end(), row.begin(), row.end());
  }
  Shape shape{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)};
  const Tensor places = (*lookup_)(Tensor::from_strings(std::move(padded), shape), training);
  return x.rank() == 0 ? squeeze(places, {0}) : places;
}

}  // namespace tandem
