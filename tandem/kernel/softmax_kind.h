// The softmax family: ops whose kernels share their passes along an axis.
#pragma once
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/records.h"

namespace tandem {

enum class SoftmaxKind {
  softmax,
  log_softmax,
  softmax_grad,
  log_softmax_grad,
  sparse_loss,
  sparse_grad,
  dense_loss,
  dense_grad
};

inline SoftmaxKind softmax_kind(const OpDef& op) {
  if (&op == &softmax_op) return SoftmaxKind::softmax;
  if (&op == &log_softmax_op) return SoftmaxKind::log_softmax;
  if (&op == &softmax_grad_op) return SoftmaxKind::softmax_grad;
  if (&op == &log_softmax_grad_op) return SoftmaxKind::log_softmax_grad;
  if (&op == &sparse_softmax_cross_entropy_op) return SoftmaxKind::sparse_loss;
  if (&op == &sparse_softmax_cross_entropy_grad_op) return SoftmaxKind::sparse_grad;
  return &op == &softmax_cross_entropy_op ? SoftmaxKind::dense_loss : SoftmaxKind::dense_grad;
}
/// Losses and their gradients: labels come first, logits second.
inline bool is_loss(SoftmaxKind kind) { return kind >= SoftmaxKind::sparse_loss; }
/// Of softmax or log_softmax: their result comes first, its gradient second.
inline bool is_softmax_grad(SoftmaxKind kind) {
  return kind == SoftmaxKind::softmax_grad || kind == SoftmaxKind::log_softmax_grad;
}

/// Which operand has the shape that the passes follow.
inline int softmax_operand(SoftmaxKind kind) { return is_loss(kind) ? 1 : 0; }

/// The axis along which is summed, counted from the first.
inline int softmax_axis(const KernelCall& call) {
  const SoftmaxKind kind = softmax_kind(call.op);
  const int rank = call.shape(softmax_operand(kind)).rank();
  return is_loss(kind) ? rank - 1 : normalize_axis(call.op.name, call.attr().integer("axis"), rank);
}
/// Rows lie side by side where nothing is behind the axis, else columns.
inline AroundAxis around_softmax(const KernelCall& call) {
  return around_axis(call.shape(softmax_operand(softmax_kind(call.op))), softmax_axis(call));
}

}  // namespace tandem
