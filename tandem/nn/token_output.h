// What words, class numbers and bins become: Keras' argument output_mode.
#pragma once
#include <string>
#include <vector>

#include "tandem/nn/layer_config.h"

namespace tandem {

/// Itself ("int"), a row with a one at its place ("one_hot"), or one row of all that a sample has ("multi_hot",
/// "count", and "tf_idf": counts times weights). Places that are negative leave no trace in rows.
class TokenOutput {
 public:
  TokenOutput(const LayerConfig& config, std::string_view fallback);
  bool is_int() const { return mode_ == "int"; }
  bool has_weights() const { return mode_ == "tf_idf"; }
  /// `weights`: one a place for "tf_idf", one a token for "count"; may be undefined.
  Tensor encoded(const Tensor& places, std::int64_t depth, const Tensor& weights = {}) const;

 private:
  std::string mode_;
};

/// What the two lookups share: which places stand before the words, and how wide rows are.
class LookupPlaces {
 public:
  explicit LookupPlaces(const LayerConfig& config);
  const TokenOutput& output() const { return output_; }
  std::int64_t oov() const { return oov_; }
  /// Where unknown words begin, and the words.
  std::int64_t first_oov() const { return masks_ && output_.is_int() ? 1 : 0; }
  std::int64_t first_word() const { return first_oov() + oov_; }
  /// How wide a row is for so many words.
  std::int64_t depth(std::size_t words) const;
  /// How many words may be learned.
  std::size_t most_words() const;
  /// The place of a word that is not in the vocabulary, by its fingerprint or a salted hash; throws where there is
  /// none.
  std::int64_t place_of_unknown(const std::string& word) const;
  bool hashes_integers() const { return farmhash_; }
  /// The argument idf_weights for so many words, places in front filled up with their mean; undefined where it is
  /// missing.
  Tensor given_weights(std::size_t words) const;
  /// log(1 + documents / (1 + documents with the word)), places in front filled up with the mean.
  Tensor learned_weights(const std::vector<std::int64_t>& documents_with, std::int64_t documents) const;

 private:
  Tensor padded(std::vector<float> weights) const;

  LayerConfig config_;
  TokenOutput output_;
  std::int64_t oov_;
  bool masks_, farmhash_;
  Ints salt_;
};

}  // namespace tandem
