// Running sums and products, and sums of segments.
#include <algorithm>

#include "tandem/op/array_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

Specs infer_scan(const InferContext& c) {
  normalize_axis(c.op.name, c.attrs.integer("axis"), c.shape(0).rank());
  return same_as_first(c);
}

double scan_depth(const InferContext& c) {
  return static_cast<double>(c.shape(0)[normalize_axis(c.op.name, c.attrs.integer("axis"), c.shape(0).rank())]);
}

constexpr FixedList<AttrDef, 8> kScanAttrs{{.name = "axis", .default_value = "0"},
                                           {.name = "exclusive", .kind = AttrKind::boolean, .default_value = "False"},
                                           {.name = "reverse", .kind = AttrKind::boolean, .default_value = "False"}};

/// data [i..., inner...] and segment_ids [i...] give [num_segments, inner...].
Specs infer_segments(const InferContext& c) {
  const Shape &data = c.shape(0), &ids = c.shape(1);
  if (c.dtype(1) != DType::i32 && c.dtype(1) != DType::i64)
    fail(ErrorCode::unsupported_dtype, c.op.name, ": segment_ids must be int32 or int64, got ", c.dtype(1));
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    fail(ErrorCode::shape_mismatch, c.op.name, ": the shape of data ", data, " must begin with that of segment_ids ",
         ids);
  const std::int64_t segments = c.attrs.integer("num_segments");
  if (segments < 0) fail(ErrorCode::invalid_argument, c.op.name, ": num_segments must not be negative, got ", segments);
  Ints sizes{segments};
  sizes.insert(sizes.end(), data.begin() + ids.rank(), data.end());
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

double segment_depth(const InferContext& c) { return static_cast<double>(c.shape(1).elements()); }

constexpr FixedList<AttrDef, 8> kSegmentAttrs{{.name = "num_segments"}};

/// Whether it can be seen, at little cost beside the rows, that every id names a segment.
bool none_dropped(const Tensor& ids, std::int64_t row) {
  constexpr std::int64_t kLongRow = 16;
  if (row < kLongRow || ids.is_symbolic() || !ids.storage().space().is_host()) return false;
  const auto all_named = [](auto values) { return std::ranges::all_of(values, [](auto id) { return id >= 0; }); };
  return ids.dtype() == DType::i32 ? all_named(ids.data<std::int32_t>())
                                   : ids.dtype() == DType::i64 && all_named(ids.data<std::int64_t>());
}

/// Rows of `segments` by number; zeros for rows that were dropped.
Tensor rows_of(const Tensor& segments, const Tensor& ids) {
  if (none_dropped(ids, segments.size() / std::max<std::int64_t>(segments.shape()[0], 1)))
    return gather(segments, ids, 0);
  const Tensor zero = scalar_like(ids, 0);
  const Tensor rows = gather(segments, maximum(ids, zero), 0);
  Ints sizes(ids.shape().begin(), ids.shape().end());
  sizes.resize(static_cast<std::size_t>(rows.rank()), 1);
  return where(reshape(greater_equal(ids, zero), sizes), rows, scalar_like(rows, 0));
}

/// The gradient of the largest and smallest: shared by the elements that are it.
Tensors chosen_grad(GradContext& g, Tensor (*segments_sum)(const Tensor&, const Tensor&, std::int64_t)) {
  const Tensor& ids = g.input(1);
  const Tensor chosen = cast(equal(g.input(0), rows_of(g.output(), ids)), g.input(0).dtype());
  const Tensor count = segments_sum(chosen, ids, g.attrs().integer("num_segments"));
  return {chosen * rows_of(g.output_grad() / maximum(count, 1), ids), Tensor()};
}

/// The product of the others: that of the segment over the element or, at a zero, that of what is not zero.
Tensors segment_prod_grad(GradContext& g) {
  const Tensor &x = g.input(0), &ids = g.input(1), nothing = scalar_like(x, 0);
  const std::int64_t count = g.attrs().integer("num_segments");
  const Tensor is_zero = equal(x, nothing),
               zeros = rows_of(unsorted_segment_sum(cast(is_zero, x.dtype()), ids, count), ids);
  const Tensor not_zero = rows_of(unsorted_segment_prod(where(is_zero, scalar_like(x, 1), x), ids, count), ids);
  const Tensor at_zero = where(greater(zeros, scalar_like(x, 1)), nothing, not_zero);
  return {rows_of(g.output_grad(), ids) * where(is_zero, at_zero, rows_of(g.output(), ids) / x), Tensor()};
}

}  // namespace

const OpDef cumsum_op{
    .name = "cumsum",
    .doc = "The running sum along an axis; exclusive: each element without itself, reverse: from the end.",
    .inputs = {"x"},
    .attrs = kScanAttrs,
    .infer = infer_scan,
    .grad =
        [](GradContext& g) {
          const AttrView attrs = g.attrs();
          return Tensors{cumsum(g.output_grad(), attrs.integer("axis"),
                                {.exclusive = attrs.boolean("exclusive"), .reverse = !attrs.boolean("reverse")})};
        },
    .depth = scan_depth,
};

const OpDef cumprod_op{
    .name = "cumprod",
    .doc = "The running product along an axis; exclusive: each element without itself, reverse: from the end.",
    .inputs = {"x"},
    .attrs = kScanAttrs,
    .infer = infer_scan,
    .grad =
        [](GradContext& g) {
          const AttrView attrs = g.attrs();
          const Tensor sum = cumsum(g.output_grad() * g.output(), attrs.integer("axis"),
                                    {.exclusive = attrs.boolean("exclusive"), .reverse = !attrs.boolean("reverse")});
          return Tensors{divide_no_nan(sum, g.input())};  // 0 at a zero, as in TensorFlow
        },
    .grad_reads = {.inputs = 1, .outputs = 1},
    .domain = {0.4, 1.6},
    .depth = scan_depth,
};

const OpDef unsorted_segment_sum_op{
    .name = "unsorted_segment_sum",
    .doc = "The sum of the rows of each segment; rows with a negative number are dropped.",
    .inputs = {"data", "segment_ids"},
    .attrs = kSegmentAttrs,
    .free_dtypes = 0b10,
    .infer = infer_segments,
    .grad = [](GradContext& g) { return Tensors{rows_of(g.output_grad(), g.input(1)), Tensor()}; },
    .grad_reads = {.inputs = 0b10},
    .depth = segment_depth,
};

const OpDef unsorted_segment_prod_op{
    .name = "unsorted_segment_prod",
    .doc = "The product of the rows of each segment; 1 for an empty one.",
    .inputs = {"data", "segment_ids"},
    .attrs = kSegmentAttrs,
    .free_dtypes = 0b10,
    .infer = infer_segments,
    .grad = segment_prod_grad,
    .grad_reads = {.inputs = 0b11, .outputs = 1},
    .domain = {0.4, 1.6},
    .depth = segment_depth,
};

const OpDef unsorted_segment_max_op{
    .name = "unsorted_segment_max",
    .doc = "The largest of the rows of each segment; the lowest number there is for an empty one.",
    .inputs = {"data", "segment_ids"},
    .attrs = kSegmentAttrs,
    .free_dtypes = 0b10,
    .infer = infer_segments,
    .grad = [](GradContext& g) { return chosen_grad(g, unsorted_segment_sum); },
    .grad_reads = {.inputs = 0b11, .outputs = 1},
    .depth = segment_depth,
};

const OpDef unsorted_segment_min_op{
    .name = "unsorted_segment_min",
    .doc = "The smallest of the rows of each segment; the highest number there is for an empty one.",
    .inputs = {"data", "segment_ids"},
    .attrs = kSegmentAttrs,
    .free_dtypes = 0b10,
    .infer = infer_segments,
    .grad = [](GradContext& g) { return chosen_grad(g, unsorted_segment_sum); },
    .grad_reads = {.inputs = 0b11, .outputs = 1},
    .depth = segment_depth,
};

OpGroup scan_ops() {
  static constexpr const OpDef* kOps[] = {&cumsum_op,
                                          &cumprod_op,
                                          &unsorted_segment_sum_op,
                                          &unsorted_segment_prod_op,
                                          &unsorted_segment_max_op,
                                          &unsorted_segment_min_op};
  return kOps;
}

Tensor cumsum(const Tensor& x, std::int64_t axis, const ScanOptions& options) {
  return apply(cumsum_op, {x}, make_attrs(cumsum_op, axis, options.exclusive, options.reverse));
}
Tensor cumprod(const Tensor& x, std::int64_t axis, const ScanOptions& options) {
  return apply(cumprod_op, {x}, make_attrs(cumprod_op, axis, options.exclusive, options.reverse));
}
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return apply(unsorted_segment_sum_op, {data, segment_ids}, make_attrs(unsorted_segment_sum_op, num_segments));
}
Tensor unsorted_segment_prod(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return apply(unsorted_segment_prod_op, {data, segment_ids}, make_attrs(unsorted_segment_prod_op, num_segments));
}
Tensor unsorted_segment_max(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return apply(unsorted_segment_max_op, {data, segment_ids}, make_attrs(unsorted_segment_max_op, num_segments));
}
Tensor unsorted_segment_min(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return apply(unsorted_segment_min_op, {data, segment_ids}, make_attrs(unsorted_segment_min_op, num_segments));
}

}  // namespace tandem
