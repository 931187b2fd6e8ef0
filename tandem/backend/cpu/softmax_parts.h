// What the kernels of softmax, log_softmax and their gradients share.
#pragma once
#include <algorithm>

#include "tandem/backend/cpu/loop_source.h"
#include "tandem/kernel/softmax_kind.h"

namespace tandem::cpu {

/// Rows of `classes` elements that pass through loops and folds together; a slice of the parallel grid is one such
/// block.
inline std::int64_t softmax_block(std::int64_t classes) {
  constexpr std::int64_t kBlockElements = 8 * 1024;
  return std::max<std::int64_t>(1, kBlockElements / std::max<std::int64_t>(classes, 1));
}

inline Support takes_rows(const KernelCall& call) {
  if (call.shape().elements() == 0) return no("takes no empty tensors");
  return around_softmax(call).inner == 1 ? yes() : no("takes elements that lie side by side");
}
inline Support takes_columns(const KernelCall& call) {
  if (call.shape().elements() == 0) return no("takes no empty tensors");
  return around_softmax(call).inner > 1 ? yes() : no("takes elements that lie apart");
}

/// What is added up along the axis for the gradient dy of a result y.
inline expr::Expr softmax_grad_term(SoftmaxKind kind, expr::Expr y, expr::Expr dy) {
  return kind == SoftmaxKind::softmax_grad ? y * dy : dy;
}
inline expr::Expr softmax_grad_result(SoftmaxKind kind, expr::Expr y, expr::Expr dy, expr::Expr sum) {
  return kind == SoftmaxKind::softmax_grad ? (dy - sum) * y : dy - exp(y) * sum;
}

}  // namespace tandem::cpu
