// Attention as one op: no matrix of scores is kept between forward and backward.
#include <cmath>

#include "tandem/op/network_ops.h"
#include "tandem/op/network_records.h"
#include "tandem/op/open_size.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr AttrDef kScale{.name = "scale", .kind = AttrKind::real, .default_value = "1"};
constexpr AttrDef kCausal{.name = "is_causal", .kind = AttrKind::boolean, .default_value = "False"};

/// query [batch, targets, heads, size], key [batch, sources, heads, size], value [batch, sources, heads, depth],
/// bias that broadcasts to [batch, heads, targets, sources]: inputs `first`, … of the op.
void check_attention(const InferContext& c, int first) {
  const Shape &q = c.shape(first), &k = c.shape(first + 1), &v = c.shape(first + 2), &bias = c.shape(first + 3);
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": query, key and value must be [batch, length, heads, size], got ", q,
         ", ", k, " and ", v);
  if (q[0] != k[0] || q[2] != k[2] || q[3] != k[3])
    fail(ErrorCode::shape_mismatch, c.op.name, ": query ", q, " and key ", k, " must agree in batch, heads and size");
  if (k[0] != v[0] || k[1] != v[1] || k[2] != v[2])
    fail(ErrorCode::shape_mismatch, c.op.name, ": key ", k, " and value ", v, " must agree in batch, length and heads");
  if (k[1] == 0) fail(ErrorCode::invalid_shape, c.op.name, ": there is nothing to attend to: key ", k, " has length 0");
  const Shape scores{q[0], q[2], q[1], k[1]};
  bool fits = bias.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = bias[i] == 1 || bias[i] == scores[i];
  if (!fits)
    fail(ErrorCode::shape_mismatch, c.op.name,
         ": the bias must broadcast to [batch, heads, targets, sources] = ", scores, ", each size that or 1; got ",
         bias);
}

Shape row_shape(const Shape& query) { return {query[0], query[2], query[1]}; }

double attention_flops(const Shape& q, const Shape& v) {
  return 2.0 * static_cast<double>(q[0] * q[1] * q[2] * v[1]) * static_cast<double>(q[3] + v[3]);
}

/// [batch, length, heads, size] and [batch, heads, length, size], from one to the other.
Tensor heads_first(const Tensor& x) { return transpose(x, {0, 2, 1, 3}); }

/// The shares [batch, heads, targets, sources] that the values get, in ops.
Tensor shares(const AttrView& attrs, const Tensor& query, const Tensor& key, const Tensor& bias) {
  Tensor scores = matmul(heads_first(query), heads_first(key), false, true) * attrs.real("scale") + bias;
  if (attrs.boolean("is_causal")) {
    const auto steps = [](std::int64_t n) { return range(0, static_cast<double>(n)); };
    const Tensor seen = less_equal(expand_dims(steps(key.shape()[1]), 0), expand_dims(steps(query.shape()[1]), 1));
    scores = where(seen, scores, scalar_like(scores, -INFINITY));
  }
  return softmax(scores);
}

/// The gradient of the bias, which few need: from the scores, made again.
Tensor bias_grad(GradContext& g) {
  const Tensor dy = heads_first(g.output_grad(0)), y = heads_first(g.output(0)), v = heads_first(g.input(2));
  const Tensor change = matmul(dy, v, false, true) - reduce_sum(dy * y, {-1}, true);
  return unbroadcast(shares(g.attrs(), g.input(0), g.input(1), g.input(3)) * change, g.shape(3));
}

Tensors attention_second_gradient(GradContext& g) {
  const auto forward = [&](const Tensors& in) {
    return Tensors{heads_first(matmul(shares(g.attrs(), in[0], in[1], in[3]), heads_first(in[2])))};
  };
  return second_gradients(g, {.forward = forward, .output_grads = {0}, .inputs = {1, 2, 3, 4}});
}

Tensors attention_gradient(GradContext& g) {
  const TensorRef inputs[] = {g.output_grad(0), g.input(0),  g.input(1), g.input(2),
                              g.input(3),       g.output(0), g.output(1)};
  Tensors grads(3);
  if (g.wants(0) || g.wants(1) || g.wants(2))
    grads =
        apply_all(dot_product_attention_grad_op, inputs,
                  make_attrs(dot_product_attention_grad_op, g.attrs().real("scale"), g.attrs().boolean("is_causal")));
  grads.push_back(when(g.wants(3), [&] { return bias_grad(g); }));
  return grads;
}

}  // namespace

const OpDef dot_product_attention_op{
    .name = "dot_product_attention",
    .doc = "softmax(query key^T * scale + bias) value for each head, and the logarithm of the softmax's sums.",
    .inputs = {"query", "key", "value", "bias"},
    .attrs = {kScale, kCausal},
    .dtypes = kFloating,
    .outputs = 2,
    .infer =
        [](const InferContext& c) {
          check_attention(c, 0);
          const Shape& q = c.shape(0);
          return Specs{{c.dtype(0), {q[0], q[1], q[2], c.shape(2)[3]}}, {c.dtype(0), row_shape(q)}};
        },
    .grad = attention_gradient,
    .grad_reads = {.inputs = 0b1111, .outputs = 0b11},
    .flops = [](const InferContext& c) { return attention_flops(c.shape(0), c.shape(2)); },
};

const OpDef dot_product_attention_grad_op{
    .name = "dot_product_attention_grad",
    .doc = "The gradients of dot_product_attention by query, key and value.",
    .inputs = {"grad", "query", "key", "value", "bias", "output", "log_sums"},
    .attrs = {kScale, kCausal},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_attention(c, 1);
          const Shape& q = c.shape(1);
          const Shape output{q[0], q[1], q[2], c.shape(3)[3]};
          check_grad_shape(c, output, c.shape(0));
          check_grad_shape(c, output, c.shape(5));
          check_grad_shape(c, row_shape(q), c.shape(6));
          return Specs{c.input(1), c.input(2), c.input(3)};
        },
    .grad = attention_second_gradient,
    .grad_reads = {.inputs = 0b11111},
    .flops = [](const InferContext& c) { return 2.5 * attention_flops(c.shape(1), c.shape(3)); },
};

OpGroup attention_ops() {
  static constexpr const OpDef* kOps[] = {&dot_product_attention_op, &dot_product_attention_grad_op};
  return kOps;
}

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& o) {
  if (query.rank() == 4 && !(o.scale > 0)) require_known("the scale of attention", query.shape()[3]);
  const double size = query.rank() == 4 ? static_cast<double>(query.shape()[3]) : 1;
  const double scale = o.scale > 0 ? o.scale : 1 / std::sqrt(std::max(size, 1.0));
  // A bias of one number costs nothing.
  const Tensor bias = o.bias.defined() ? o.bias : zeros({1, 1, 1, 1}, query.dtype());
  const TensorRef inputs[] = {query, key, value, bias};
  return apply_all(dot_product_attention_op, inputs, make_attrs(dot_product_attention_op, scale, o.is_causal))[0];
}

}  // namespace tandem
