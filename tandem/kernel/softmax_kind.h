// The softmax family: ops whose kernels share their passes over a row.
#pragma once
#include "tandem/op/records.h"

namespace tandem {

enum class SoftmaxKind { softmax, log_softmax, sparse_loss, sparse_grad, dense_loss, dense_grad };

inline SoftmaxKind softmax_kind(const OpDef& op) {
  if (&op == &softmax_op) return SoftmaxKind::softmax;
  if (&op == &log_softmax_op) return SoftmaxKind::log_softmax;
  if (&op == &sparse_softmax_cross_entropy_op) return SoftmaxKind::sparse_loss;
  if (&op == &sparse_softmax_cross_entropy_grad_op) return SoftmaxKind::sparse_grad;
  return &op == &softmax_cross_entropy_op ? SoftmaxKind::dense_loss : SoftmaxKind::dense_grad;
}
/// Losses and their gradients: labels come first, logits second.
inline bool is_loss(SoftmaxKind kind) { return kind >= SoftmaxKind::sparse_loss; }

}  // namespace tandem
