// The layers that turn strings into their place in a vocabulary.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/nn/layer.h"

namespace tandem {

/// What a word, a class number or a bin becomes: itself ("int"), a row with a one at its place ("one_hot"), or one row of all
/// that a sample has ("multi_hot", "count").
class TokenOutput {
 public:
  TokenOutput(const LayerConfig& config, std::string_view fallback);
  bool is_int() const { return mode_ == "int"; }
  Tensor encoded(const Tensor& places, std::int64_t depth) const;

 private:
  std::string mode_;
};

/// Runs on the host: strings live there.
class StringLookupLayer final : public Layer {
 public:
  explicit StringLookupLayer(const LayerConfig& config);

  /// The mask and the unknown words may stand at the front. Throws invalid_argument when a word is there twice.
  void set_vocabulary(std::vector<std::string> words);
  const std::vector<std::string>& vocabulary() const { return words_; }
  /// The words of the data, the most frequent first, equally frequent ones from z to a, as Keras has them.
  void adapt(DatasetIterator pass);
  void learn(const std::unordered_map<std::string, std::int64_t>& counts);
  std::string_view asset() const override { return "vocabulary.txt"; }
  void load_asset(std::string_view bytes) override;
  std::string saved_asset() const override;

 private:
  Tensor call(const Tensor& x, bool training) override;
  Tensor words_at(const Tensor& places) const;
  std::vector<std::string> special() const;
  std::int64_t place_of(const std::string& word) const;

  std::int64_t oov_;  // places in front, for words that are not in the vocabulary
  std::string oov_token_;
  std::optional<std::string> mask_;
  TokenOutput output_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> places_;
};

/// Texts as the places of their words.
class TextVectorizationLayer final : public Layer {
 public:
  explicit TextVectorizationLayer(const LayerConfig& config);
  const std::vector<std::string>& vocabulary() const { return lookup().vocabulary(); }
  void set_vocabulary(std::vector<std::string> words) { lookup().set_vocabulary(std::move(words)); }
  void adapt(DatasetIterator pass);
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"_lookup_layer", lookup_}}; }
  std::string_view asset() const override { return lookup().asset(); }
  void load_asset(std::string_view bytes) override { lookup().load_asset(bytes); }
  std::string saved_asset() const override { return lookup().saved_asset(); }

 private:
  Tensor call(const Tensor& x, bool training) override;
  std::vector<std::string> words_of(std::string text) const;
  StringLookupLayer& lookup() const { return static_cast<StringLookupLayer&>(*lookup_); }

  bool lower_, strip_, by_character_, whole_;
  std::int64_t ngrams_, length_;  // 0: none, and as long as the longest
  bool numbers_;
  LayerPtr lookup_;
};

}  // namespace tandem
