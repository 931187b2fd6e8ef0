// Softmax and the losses on logits.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr AttrDef kAxis{.name = "axis", .default_value = "-1"};

Specs infer_softmax(const InferContext& c) {
  normalize_axis(c.op.name, c.attrs.integer("axis"), c.shape(0).rank());
  return {c.input(0)};
}

/// [..., classes] without its last axis.
Shape rows_of(const Shape& logits) {
  return Shape(logits.sizes().first(static_cast<std::size_t>(std::max(logits.rank() - 1, 0))));
}

void check_logits(const InferContext& c, const Shape& logits) {
  if (logits.rank() < 1 || (logits[-1] == 0 && logits.elements() == 0 && rows_of(logits).elements() > 0))
    fail(ErrorCode::shape_mismatch, c.op.name, ": the logits need at least one class in their last axis, got ", logits);
}

void check_sparse(const InferContext& c) {
  check_logits(c, c.shape(1));
  if (c.dtype(0) != DType::i32 && c.dtype(0) != DType::i64)
    fail(ErrorCode::unsupported_dtype, c.op.name, ": the labels must be class numbers (int32 or int64), got ",
         c.dtype(0));
  if (c.shape(0) != rows_of(c.shape(1)))
    fail(ErrorCode::shape_mismatch, c.op.name,
         ": the labels must have the shape of the logits without the last axis: ", "labels ", c.shape(0), ", logits ",
         c.shape(1));
}

void check_dense(const InferContext& c) {
  check_logits(c, c.shape(1));
  if (c.shape(0) != c.shape(1))
    fail(ErrorCode::shape_mismatch, c.op.name, ": labels ", c.shape(0), " and logits ", c.shape(1),
         " must have one shape");
}

void check_row_grad(const InferContext& c) {
  if (c.shape(2) != rows_of(c.shape(1)))
    fail(ErrorCode::shape_mismatch, c.op.name, ": the gradient needs one value a row, got ", c.shape(2));
}

/// A value a row, as a column that broadcasts against [..., classes].
Tensor column(const Tensor& rows) { return expand_dims(rows, -1); }

/// The product of softmax's Jacobian, at its answer s, with v.
Tensor softmax_product(const Tensor& s, const Tensor& v, std::int64_t axis = -1) {
  return apply(softmax_grad_op, {s, v}, make_attrs(softmax_grad_op, axis));
}

Tensor sum_along(const Tensor& x, std::int64_t axis) { return reduce_sum(x, {axis}, true); }

Specs infer_softmax_grad(const InferContext& c) {
  if (c.shape(0) != c.shape(1))
    fail(ErrorCode::shape_mismatch, c.op.name, ": a result ", c.shape(0), " and its gradient ", c.shape(1),
         " must have one shape");
  return infer_softmax(c);
}

}  // namespace

const OpDef softmax_op{
    .name = "softmax",
    .doc = "exp(x) / sum(exp(x)) along an axis.",
    .inputs = {"logits"},
    .attrs = {kAxis},
    .dtypes = kFloating,
    .infer = infer_softmax,
    .grad =
        [](GradContext& g) { return Tensors{softmax_product(g.output(), g.output_grad(), g.attrs().integer("axis"))}; },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef log_softmax_op{
    .name = "log_softmax",
    .doc = "x - log(sum(exp(x))) along an axis.",
    .inputs = {"logits"},
    .attrs = {kAxis},
    .dtypes = kFloating,
    .infer = infer_softmax,
    .grad =
        [](GradContext& g) {
          return Tensors{apply(log_softmax_grad_op, {g.output(), g.output_grad()},
                               make_attrs(log_softmax_grad_op, g.attrs().integer("axis")))};
        },
    .grad_reads = {.outputs = 1},
    .flops_per_element = 20,
};

const OpDef softmax_grad_op{
    .name = "softmax_grad",
    .doc = "(grad - sum(grad * softmax)) * softmax along an axis: the gradient of softmax, from its result.",
    .inputs = {"softmax", "grad"},
    .attrs = {kAxis},
    .dtypes = kFloating,
    .infer = infer_softmax_grad,
    .grad =
        [](GradContext& g) {
          const Tensor &s = g.input(0), &v = g.input(1), &w = g.output_grad();
          const std::int64_t axis = g.attrs().integer("axis");
          return Tensors{
              when(g.wants(0), [&] { return w * (v - sum_along(v * s, axis)) - v * sum_along(w * s, axis); }),
              when(g.wants(1), [&] { return softmax_product(s, w, axis); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 4,
};

const OpDef log_softmax_grad_op{
    .name = "log_softmax_grad",
    .doc = "grad - exp(log_softmax) * sum(grad) along an axis: the gradient of log_softmax, from its result.",
    .inputs = {"log_softmax", "grad"},
    .attrs = {kAxis},
    .dtypes = kFloating,
    .infer = infer_softmax_grad,
    .grad =
        [](GradContext& g) {
          const Tensor &v = g.input(1), &w = g.output_grad();
          const Tensor part = w * exp(g.input(0));
          const std::int64_t axis = g.attrs().integer("axis");
          return Tensors{when(g.wants(0), [&] { return -(part * sum_along(v, axis)); }),
                         when(g.wants(1), [&] { return w - sum_along(part, axis); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 12,
};

const OpDef sparse_softmax_cross_entropy_op{
    .name = "sparse_softmax_cross_entropy_with_logits",
    .doc = "log(sum(exp(logits))) - logits[label], a row.",
    .inputs = {"labels", "logits"},
    .dtypes = kFloating,
    .free_dtypes = 0b01,
    .infer =
        [](const InferContext& c) {
          check_sparse(c);
          return Specs{{c.dtype(1), rows_of(c.shape(1))}};
        },
    .grad =
        [](GradContext& g) {
          return Tensors{Tensor(),
                         apply(sparse_softmax_cross_entropy_grad_op, {g.input(0), g.input(1), g.output_grad()})};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 20,
};

const OpDef sparse_softmax_cross_entropy_grad_op{
    .name = "sparse_softmax_cross_entropy_grad",
    .doc = "(softmax(logits) - one_hot(labels)) * grad: the gradient of the loss of that name.",
    .inputs = {"labels", "logits", "grad"},
    .dtypes = kFloating,
    .free_dtypes = 0b001,
    .infer =
        [](const InferContext& c) {
          check_sparse(c);
          check_row_grad(c);
          return Specs{c.input(1)};
        },
    .grad =
        [](GradContext& g) {
          const Tensor s = softmax(g.input(1));
          const Tensor& v = g.output_grad();
          return Tensors{Tensor(), when(g.wants(1), [&] { return softmax_product(s, v * column(g.input(2))); }),
                         when(g.wants(2), [&] {
                           const Tensor hot = one_hot(g.input(0), g.shape(1)[-1], 1, 0, -1, s.dtype());
                           return reduce_sum(v * (s - hot), {-1});
                         })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 20,
};

const OpDef softmax_cross_entropy_op{
    .name = "softmax_cross_entropy_with_logits",
    .doc = "-sum(labels * log_softmax(logits)), a row.",
    .inputs = {"labels", "logits"},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          check_dense(c);
          return Specs{{c.dtype(1), rows_of(c.shape(1))}};
        },
    .grad =
        [](GradContext& g) {
          const Tensor& dy = g.output_grad();
          return Tensors{
              when(g.wants(0), [&] { return -(log_softmax(g.input(1)) * column(dy)); }),
              when(g.wants(1), [&] { return apply(softmax_cross_entropy_grad_op, {g.input(0), g.input(1), dy}); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops_per_element = 22,
};

const OpDef softmax_cross_entropy_grad_op{
    .name = "softmax_cross_entropy_grad",
    .doc =
        "(softmax(logits) - labels) * grad: the gradient of the loss of that name for labels that add up to 1, as "
        "TensorFlow answers for all.",
    .inputs = {"labels", "logits", "grad"},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          check_dense(c);
          check_row_grad(c);
          return Specs{c.input(1)};
        },
    .grad =
        [](GradContext& g) {
          const Tensor s = softmax(g.input(1));
          const Tensor& v = g.output_grad();
          const Tensor& labels = g.input(0);
          const Tensor dy = column(g.input(2));
          return Tensors{when(g.wants(0), [&] { return -(v * dy); }),
                         when(g.wants(1), [&] { return softmax_product(s, v * dy); }),
                         when(g.wants(2), [&] { return reduce_sum(v * (s - labels), {-1}); })};
        },
    .grad_reads = {.inputs = 0b111},
    .flops_per_element = 22,
};

OpGroup loss_ops() {
  static constexpr const OpDef* kOps[] = {&softmax_op,
                                          &log_softmax_op,
                                          &softmax_grad_op,
                                          &log_softmax_grad_op,
                                          &sparse_softmax_cross_entropy_op,
                                          &sparse_softmax_cross_entropy_grad_op,
                                          &softmax_cross_entropy_op,
                                          &softmax_cross_entropy_grad_op};
  return kOps;
}

Tensor softmax(const Tensor& logits, std::int64_t axis) {
  return apply(softmax_op, {logits}, make_attrs(softmax_op, axis));
}
Tensor log_softmax(const Tensor& logits, std::int64_t axis) {
  return apply(log_softmax_op, {logits}, make_attrs(log_softmax_op, axis));
}
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return apply(sparse_softmax_cross_entropy_op, {labels, logits});
}
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return apply(softmax_cross_entropy_op, {labels, logits});
}

}  // namespace tandem
