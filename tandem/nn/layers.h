// Keras' layers, with its names, arguments and defaults.
//
//   LayerPtr a = Dense(64, "relu");
//   LayerPtr b = make_layer(LayerConfig("Permute").set("dims", Ints{2, 1}));   // any class by name
#pragma once
#include <map>

#include "tandem/nn/layer.h"

namespace tandem {

using LayerMaker = std::function<LayerPtr(const LayerConfig&)>;
/// Layers of one's own by the name of their class.
using LayerMakers = std::map<std::string, LayerMaker>;

/// The layer that a config describes: one of `custom`, or of Keras. Throws for an unknown class, saying how to add it.
LayerPtr make_layer(const LayerConfig& config, const LayerMakers& custom = {});
/// The classes of Keras that there are, sorted.
std::vector<std::string> known_layers();

struct DenseOptions {
  std::string activation = "linear";
  bool use_bias = true;
  std::string name = "dense";
};
LayerPtr Dense(std::int64_t units, DenseOptions options = {});
inline LayerPtr Dense(std::int64_t units, const char* activation) { return Dense(units, DenseOptions{.activation = activation}); }

struct Conv2DOptions {
  std::string activation = "linear";
  Ints strides = {1, 1};
  std::string padding = "valid";
  Ints dilation_rate = {1, 1};
  std::int64_t groups = 1;
  bool use_bias = true;
  std::string name = "conv2d";
};
LayerPtr Conv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options = {});

struct PoolingOptions {
  Ints strides = {};  // none: as the window is large
  std::string padding = "valid";
  std::string name = {};
};
LayerPtr MaxPooling2D(Ints pool_size = {2, 2}, PoolingOptions options = {});
LayerPtr AveragePooling2D(Ints pool_size = {2, 2}, PoolingOptions options = {});
LayerPtr GlobalAveragePooling2D(std::string name = "");
LayerPtr GlobalMaxPooling2D(std::string name = "");

struct BatchNormalizationOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  std::string name = {};
};
LayerPtr BatchNormalization(BatchNormalizationOptions options = {});
LayerPtr LayerNormalization(double epsilon = 1e-3, std::string name = "");
LayerPtr Dropout(double rate, std::string name = "");
LayerPtr ActivationLayer(std::string activation, std::string name = "");  // Keras' Activation
LayerPtr Flatten(std::string name = "");
LayerPtr Reshape(Ints target_shape, std::string name = "");
LayerPtr Embedding(std::int64_t input_dim, std::int64_t output_dim, std::string name = "");

struct RecurrentOptions {
  bool return_sequences = false;
  std::string name = {};
};
LayerPtr LSTM(std::int64_t units, RecurrentOptions options = {});
LayerPtr GRU(std::int64_t units, RecurrentOptions options = {});

}  // namespace tandem
