// The layer that turns strings into their place in a vocabulary.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/nn/layer.h"

namespace tandem {

/// Runs on the host: strings live there.
class StringLookupLayer final : public Layer {
 public:
  explicit StringLookupLayer(const LayerConfig& config);

  /// Throws invalid_argument when a word is there twice.
  void set_vocabulary(std::vector<std::string> words);
  const std::vector<std::string>& vocabulary() const { return words_; }
  /// The words of the data, the most frequent first, equally frequent ones from z to a, as Keras has them.
  void adapt(DatasetIterator pass);

 private:
  Tensor call(const Tensor& x, bool training) override;

  std::int64_t oov_;  // places in front, for words that are not in the vocabulary
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> places_;
};

}  // namespace tandem
