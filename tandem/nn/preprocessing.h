// Layers that prepare data. Each is a part of a model, and a function of a dataset's elements:
//
//   LayerPtr normalize = Normalization();
//   adapt(normalize, batches);
//   Dataset ready = batches.map([normalize](Tensor x) { return (*normalize)(x); });
#pragma once
#include <string>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/nn/layers.h"

namespace tandem {

/// (x - mean) / deviation, of each value of the last axis; adapt() finds them.
LayerPtr Normalization(std::string name = "");
/// Strings to their place in the vocabulary, after `oov` places for those that are not in it; adapt() finds the words,
/// the most frequent first.
LayerPtr StringLookup(std::vector<std::string> vocabulary = {}, std::int64_t oov = 1, std::string name = "");
/// Texts to the places of their words, in lower case and without punctuation; adapt() finds the words. Rows are as long
/// as the longest, or as `length` says.
LayerPtr TextVectorization(std::vector<std::string> vocabulary = {}, std::int64_t length = 0, std::string name = "");
/// Strings or whole numbers to one of so many bins, the same as in Keras.
LayerPtr Hashing(std::int64_t num_bins, std::string name = "");
/// Numbers to the bin that they lie in; adapt() finds boundaries between which equally many lie.
LayerPtr Discretization(std::int64_t num_bins, std::string output_mode = "int", std::string name = "");
/// Whole numbers to their place in the vocabulary.
LayerPtr IntegerLookup(std::vector<std::int64_t> vocabulary = {}, std::string name = "");
/// Class numbers to "one_hot", "multi_hot" (which of them a row has) or "count".
LayerPtr CategoryEncoding(std::int64_t num_tokens, std::string output_mode = "multi_hot", std::string name = "");

// Changes of images [height, width, channels], alone or in a batch, while training; otherwise nothing, or the middle
// part.
LayerPtr RandomFlip(std::string mode = "horizontal_and_vertical", std::string name = "");
LayerPtr RandomCrop(std::int64_t height, std::int64_t width, std::string name = "");
/// By up to `factor` of a full turn either way; beyond its border an image goes on mirrored.
LayerPtr RandomRotation(double factor, std::string name = "");
/// Values between 0 and `most` grow or shrink by up to `factor` of it.
LayerPtr RandomBrightness(double factor, double most = 255, std::string name = "");

/// Learns from data what a Discretization, IntegerLookup, Normalization, StringLookup or TextVectorization needs:
/// elements are batches. Throws invalid_argument for other layers and for an infinite dataset.
void adapt(const LayerPtr& layer, const Dataset& batches);
void adapt(const LayerPtr& layer, const Tensor& data);

}  // namespace tandem
