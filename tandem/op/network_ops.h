// The larger ops that networks are made of, as functions: normalisation, dropout, resizing, attention, recurrent
// layers.
#pragma once
#include "tandem/op/ops.h"

namespace tandem {

// --- Normalisation. ---
/// By a mean and variance known before, as in inference; all broadcast.
Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& offset,
                           const Tensor& scale, double variance_epsilon = 1e-3);
/// x [..., features] by the mean and variance of its features over all other axes; y, mean, variance.
Tensors batch_normalization_training(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon = 1e-3);
/// x [..., features] by the mean and variance of each row.
Tensor layer_normalization(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon = 1e-3);

/// Zeroes elements with the probability `rate` and scales the others up.
Tensor dropout(const Tensor& x, double rate, std::int64_t seed = 0);

// --- Images. ---
/// [batch, height, width, channels] made `height` by `width`, each pixel between the four nearest ones.
Tensor resize_bilinear(const Tensor& images, std::int64_t height, std::int64_t width);

// --- Attention. ---
struct AttentionOptions {
  double scale = 0;  // 0: one over the root of the heads' size
  bool is_causal = false;
  Tensor bias = {};  // added to the scores: broadcasts to [batch, heads, targets, sources]
};
/// query [batch, targets, heads, size], key and value [batch, sources, heads, size]; [batch, targets, heads, size].
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options = {});

// --- Recurrent layers over x [batch, steps, inputs], with Keras' order of gates: outputs of all steps, last states.
// ---
Tensors lstm(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& kernel, const Tensor& recurrent_kernel,
             const Tensor& bias);
/// With reset_after: the bias is [2, 3 * units].
Tensors gru(const Tensor& x, const Tensor& h0, const Tensor& kernel, const Tensor& recurrent_kernel,
            const Tensor& bias);
Tensors simple_rnn(const Tensor& x, const Tensor& h0, const Tensor& kernel, const Tensor& recurrent_kernel,
                   const Tensor& bias);

}  // namespace tandem
