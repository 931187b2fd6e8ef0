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
inline LayerPtr Dense(std::int64_t units, const char* activation) {
  return Dense(units, DenseOptions{.activation = activation});
}

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

LayerPtr Conv2DTranspose(std::int64_t filters, Ints kernel_size, Conv2DOptions options = {});
LayerPtr SeparableConv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options = {});
LayerPtr DepthwiseConv2D(Ints kernel_size, Conv2DOptions options = {});

struct Conv1DOptions {
  std::string activation = "linear";
  std::int64_t strides = 1;
  std::string padding = "valid";
  std::int64_t dilation_rate = 1;
  std::int64_t groups = 1;
  bool use_bias = true;
  std::string name = {};
};
LayerPtr Conv1D(std::int64_t filters, std::int64_t kernel_size, Conv1DOptions options = {});

struct PoolingOptions {
  Ints strides = {};  // none: as the window is large
  std::string padding = "valid";
  std::string name = {};
};
LayerPtr MaxPooling2D(Ints pool_size = {2, 2}, PoolingOptions options = {});
LayerPtr AveragePooling2D(Ints pool_size = {2, 2}, PoolingOptions options = {});
LayerPtr GlobalAveragePooling2D(std::string name = "");
LayerPtr GlobalMaxPooling2D(std::string name = "");
LayerPtr GlobalAveragePooling1D(std::string name = "");
LayerPtr GlobalMaxPooling1D(std::string name = "");
LayerPtr UpSampling2D(Ints size = {2, 2}, std::string name = "");
LayerPtr ZeroPadding2D(Ints padding = {1, 1}, std::string name = "");

struct BatchNormalizationOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  std::string name = {};
  bool synchronized =
      false;  // with several devices: by the mean and variance of the whole batch, not of each one's rows
};
LayerPtr BatchNormalization(BatchNormalizationOptions options = {});
LayerPtr LayerNormalization(double epsilon = 1e-3, std::string name = "");
LayerPtr Dropout(double rate, std::string name = "");
LayerPtr ActivationLayer(std::string activation, std::string name = "");  // Keras' Activation
LayerPtr ReLU(std::string name = "");
LayerPtr LeakyReLU(double negative_slope = 0.3, std::string name = "");
LayerPtr Softmax(std::string name = "");
LayerPtr Rescaling(double scale, double offset = 0, std::string name = "");
LayerPtr Flatten(std::string name = "");
LayerPtr Permute(Ints dims, std::string name = "");
LayerPtr RepeatVector(std::int64_t n, std::string name = "");
LayerPtr Reshape(Ints target_shape, std::string name = "");
LayerPtr Embedding(std::int64_t input_dim, std::int64_t output_dim, std::string name = "");

struct RecurrentOptions {
  bool return_sequences = false;
  std::string name = {};
};
LayerPtr LSTM(std::int64_t units, RecurrentOptions options = {});
LayerPtr GRU(std::int64_t units, RecurrentOptions options = {});
LayerPtr SimpleRNN(std::int64_t units, RecurrentOptions options = {});

/// Called on query and value, and the key where it is not the value: attention({x, x}).
LayerPtr MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, std::string name = "");

/// A function of one's own as a layer. No file can hold it: a model with one is saved, but loading it needs a maker for
/// "Lambda".
LayerPtr Lambda(std::function<Tensor(const Tensor&)> function, std::string name = "");

// --- Of several values: Add()({a, b}). ---
LayerPtr Add(std::string name = "");
LayerPtr Subtract(std::string name = "");
LayerPtr Multiply(std::string name = "");
LayerPtr Average(std::string name = "");
LayerPtr Maximum(std::string name = "");
LayerPtr Minimum(std::string name = "");
LayerPtr Concatenate(std::int64_t axis = -1, std::string name = "");

}  // namespace tandem
