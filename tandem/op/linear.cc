// Matrix products and biases.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

using namespace expr;

constexpr DTypeSet kMatrix = kFloating | DTypeSet{DType::i32, DType::i64};

/// Leading axes of a matrix operand.
Shape batch_shape(const Shape& shape) { return Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 2))); }

Specs infer_matmul(const InferContext& c) {
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  if (a.rank() < 2 || b.rank() < 2)
    fail(ErrorCode::shape_mismatch, "matmul: both sides need at least two axes, got ", a, " and ", b,
         "; reshape a vector to [1, n] or [n, 1]");
  const bool ta = c.attrs.boolean("transpose_a"), tb = c.attrs.boolean("transpose_b");
  const std::int64_t m = a[ta ? -1 : -2], k = a[ta ? -2 : -1], k2 = b[tb ? -1 : -2], n = b[tb ? -2 : -1];
  if (k != k2)
    fail(ErrorCode::shape_mismatch, "matmul: inner sizes differ: lhs ", a, ta ? " transposed" : "", " has ", k,
         " columns, rhs ", b, tb ? " transposed" : "", " has ", k2, " rows",
         k == n ? text("; transpose_b=", tb ? "false" : "true", " would fit") : std::string());
  const Shape batch = broadcast_shapes("matmul", batch_shape(a), batch_shape(b));
  std::vector<std::int64_t> sizes(batch.begin(), batch.end());
  sizes.push_back(m);
  sizes.push_back(n);
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

Tensors matmul_grad(GradContext& g) {
  const bool ta = g.attrs().boolean("transpose_a"), tb = g.attrs().boolean("transpose_b");
  const Tensor& dy = g.output_grad();
  return {when(g.wants(0),
               [&] {
                 const Tensor& b = g.input(1);
                 return unbroadcast(ta ? matmul(b, dy, tb, true) : matmul(dy, b, false, !tb), g.shape(0));
               }),
          when(g.wants(1), [&] {
            const Tensor& a = g.input(0);
            return unbroadcast(tb ? matmul(dy, a, true, ta) : matmul(a, dy, !ta, false), g.shape(1));
          })};
}

Specs infer_bias(const InferContext& c) {
  const Shape& value = c.shape(0);
  const Shape& bias = c.shape(1);
  if (value.rank() < 1 || bias.rank() != 1 || bias[0] != value[-1])
    fail(ErrorCode::shape_mismatch,
         "bias_add: the bias must have one axis as long as the last of the value, got value ", value, " and bias ",
         bias);
  return {c.input(0)};
}

const OpDef bias_add_op{
    .name = "bias_add",
    .doc = "value + bias, the bias along the last axis.",
    .inputs = {"value", "bias"},
    .infer = infer_bias,
    .scalar = formula([](auto value, auto bias) { return value + bias; }),
    .grad =
        [](GradContext& g) {
          return Tensors{g.output_grad(), when(g.wants(1), [&] { return unbroadcast(g.output_grad(), g.shape(1)); })};
        },
};

}  // namespace

const OpDef matmul_op{
    .name = "matmul",
    .doc = "The matrix product of the last two axes; leading axes broadcast.",
    .inputs = {"a", "b"},
    .attrs = {{.name = "transpose_a", .kind = AttrKind::boolean, .default_value = "False"},
              {.name = "transpose_b", .kind = AttrKind::boolean, .default_value = "False"}},
    .dtypes = kMatrix,
    .infer = infer_matmul,
    .grad = matmul_grad,
    .grad_reads = {.inputs = 0b11},
    .flops =
        [](const InferContext& c) {
          const Specs out = infer_matmul(c);
          const std::int64_t k = c.shape(0)[c.attrs.boolean("transpose_a") ? -2 : -1];
          return 2.0 * static_cast<double>(out[0].shape().elements()) * static_cast<double>(k);
        },
};

OpGroup linear_ops() {
  static constexpr const OpDef* kOps[] = {&matmul_op, &bias_add_op};
  return kOps;
}

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  return apply(matmul_op, {a, b}, make_attrs(matmul_op, transpose_a, transpose_b));
}
Tensor bias_add(const Tensor& value, const Tensor& bias) { return apply(bias_add_op, {value, bias}); }

}  // namespace tandem
