// Order along the last axis. Equal values keep their order, and a NaN is larger than any number.
#include "tandem/op/array_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

constexpr AttrDef kDirection{
    .name = "direction", .kind = AttrKind::choice, .default_value = "'ascending'", .choices = "ascending|descending"};

void check_rank(const InferContext& c) {
  if (c.shape(0).rank() == 0) fail(ErrorCode::invalid_shape, c.op.name, ": needs at least one axis, got a scalar");
}

double row_length(const InferContext& c) { return static_cast<double>(std::max<std::int64_t>(c.shape(0)[-1], 1)); }

/// Values [..., k] brought back to where they stood in rows of `shape`: places [..., k] are positions in the last axis.
Tensor put_back(const Tensor& values, const Tensor& places, const Shape& shape) {
  const std::int64_t length = shape[-1],
                     rows =
                         length ? product_of_sizes(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 1))) : 0;
  if (rows == 0) return zeros(shape, values.dtype());
  const Tensor first = reshape(range(0, static_cast<double>(rows), 1, DType::i64) * length, Ints{rows, 1});
  const Tensor flat = reshape(cast(places, DType::i64), Ints{rows, -1}) + first;
  const Tensor sum = apply(gather_grad_op, {reshape(values, Ints{-1}), reshape(flat, Ints{-1})},
                           make_attrs(gather_grad_op, Shape{rows * length}, 0, 0));
  return reshape(sum, shape);
}

}  // namespace

const OpDef sort_op{
    .name = "sort",
    .doc = "The values of the last axis in order; NaN is above all.",
    .inputs = {"values"},
    .attrs = {kDirection},
    .infer = [](const InferContext& c) { return check_rank(c), same_as_first(c); },
    .grad =
        [](GradContext& g) {
          const Tensor places = argsort(g.input(), g.attrs().choice("direction") == "descending");
          return Tensors{put_back(g.output_grad(), places, g.shape(0))};
        },
    .grad_reads = {.inputs = 1},
    .flops_per_element = 20,
    .depth = row_length,
};

const OpDef argsort_op{
    .name = "argsort",
    .doc = "The positions in the last axis that bring its values in order; equal values keep theirs.",
    .inputs = {"values"},
    .attrs = {kDirection},
    .infer = [](const InferContext& c) { return check_rank(c), Specs{{DType::i32, c.shape(0)}}; },
    .flops_per_element = 20,
    .depth = row_length,
};

const OpDef top_k_op{
    .name = "top_k",
    .doc = "The k largest values of the last axis, largest first, and where they stand; of equal ones the first.",
    .inputs = {"input"},
    .attrs = {{.name = "k", .default_value = "1"}},
    .outputs = 2,
    .infer =
        [](const InferContext& c) {
          check_rank(c);
          const std::int64_t k = c.attrs.integer("k");
          if (k < 0 || k > c.shape(0)[-1])
            fail(ErrorCode::invalid_argument, "top_k: k must lie between 0 and the last axis of ", c.shape(0), ", got ",
                 k);
          Ints sizes(c.shape(0).begin(), c.shape(0).end());
          sizes.back() = k;
          const Shape shape{std::span<const std::int64_t>(sizes)};
          return Specs{{c.dtype(0), shape}, {DType::i32, shape}};
        },
    .grad = [](GradContext& g) { return Tensors{put_back(g.output_grad(0), g.output(1), g.shape(0))}; },
    .grad_reads = {.outputs = 0b10},
    .flops_per_element = 10,
    .depth = row_length,
};

const OpDef searchsorted_op{
    .name = "searchsorted",
    .doc = "Where in the sorted rows each value would stand: before equal ones (side left) or after them.",
    .inputs = {"sorted_sequence", "values"},
    .attrs = {{.name = "side", .kind = AttrKind::choice, .default_value = "'left'", .choices = "left|right"},
              {.name = "out_type", .kind = AttrKind::dtype, .default_value = "int32"}},
    .infer =
        [](const InferContext& c) {
          const Shape &rows = c.shape(0), &values = c.shape(1);
          bool fits = rows.rank() >= 1 && rows.rank() == values.rank();
          for (int i = 0; fits && i + 1 < rows.rank(); ++i) fits = rows[i] == values[i];
          if (!fits)
            fail(ErrorCode::shape_mismatch, "searchsorted: sorted_sequence ", rows, " and values ", values,
                 " must have one rank, at least 1, and differ in the last axis only");
          const DType type = c.attrs.dtype("out_type");
          if (type != DType::i32 && type != DType::i64)
            fail(ErrorCode::unsupported_dtype, "searchsorted: out_type must be int32 or int64, got ", type);
          return Specs{{type, values}};
        },
    .flops_per_element = 20,
};

OpGroup sorting_ops() {
  static constexpr const OpDef* kOps[] = {&sort_op, &argsort_op, &top_k_op, &searchsorted_op};
  return kOps;
}

Tensor sort(const Tensor& values, bool descending) {
  return apply(sort_op, {values}, make_attrs(sort_op, descending ? "descending" : "ascending"));
}
Tensor argsort(const Tensor& values, bool descending) {
  return apply(argsort_op, {values}, make_attrs(argsort_op, descending ? "descending" : "ascending"));
}
TopK top_k(const Tensor& input, std::int64_t k) {
  const TensorRef refs[] = {input};
  const Tensors both = apply_all(top_k_op, refs, make_attrs(top_k_op, k));
  return {both[0], both[1]};
}
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool right, DType out_type) {
  return apply(searchsorted_op, {sorted_sequence, values},
               make_attrs(searchsorted_op, right ? "right" : "left", out_type));
}

}  // namespace tandem
