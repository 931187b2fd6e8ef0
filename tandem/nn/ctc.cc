// Connectionist temporal classification: how unlikely the labels are, over all ways to spread them over the steps.
#include "tandem/base/error.h"
#include "tandem/nn/losses.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

constexpr double kImpossible = -1e30;  // a logarithm; not infinity, whose gradient is no number

/// x [batch, places] moved to the right by `by`; what comes in is impossible.
Tensor moved(const Tensor& x, std::int64_t by) {
  const std::int64_t batch = x.shape()[0], places = x.shape()[1];
  if (by >= places) return fill(x.shape(), kImpossible, x.dtype());
  return concat({fill({batch, by}, kImpossible, x.dtype()), slice(x, {0, 0}, {batch, places - by})}, 1);
}

Tensor log_sum(const Tensors& terms) {
  Tensors stacked;
  for (const Tensor& term : terms) stacked.push_back(expand_dims(term, 0));
  return reduce_logsumexp(concat(stacked, 0), {0});
}

/// The labels with a blank, class 0, before, between and behind them: [batch, 2 * labels + 1].
Tensor with_blanks(const Tensor& labels) {
  const std::int64_t batch = labels.shape()[0], count = labels.shape()[1];
  const Tensor pairs = concat({zeros({batch, count, 1}, labels.dtype()), expand_dims(labels, 2)}, 2);
  return concat({reshape(pairs, Shape{batch, 2 * count}), zeros({batch, 1}, labels.dtype())}, 1);
}

}  // namespace

Tensor ctc(const Tensor& y_true, const Tensor& y_pred) {
  if (y_true.rank() != 2 || y_pred.rank() != 3)
    fail(ErrorCode::shape_mismatch, "ctc: labels must be [batch, labels] and logits [batch, steps, classes], got ",
         y_true.shape(), " and ", y_pred.shape());
  const Tensor labels = cast(y_true, DType::i32), places = with_blanks(labels);
  const std::int64_t batch = places.shape()[0], width = places.shape()[1], steps = y_pred.shape()[1],
                     classes = y_pred.shape()[2];
  const Tensor chances = matmul(log_softmax(y_pred), cast(one_hot(places, classes), y_pred.dtype()), false,
                                true);  // [batch, steps, places]
  const auto at = [&](std::int64_t t) {
    return reshape(slice(chances, {0, t, 0}, {batch, 1, width}), Shape{batch, width});
  };
  // A label may follow the one before the blank before it, unless they are the same.
  const Tensor before = width > 2
                            ? concat({zeros({batch, 2}, DType::i32), slice(places, {0, 0}, {batch, width - 2})}, 1)
                            : zeros_like(places);
  const Tensor skips = logical_and(not_equal(places, zeros_like(places)), not_equal(places, before));
  const Tensor nowhere = fill({batch, width}, kImpossible, y_pred.dtype());
  const Tensor place = broadcast_to(reshape(range(0, static_cast<double>(width)), Shape{1, width}), {batch, width});
  Tensor so_far = where(less(place, 2), at(0), nowhere);
  for (std::int64_t t = 1; t < steps; ++t)
    so_far = log_sum({so_far, moved(so_far, 1), where(skips, moved(so_far, 2), nowhere)}) + at(t);
  const Tensor lengths = reduce_sum(cast(not_equal(labels, zeros_like(labels)), DType::i32), {1}, true) *
                         2;  // [batch, 1]: the place of the last blank
  const Tensor ends = logical_and(less_equal(place, lengths), greater_equal(place, lengths - 1));
  return -reduce_logsumexp(where(ends, so_far, nowhere), {1});
}

}  // namespace tandem
