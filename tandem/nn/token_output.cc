#include "tandem/nn/token_output.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/base/string_hash.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

std::string mode_of(const LayerConfig& config, std::string_view fallback) {
  const std::string mode = config.text("output_mode", fallback);
  return mode == "binary" ? "multi_hot" : mode == "tf-idf" ? "tf_idf" : mode;
}

}  // namespace

TokenOutput::TokenOutput(const LayerConfig& config, std::string_view fallback) : mode_(mode_of(config, fallback)) {
  if (mode_ != "int" && mode_ != "one_hot" && mode_ != "multi_hot" && mode_ != "count" && mode_ != "tf_idf")
    config.refuse("output_mode must be 'int', 'one_hot', 'multi_hot', 'count' or 'tf_idf', got '", mode_, "'");
  config.require("sparse", false);
}

Tensor TokenOutput::encoded(const Tensor& places, std::int64_t depth, const Tensor& weights) const {
  if (is_int()) return places;
  const bool single = places.rank() > 0 && places.shape()[-1] == 1;
  if (mode_ == "one_hot") return one_hot(single ? squeeze(places, {-1}) : places, depth);
  const Tensor rows = one_hot(places.rank() == 0 ? expand_dims(places, 0) : places, depth);
  if (mode_ == "multi_hot") return reduce_max(rows, {-2});
  if (mode_ == "tf_idf") return reduce_sum(rows, {-2}) * weights;
  return reduce_sum(weights.defined() ? rows * expand_dims(cast(weights, rows.dtype()), -1) : rows, {-2});
}

LookupPlaces::LookupPlaces(const LayerConfig& config)
    : config_(config),
      output_(config, "int"),
      oov_(config.integer("num_oov_indices", 1)),
      masks_(config.has("mask_token")),
      farmhash_(config.text("oov_method", "floormod") == "farmhash") {
  if (oov_ < 0) config.refuse("num_oov_indices must not be negative, got ", oov_);
  if (config.flag("invert", false) && !output_.is_int()) config.refuse("invert needs output_mode 'int'");
  if (config.flag("pad_to_max_tokens", false) && !config.has("max_tokens"))
    config.refuse("pad_to_max_tokens needs max_tokens");
  if (config.has("salt")) salt_ = config.ints("salt", 2);
}

std::int64_t LookupPlaces::depth(std::size_t words) const {
  return config_.flag("pad_to_max_tokens", false) ? config_.integer("max_tokens")
                                                  : first_word() + static_cast<std::int64_t>(words);
}

std::size_t LookupPlaces::most_words() const {
  if (!config_.has("max_tokens")) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::max<std::int64_t>(config_.integer("max_tokens") - first_word(), 0));
}

std::int64_t LookupPlaces::place_of_unknown(const std::string& word) const {
  if (oov_ == 0) config_.refuse("'", word, "' is not in the vocabulary, and num_oov_indices is 0");
  if (oov_ == 1) return first_oov();
  const std::uint64_t hash =
      salt_.empty() ? fingerprint64(word)
                    : siphash(word, static_cast<std::uint64_t>(salt_[0]), static_cast<std::uint64_t>(salt_[1]));
  return first_oov() + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(oov_));
}

Tensor LookupPlaces::padded(std::vector<float> weights) const {
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(weights.size(), 1));
  const std::int64_t all = depth(weights.size());
  weights.insert(weights.begin(), static_cast<std::size_t>(first_word()), static_cast<float>(mean));
  weights.resize(static_cast<std::size_t>(all), 0.0f);
  return Tensor::from(weights, {all});
}

Tensor LookupPlaces::given_weights(std::size_t words) const {
  if (!config_.has("idf_weights")) return {};
  std::vector<float> weights = config_.numbers("idf_weights").to_vector<float>();
  if (weights.size() == words + static_cast<std::size_t>(first_word()))
    weights.erase(weights.begin(), weights.begin() + first_word());
  if (weights.size() != words)
    config_.refuse("idf_weights must have one weight for each of the ", words, " words, got ", weights.size());
  return padded(std::move(weights));
}

Tensor LookupPlaces::learned_weights(const std::vector<std::int64_t>& documents_with, std::int64_t documents) const {
  std::vector<float> weights;
  for (const std::int64_t count : documents_with)
    weights.push_back(
        static_cast<float>(std::log(1 + static_cast<double>(documents) / (1 + static_cast<double>(count)))));
  return padded(std::move(weights));
}

}  // namespace tandem
