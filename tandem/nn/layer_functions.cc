// The functions of layers.h: each fills in a LayerConfig.
#include "tandem/nn/layers.h"

namespace tandem {
namespace {

LayerPtr named(const char* class_name, std::string name) {
  return make_layer(LayerConfig(class_name, std::move(name)));
}

LayerConfig convolution(const char* class_name, const Ints& kernel_size, const Conv2DOptions& options) {
  const bool own_name = options.name != Conv2DOptions().name;
  LayerConfig config(class_name, own_name ? options.name : "");
  config.set("kernel_size", kernel_size)
      .set("strides", options.strides)
      .set("padding", options.padding)
      .set("dilation_rate", options.dilation_rate)
      .set("activation", options.activation)
      .set("use_bias", options.use_bias);
  return config;
}

LayerPtr pooling(const char* class_name, const Ints& pool_size, const PoolingOptions& options) {
  LayerConfig config(class_name, options.name);
  config.set("pool_size", pool_size).set("padding", options.padding);
  if (!options.strides.empty()) config.set("strides", options.strides);
  return make_layer(config);
}

LayerPtr recurrent(const char* class_name, std::int64_t units, const RecurrentOptions& options) {
  return make_layer(
      LayerConfig(class_name, options.name).set("units", units).set("return_sequences", options.return_sequences));
}

}  // namespace

LayerPtr Dense(std::int64_t units, DenseOptions options) {
  return make_layer(LayerConfig("Dense", options.name)
                        .set("units", units)
                        .set("activation", options.activation)
                        .set("use_bias", options.use_bias));
}

LayerPtr Conv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options) {
  return make_layer(convolution("Conv2D", kernel_size, options).set("filters", filters).set("groups", options.groups));
}
LayerPtr Conv2DTranspose(std::int64_t filters, Ints kernel_size, Conv2DOptions options) {
  return make_layer(convolution("Conv2DTranspose", kernel_size, options).set("filters", filters));
}
LayerPtr SeparableConv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options) {
  return make_layer(convolution("SeparableConv2D", kernel_size, options).set("filters", filters));
}
LayerPtr DepthwiseConv2D(Ints kernel_size, Conv2DOptions options) {
  return make_layer(convolution("DepthwiseConv2D", kernel_size, options));
}
LayerPtr Conv1D(std::int64_t filters, std::int64_t kernel_size, Conv1DOptions options) {
  return make_layer(LayerConfig("Conv1D", options.name)
                        .set("filters", filters)
                        .set("kernel_size", Ints{kernel_size})
                        .set("strides", Ints{options.strides})
                        .set("padding", options.padding)
                        .set("dilation_rate", Ints{options.dilation_rate})
                        .set("groups", options.groups)
                        .set("activation", options.activation)
                        .set("use_bias", options.use_bias));
}

LayerPtr MaxPooling2D(Ints pool_size, PoolingOptions options) { return pooling("MaxPooling2D", pool_size, options); }
LayerPtr AveragePooling2D(Ints pool_size, PoolingOptions options) {
  return pooling("AveragePooling2D", pool_size, options);
}
LayerPtr GlobalAveragePooling2D(std::string name) { return named("GlobalAveragePooling2D", std::move(name)); }
LayerPtr GlobalMaxPooling2D(std::string name) { return named("GlobalMaxPooling2D", std::move(name)); }
LayerPtr GlobalAveragePooling1D(std::string name) { return named("GlobalAveragePooling1D", std::move(name)); }
LayerPtr GlobalMaxPooling1D(std::string name) { return named("GlobalMaxPooling1D", std::move(name)); }
LayerPtr UpSampling2D(Ints size, std::string name) {
  return make_layer(LayerConfig("UpSampling2D", std::move(name)).set("size", size));
}
LayerPtr ZeroPadding2D(Ints padding, std::string name) {
  return make_layer(LayerConfig("ZeroPadding2D", std::move(name)).set("padding", padding));
}

LayerPtr BatchNormalization(BatchNormalizationOptions options) {
  return make_layer(LayerConfig("BatchNormalization", options.name)
                        .set("momentum", options.momentum)
                        .set("epsilon", options.epsilon)
                        .set("synchronized", options.synchronized));
}
LayerPtr LayerNormalization(double epsilon, std::string name) {
  return make_layer(LayerConfig("LayerNormalization", std::move(name)).set("epsilon", epsilon));
}
LayerPtr Dropout(double rate, std::string name) {
  return make_layer(LayerConfig("Dropout", std::move(name)).set("rate", rate));
}
LayerPtr ActivationLayer(std::string activation, std::string name) {
  return make_layer(LayerConfig("Activation", std::move(name)).set("activation", activation));
}
LayerPtr ReLU(std::string name) { return named("ReLU", std::move(name)); }
LayerPtr LeakyReLU(double negative_slope, std::string name) {
  return make_layer(LayerConfig("LeakyReLU", std::move(name)).set("negative_slope", negative_slope));
}
LayerPtr Softmax(std::string name) { return named("Softmax", std::move(name)); }
LayerPtr Rescaling(double scale, double offset, std::string name) {
  return make_layer(LayerConfig("Rescaling", std::move(name)).set("scale", scale).set("offset", offset));
}

LayerPtr Flatten(std::string name) { return named("Flatten", std::move(name)); }
LayerPtr Reshape(Ints target_shape, std::string name) {
  return make_layer(LayerConfig("Reshape", std::move(name)).set("target_shape", target_shape));
}
LayerPtr Permute(Ints dims, std::string name) {
  return make_layer(LayerConfig("Permute", std::move(name)).set("dims", dims));
}
LayerPtr RepeatVector(std::int64_t n, std::string name) {
  return make_layer(LayerConfig("RepeatVector", std::move(name)).set("n", n));
}
LayerPtr Embedding(std::int64_t input_dim, std::int64_t output_dim, std::string name) {
  return make_layer(
      LayerConfig("Embedding", std::move(name)).set("input_dim", input_dim).set("output_dim", output_dim));
}

LayerPtr LSTM(std::int64_t units, RecurrentOptions options) { return recurrent("LSTM", units, options); }
LayerPtr GRU(std::int64_t units, RecurrentOptions options) { return recurrent("GRU", units, options); }
LayerPtr SimpleRNN(std::int64_t units, RecurrentOptions options) { return recurrent("SimpleRNN", units, options); }
LayerPtr MultiHeadAttention(std::int64_t num_heads, std::int64_t key_dim, std::string name) {
  return make_layer(
      LayerConfig("MultiHeadAttention", std::move(name)).set("num_heads", num_heads).set("key_dim", key_dim));
}

LayerPtr Add(std::string name) { return named("Add", std::move(name)); }
LayerPtr Subtract(std::string name) { return named("Subtract", std::move(name)); }
LayerPtr Multiply(std::string name) { return named("Multiply", std::move(name)); }
LayerPtr Average(std::string name) { return named("Average", std::move(name)); }
LayerPtr Maximum(std::string name) { return named("Maximum", std::move(name)); }
LayerPtr Minimum(std::string name) { return named("Minimum", std::move(name)); }
LayerPtr Concatenate(std::int64_t axis, std::string name) {
  return make_layer(LayerConfig("Concatenate", std::move(name)).set("axis", axis));
}

}  // namespace tandem
