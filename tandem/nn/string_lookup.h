// The layers that turn strings and whole numbers into their place in a vocabulary.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/nn/layer.h"
#include "tandem/nn/token_output.h"

namespace tandem {

/// What a layer learned of data: how often each word came, and in how many samples.
struct WordCounts {
  std::unordered_map<std::string, std::int64_t> words, documents;
  std::int64_t all_documents = 0;

  void add_document(const std::vector<std::string>& document);
};

/// Runs on the host: strings live there. Whole numbers are looked up by ops, so that they can be a part of a traced
/// step.
class LookupLayer final : public Layer {
 public:
  explicit LookupLayer(const LayerConfig& config);

  /// The mask and the unknown words may stand at the front. Throws invalid_argument when a word is there twice.
  void set_vocabulary(std::vector<std::string> words);
  const std::vector<std::string>& vocabulary() const { return words_; }
  /// The words of the data, the most frequent first, equally frequent ones from z to a (numbers from the largest), as
  /// Keras has them.
  void adapt(DatasetIterator pass);
  void learn(const WordCounts& counts);
  std::string_view asset() const override { return config().has("vocabulary") ? "" : "vocabulary.txt"; }
  void load_asset(std::string_view bytes) override;
  std::string saved_asset() const override;
  std::string_view variable_name() const override { return places_.output().has_weights() ? "idf_weights" : ""; }

 private:
  void make_variables(const Shape& input) override;
  Tensor call(const Tensor& x, bool training) override;
  Tensor places_of(const Tensor& x) const;
  Tensor places_of_numbers(const Tensor& x) const;
  Tensor words_at(const Tensor& places) const;
  Tensor numbers_at(const Tensor& places) const;
  std::vector<std::string> special() const;
  std::string token(const char* key) const;

  bool numbers_;  // whole numbers, not strings
  LookupPlaces places_;
  std::string oov_token_;
  std::optional<std::string> mask_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> place_;
  Tensor learned_weights_;
  std::optional<Variable> weights_;
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
  LookupLayer& lookup() const { return static_cast<LookupLayer&>(*lookup_); }

  bool lower_, strip_, by_character_, whole_;
  std::int64_t ngrams_, length_;  // 0: none, and as long as the longest
  bool numbers_;
  LayerPtr lookup_;
};

}  // namespace tandem
