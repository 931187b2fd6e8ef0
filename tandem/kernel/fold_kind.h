// The reductions: ops whose kernels differ only in how two values become one.
#pragma once
#include "tandem/op/array_records.h"
#include "tandem/op/records.h"

namespace tandem {

enum class FoldKind { sum, mean, max, min, prod };

/// Any of some bools is the largest of them, all the smallest.
inline FoldKind fold_kind(const OpDef& op) {
  if (&op == &reduce_mean_op) return FoldKind::mean;
  if (&op == &reduce_max_op || &op == &reduce_any_op) return FoldKind::max;
  if (&op == &reduce_min_op || &op == &reduce_all_op) return FoldKind::min;
  return &op == &reduce_prod_op ? FoldKind::prod : FoldKind::sum;
}

}  // namespace tandem
