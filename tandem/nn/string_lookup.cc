#include "tandem/nn/string_lookup.h"

#include <algorithm>
#include <set>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layers.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {

void WordCounts::add_document(const std::vector<std::string>& document) {
  for (const std::string& word : document) ++words[word];
  for (const std::string& word : std::set<std::string>(document.begin(), document.end())) ++documents[word];
  ++all_documents;
}

/// A token is a word, or a number.
std::string LookupLayer::token(const char* key) const {
  const auto text = config().value_json(key);
  return text && text->starts_with('"') ? config().text(key, "") : std::to_string(config().integer(key));
}

LookupLayer::LookupLayer(const LayerConfig& config)
    : Layer(config, std::nullopt),
      numbers_(config.class_name() == "IntegerLookup"),
      places_(config) {
  oov_token_ = config.has("oov_token") ? token("oov_token") : numbers_ ? "-1" : "[UNK]";
  if (config.has("mask_token")) mask_ = token("mask_token");
  if (!config.has("vocabulary")) return;
  const Json& words = config.json().value.at("vocabulary");
  if (!words.is_array()) config.refuse("vocabulary must be a list, got ", shown(words));
  std::vector<std::string> list;
  for (const Json& word : words) {
    if (numbers_ ? !word.is_number_integer() : !word.is_string())
      config.refuse("vocabulary must be a list of ", numbers_ ? "whole numbers" : "words", ", it contains ",
                    shown(word));
    list.push_back(numbers_ ? std::to_string(word.get<std::int64_t>()) : word.get<std::string>());
  }
  set_vocabulary(std::move(list));
}

/// What stands before the words: the mask only where numbers come out.
std::vector<std::string> LookupLayer::special() const {
  std::vector<std::string> all;
  if (places_.first_oov() == 1) all.push_back(*mask_);
  all.insert(all.end(), static_cast<std::size_t>(places_.oov()), oov_token_);
  return all;
}

void LookupLayer::set_vocabulary(std::vector<std::string> words) {
  const std::vector<std::string> front = special();
  if (words.size() >= front.size() && std::equal(front.begin(), front.end(), words.begin()))
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(front.size()));
  std::unordered_map<std::string, std::int64_t> places;
  for (const std::string& word : words)
    if (!places.emplace(word, static_cast<std::int64_t>(front.size() + places.size())).second)
      config().refuse("the vocabulary has '", word, "' twice");
  if (mask_) places[*mask_] = places_.output().is_int() ? 0 : -1;
  words_ = std::move(words);
  place_ = std::move(places);
}

void LookupLayer::load_asset(std::string_view bytes) {
  std::vector<std::string> words;
  while (bytes.ends_with('\n')) bytes.remove_suffix(1);
  for (std::size_t at = 0; at <= bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    words.emplace_back(bytes.substr(at, end - at));
    if (numbers_ && words.back().find_first_not_of("-0123456789") != std::string::npos)
      config().refuse("the vocabulary must have whole numbers, got '", words.back(), "'");
    at = end + 1;
  }
  set_vocabulary(std::move(words));
}

std::string LookupLayer::saved_asset() const {
  if (words_.empty() || asset().empty()) return {};
  std::string out;
  for (const std::string& word : special()) out += word + "\n";
  for (const std::string& word : words_) out += word + "\n";
  out.pop_back();
  return out;
}

void LookupLayer::adapt(DatasetIterator pass) {
  WordCounts counts;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor& x = batch->leaves().at(0).tensor;
    if (numbers_ ? !is_integer(x.dtype()) : x.dtype() != DType::string)
      config().refuse("adapt needs ", numbers_ ? "whole numbers" : "strings", ", got ", x.spec());
    std::vector<std::string> words;
    if (numbers_)
      for (const std::int64_t number : cast(x, DType::i64).to_vector<std::int64_t>())
        words.push_back(std::to_string(number));
    else words = x.strings();
    const std::size_t row =
        x.rank() < 2 ? 1 : words.size() / static_cast<std::size_t>(std::max<std::int64_t>(x.shape()[0], 1));
    for (std::size_t at = 0; at < words.size(); at += row) {
      std::vector<std::string> document(words.begin() + static_cast<std::ptrdiff_t>(at),
                                        words.begin() + static_cast<std::ptrdiff_t>(at + row));
      std::erase_if(document, [](const std::string& word) { return word.empty(); });
      counts.add_document(document);
    }
  }
  learn(counts);
}

void LookupLayer::learn(const WordCounts& counts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [word, count] : counts.words)
    if (word != oov_token_ && word != mask_) sorted.emplace_back(count, word);
  std::ranges::sort(sorted, [&](const auto& a, const auto& b) {
    if (a.first != b.first || !numbers_) return a > b;
    return std::stoll(a.second) > std::stoll(b.second);
  });
  if (sorted.size() > places_.most_words()) sorted.resize(places_.most_words());
  std::vector<std::string> words;
  std::vector<std::int64_t> documents;
  for (auto& [count, word] : sorted) {
    const auto found = counts.documents.find(word);
    documents.push_back(found == counts.documents.end() ? 0 : found->second);
    words.push_back(std::move(word));
  }
  set_vocabulary(std::move(words));
  if (places_.output().has_weights()) learned_weights_ = places_.learned_weights(documents, counts.all_documents);
}

void LookupLayer::make_variables(const Shape&) {
  if (!places_.output().has_weights()) return;
  weights_ = add_weight(
      "idf_weights", {places_.depth(words_.size())},
      [this](const Shape&) {
        const Tensor given = places_.given_weights(words_.size());
        if (!given.defined() && !learned_weights_.defined())
          config().refuse("output_mode 'tf_idf' needs idf_weights, or adapt()");
        return given.defined() ? given : learned_weights_;
      },
      false);
}

Tensor LookupLayer::words_at(const Tensor& places) const {
  const std::vector<std::string> front = special();
  std::vector<std::string> words;
  for (const std::int64_t place : cast(places, DType::i64).to_vector<std::int64_t>()) {
    const std::int64_t index = place - static_cast<std::int64_t>(front.size());
    const bool known = index >= 0 && index < static_cast<std::int64_t>(words_.size());
    words.push_back(known ? words_[static_cast<std::size_t>(index)] : mask_ && place == 0 ? *mask_ : oov_token_);
  }
  return Tensor::from_strings(std::move(words), places.shape());
}

namespace {

Tensor numbers_of(const std::vector<std::string>& words) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : words) numbers.push_back(std::stoll(word));
  const auto count = static_cast<std::int64_t>(numbers.size());
  return Tensor::from(numbers, {count});
}

}  // namespace

Tensor LookupLayer::numbers_at(const Tensor& places) const {
  std::vector<std::string> all = special();
  all.insert(all.end(), words_.begin(), words_.end());
  all.push_back(oov_token_);
  const Tensor last = Tensor::scalar(static_cast<std::int64_t>(all.size()) - 1, DType::i64),
               at = cast(places, DType::i64);
  const Tensor inside = logical_and(greater_equal(at, zeros_like(at)), less(at, last));
  return gather(numbers_of(all), where(inside, at, last));
}

/// Compared with every word; what is like none is unknown.
Tensor LookupLayer::places_of_numbers(const Tensor& x) const {
  const Tensor numbers = cast(x, DType::i64);
  const auto whole = [](std::int64_t value) { return Tensor::scalar(value, DType::i64); };
  Tensor places = zeros_like(numbers), known = zeros(x.shape(), DType::boolean);
  if (!words_.empty()) {
    const Tensor same = equal(expand_dims(numbers, -1), numbers_of(words_));  // [..., word]
    known = reduce_any(same, {-1});
    places = argmax(cast(same, DType::i32), -1, DType::i64) + whole(places_.first_word());
  }
  Tensor unknown = whole(places_.oov() == 0 ? -1 : places_.first_oov());
  if (places_.oov() > 1) unknown = floormod(numbers, whole(places_.oov())) + whole(places_.first_oov());
  places = where(known, places, unknown);
  if (mask_)
    places = where(equal(numbers, whole(std::stoll(*mask_))), whole(places_.output().is_int() ? 0 : -1), places);
  return places;
}

Tensor LookupLayer::places_of(const Tensor& x) const {
  if (numbers_ && !is_integer(x.dtype()) && !is_floating(x.dtype()))
    config().refuse("needs whole numbers, got ", x.spec());
  if (numbers_ && !(places_.hashes_integers() && places_.oov() > 1)) return places_of_numbers(x);
  if (!numbers_ && x.dtype() != DType::string) config().refuse("needs strings, got ", x.spec());
  std::vector<std::string> words;
  if (numbers_)
    for (const std::int64_t number : cast(x, DType::i64).to_vector<std::int64_t>())
      words.push_back(std::to_string(number));
  else words = x.strings();
  std::vector<std::int64_t> places;
  for (const std::string& word : words) {
    const auto found = place_.find(word);
    places.push_back(found != place_.end() ? found->second : places_.place_of_unknown(word));
  }
  return Tensor::from(places, x.shape());
}

Tensor LookupLayer::call(const Tensor& x, bool) {
  if (config().flag("invert", false)) return numbers_ ? numbers_at(x) : words_at(x);
  return places_.output().encoded(places_of(x), places_.depth(words_.size()), weights_ ? weights_->value() : Tensor());
}

namespace {

LayerPtr lookup_of(const LayerConfig& config) {
  LayerConfig inner("StringLookup", config.name() + "_lookup");
  inner.set("mask_token", std::string()).set("output_mode", config.text("output_mode", "int"));
  Json arguments = inner.json().value;
  for (const char* key : {"max_tokens", "pad_to_max_tokens", "vocabulary", "idf_weights"})
    if (config.has(key)) arguments[key] = config.json().value.at(key);
  return std::make_shared<LookupLayer>(
      LayerConfig("StringLookup", std::make_shared<LayerConfig::Json>(LayerConfig::Json{std::move(arguments)})));
}

constexpr std::string_view kPunctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";

}  // namespace

TextVectorizationLayer::TextVectorizationLayer(const LayerConfig& config)
    : Layer(config, std::nullopt),
      ngrams_(config.integer("ngrams", 0)),
      length_(config.integer("output_sequence_length", 0)),
      numbers_(config.text("output_mode", "int") == "int"),
      lookup_(lookup_of(config)) {
  const std::string standardize =
      config.is_null("standardize") ? "" : config.text("standardize", "lower_and_strip_punctuation");
  const std::string split = config.is_null("split") ? "" : config.text("split", "whitespace");
  if (!standardize.empty() && standardize != "lower_and_strip_punctuation" && standardize != "lower" &&
      standardize != "strip_punctuation")
    config.refuse("unknown standardize '", standardize, "'");
  if (!split.empty() && split != "whitespace" && split != "character") config.refuse("unknown split '", split, "'");
  lower_ = standardize.find("lower") != std::string::npos, strip_ = standardize.find("strip") != std::string::npos;
  by_character_ = split == "character", whole_ = split.empty();
  if (ngrams_ < 0 || length_ < 0)
    config.refuse("ngrams and output_sequence_length must not be negative, got ", ngrams_, " and ", length_);
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
  WordCounts counts;
  while (const std::optional<Value> batch = pass.next()) {
    const Tensor& texts = batch->leaves().at(0).tensor;
    if (texts.dtype() != DType::string) config().refuse("adapt needs strings, got ", texts.spec());
    for (const std::string& text : texts.strings()) counts.add_document(words_of(text));
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
    for (auto& row : rows) {
      if (row.empty()) row.emplace_back();  // the mask, which leaves no trace
      encoded.push_back(
          expand_dims((*lookup_)(Tensor::from_strings(row, {static_cast<std::int64_t>(row.size())}), training), 0));
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
