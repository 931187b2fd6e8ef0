// The records of the larger ops of networks, for their kernels and samples; and the lists of their files.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

extern const OpDef batch_normalization_training_op, batch_normalization_grad_op;
extern const OpDef layer_normalization_op, layer_normalization_grad_op;
extern const OpDef dot_product_attention_op, dot_product_attention_grad_op;
extern const OpDef resize_bilinear_op, resize_bilinear_grad_op;
extern const OpDef lstm_op, lstm_grad_op, gru_op, gru_grad_op, simple_rnn_op, simple_rnn_grad_op;

/// Of resized images: positions in them, doubled, are multiplied by each other.
inline constexpr std::int64_t kLargestImageSide = 1 << 24;

OpGroup normalization_ops();
OpGroup attention_ops();
OpGroup recurrent_ops();
OpGroup resizing_ops();
OpGroup objective_ops();

}  // namespace tandem
