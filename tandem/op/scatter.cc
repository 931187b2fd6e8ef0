// Slices with steps, and elements picked and put by positions in several axes.
#include "tandem/op/array_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/groups.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

/// `begin` is an argument of the kernel, which checks it on every call; sizes and strides are known here.
Specs infer_strided_slice(const InferContext& c) {
  const auto begin = c.attrs.ints("begin"), size = c.attrs.ints("size"), strides = c.attrs.ints("strides");
  const auto rank = static_cast<std::size_t>(c.shape(0).rank());
  if (begin.size() != rank || size.size() != rank || strides.size() != rank)
    fail(ErrorCode::invalid_argument, "strided_slice: begin, size and strides need one number an axis, ", rank, " for ",
         c.shape(0), ", got ", begin.size(), ", ", size.size(), " and ", strides.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t n = c.shape(0)[static_cast<int>(i)];
    if (strides[i] == 0)
      fail(ErrorCode::invalid_argument, "strided_slice: a stride of 0 in axis ", i, " leads nowhere");
    // Compared without products, which could overflow.
    const std::int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
    if (size[i] < 0 || step < 0 || (size[i] > 1 && (size[i] - 1 > (n - 1) / step)) || size[i] > n)
      fail(ErrorCode::index_out_of_range, "strided_slice: ", size[i], " elements ", strides[i],
           " apart do not fit axis ", i, " of ", c.shape(0));
  }
  return {{c.dtype(0), Shape(size)}};
}

Specs infer_strided_slice_grad(const InferContext& c) {
  const Shape shape(c.attrs.ints("shape"));
  const auto rank = static_cast<std::size_t>(shape.rank());
  if (c.shape(0).rank() != shape.rank() || c.attrs.ints("begin").size() != rank ||
      c.attrs.ints("strides").size() != rank)
    fail(ErrorCode::shape_mismatch, "strided_slice_grad: gradient ", c.shape(0), " does not fit a slice of ", shape);
  return {{c.dtype(0), shape}};
}

Ints list(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

/// How many axes the positions name.
int depth_of(const InferContext& c, int indices, int rank) {
  if (c.dtype(indices) != DType::i32 && c.dtype(indices) != DType::i64)
    fail(ErrorCode::unsupported_dtype, c.op.name, ": indices must be int32 or int64, got ", c.dtype(indices));
  const Shape& shape = c.shape(indices);
  if (shape.rank() == 0)
    fail(ErrorCode::invalid_shape, c.op.name, ": indices must have at least one axis, got a scalar");
  if (shape[-1] > rank)
    fail(ErrorCode::shape_mismatch, c.op.name, ": indices ", shape, " name ", shape[-1], " axes, the tensor has ",
         rank);
  return static_cast<int>(shape[-1]);
}

/// indices [i..., k] and a tensor [d1..., dk, inner...]: [i..., inner...].
Shape picked_shape(const Shape& indices, const Shape& tensor, int depth) {
  Ints sizes(indices.begin(), indices.end() - 1);
  sizes.insert(sizes.end(), tensor.begin() + depth, tensor.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

void check_updates(const InferContext& c, const Shape& tensor, int indices, int updates) {
  const Shape wanted = picked_shape(c.shape(indices), tensor, depth_of(c, indices, tensor.rank()));
  if (c.shape(updates) != wanted)
    fail(ErrorCode::shape_mismatch, c.op.name, ": updates must be ", wanted, " for a tensor ", tensor, " and indices ",
         c.shape(indices), ", got ", c.shape(updates));
}

Specs infer_scatter_nd(const InferContext& c) {
  const Shape shape(c.attrs.ints("shape"));
  check_updates(c, shape, 0, 1);
  return {{c.dtype(1), shape}};
}

Specs infer_tensor_scatter(const InferContext& c) {
  check_updates(c, c.shape(0), 1, 2);
  return same_as_first(c);
}

double updates_depth(const InferContext& c) { return static_cast<double>(c.shape(c.count() - 2).elements()); }

/// Where an update won or tied, the gradient is split between the tensor and the updates that have the result's value.
Tensors extreme_grad(GradContext& g) {
  const Tensor& indices = g.input(1);
  const DType dtype = g.input(0).dtype();
  const Tensor kept = cast(equal(g.input(0), g.output()), dtype);
  const Tensor chosen = cast(equal(g.input(2), gather_nd(g.output(), indices)), dtype);
  const Tensor count = tensor_scatter_nd_add(kept, indices, chosen);
  const Tensor share = g.output_grad() / count;
  return {kept * share, Tensor(), chosen * gather_nd(share, indices)};
}

}  // namespace

const OpDef strided_slice_op{
    .name = "strided_slice",
    .doc = "`size` elements an axis from `begin` on, `strides` apart; strides may be negative.",
    .inputs = {"input_"},
    .attrs = {{.name = "begin", .kind = AttrKind::ints, .at_run_time = true},
              {.name = "size", .kind = AttrKind::ints},
              {.name = "strides", .kind = AttrKind::ints}},
    .dtypes = kFixedSize,
    .infer = infer_strided_slice,
    .grad =
        [](GradContext& g) {
          const AttrView attrs = g.attrs();
          if (g.output_grad().shape() ==
              g.shape(0))  // nothing was left out: axes turned round, which turning them again undoes
            return Tensors{strided_slice(g.output_grad(), list(attrs.ints("begin")), list(attrs.ints("size")),
                                         list(attrs.ints("strides")))};
          return Tensors{apply(
              strided_slice_grad_op, {g.output_grad()},
              make_attrs(strided_slice_grad_op, g.shape(0), list(attrs.ints("begin")), list(attrs.ints("strides"))))};
        },
    .flops_per_element = 0,
};

const OpDef strided_slice_grad_op{
    .name = "strided_slice_grad",
    .doc = "The gradient of strided_slice: each element where it was taken from, zeros elsewhere.",
    .inputs = {"grad"},
    .attrs = {{.name = "shape", .kind = AttrKind::ints},
              {.name = "begin", .kind = AttrKind::ints, .at_run_time = true},
              {.name = "strides", .kind = AttrKind::ints}},
    .dtypes = kFixedSize,
    .infer = infer_strided_slice_grad,
    .grad =
        [](GradContext& g) {
          const AttrView attrs = g.attrs();
          return Tensors{strided_slice(g.output_grad(), list(attrs.ints("begin")),
                                       Ints(g.shape(0).begin(), g.shape(0).end()), list(attrs.ints("strides")))};
        },
    .flops_per_element = 0,
};

const OpDef gather_nd_op{
    .name = "gather_nd",
    .doc = "Elements or slices of params, by their positions in its first axes.",
    .inputs = {"params", "indices"},
    .dtypes = kFixedSize,
    .free_dtypes = 0b10,
    .infer =
        [](const InferContext& c) {
          return Specs{{c.dtype(0), picked_shape(c.shape(1), c.shape(0), depth_of(c, 1, c.shape(0).rank()))}};
        },
    .grad = [](GradContext& g) { return Tensors{scatter_nd(g.input(1), g.output_grad(), g.shape(0)), Tensor()}; },
    .grad_reads = {.inputs = 0b10},
    .flops_per_element = 0,
};

const OpDef scatter_nd_op{
    .name = "scatter_nd",
    .doc = "A tensor of zeros with the updates added at their positions.",
    .inputs = {"indices", "updates"},
    .attrs = {{.name = "shape", .kind = AttrKind::ints}},
    .free_dtypes = 0b01,
    .infer = infer_scatter_nd,
    .grad = [](GradContext& g) { return Tensors{Tensor(), gather_nd(g.output_grad(), g.input(0))}; },
    .grad_reads = {.inputs = 0b01},
    .depth = updates_depth,
};

const OpDef tensor_scatter_nd_update_op{
    .name = "tensor_scatter_nd_update",
    .doc = "The tensor with the updates at their positions; of several at one position the last stays.",
    .inputs = {"tensor", "indices", "updates"},
    .dtypes = kFixedSize,
    .free_dtypes = 0b010,
    .infer = infer_tensor_scatter,
    .grad =
        [](GradContext& g) {
      // The rows first: then a loop may set them to zero where they are.
          const Tensor& indices = g.input(1);
          const Tensor rows = gather_nd(g.output_grad(), indices);
          return Tensors{
              when(g.wants(0), [&] { return tensor_scatter_nd_update(g.output_grad(), indices, zeros_like(rows)); }),
              Tensor(), rows};
        },
    .grad_reads = {.inputs = 0b010},
    .flops_per_element = 0,
    .depth = updates_depth,
};

const OpDef tensor_scatter_nd_add_op{
    .name = "tensor_scatter_nd_add",
    .doc = "The tensor with the updates added at their positions.",
    .inputs = {"tensor", "indices", "updates"},
    .free_dtypes = 0b010,
    .infer = infer_tensor_scatter,
    .grad =
        [](GradContext& g) {
          return Tensors{g.output_grad(), Tensor(),
                         when(g.wants(2), [&] { return gather_nd(g.output_grad(), g.input(1)); })};
        },
    .grad_reads = {.inputs = 0b010},
    .depth = updates_depth,
};

const OpDef tensor_scatter_nd_sub_op{
    .name = "tensor_scatter_nd_sub",
    .doc = "The tensor with the updates taken off at their positions.",
    .inputs = {"tensor", "indices", "updates"},
    .free_dtypes = 0b010,
    .infer = infer_tensor_scatter,
    .grad =
        [](GradContext& g) {
          return Tensors{g.output_grad(), Tensor(),
                         when(g.wants(2), [&] { return -gather_nd(g.output_grad(), g.input(1)); })};
        },
    .grad_reads = {.inputs = 0b010},
    .depth = updates_depth,
};

const OpDef tensor_scatter_nd_min_op{
    .name = "tensor_scatter_nd_min",
    .doc = "The tensor, or the update where that is smaller, at the updates' positions.",
    .inputs = {"tensor", "indices", "updates"},
    .free_dtypes = 0b010,
    .infer = infer_tensor_scatter,
    .grad = extreme_grad,
    .grad_reads = {.inputs = 0b111, .outputs = 1},
    .depth = updates_depth,
};

const OpDef tensor_scatter_nd_max_op{
    .name = "tensor_scatter_nd_max",
    .doc = "The tensor, or the update where that is larger, at the updates' positions.",
    .inputs = {"tensor", "indices", "updates"},
    .free_dtypes = 0b010,
    .infer = infer_tensor_scatter,
    .grad = extreme_grad,
    .grad_reads = {.inputs = 0b111, .outputs = 1},
    .depth = updates_depth,
};

const OpDef where_indices_op{
    .name = "where_indices",
    .doc = "The first `count` positions at which the condition holds, in order; where(condition) counts them first.",
    .inputs = {"condition"},
    .attrs = {{.name = "count"}},
    .dtypes = {DType::boolean},
    .infer =
        [](const InferContext& c) {
          const std::int64_t count = c.attrs.integer("count");
          if (count < 0 || count > c.shape(0).elements())
            fail(ErrorCode::invalid_argument, "where_indices: ", count, " positions cannot be found in ", c.shape(0));
          return Specs{{DType::i64, Shape{count, c.shape(0).rank()}}};
        },
    .data_dependent_shape = true,
    .depth = [](const InferContext& c) { return static_cast<double>(c.shape(0).elements()); },
};

OpGroup scatter_ops() {
  static constexpr const OpDef* kOps[] = {&strided_slice_op,
                                          &strided_slice_grad_op,
                                          &gather_nd_op,
                                          &scatter_nd_op,
                                          &tensor_scatter_nd_update_op,
                                          &tensor_scatter_nd_add_op,
                                          &tensor_scatter_nd_sub_op,
                                          &tensor_scatter_nd_min_op,
                                          &tensor_scatter_nd_max_op,
                                          &where_indices_op};
  return kOps;
}

Tensor strided_slice(const Tensor& x, const Ints& begin, const Ints& size, const Ints& strides) {
  return apply(strided_slice_op, {x}, make_attrs(strided_slice_op, begin, size, strides));
}

Tensor reverse(const Tensor& x, const Ints& axes) {
  Ints begin(static_cast<std::size_t>(x.rank()), 0), strides(begin.size(), 1);
  const AxisSet turned = axes.empty() ? AxisSet{} : reduced_axes("reverse", axes, x.rank());
  for (int i = 0; i < x.rank(); ++i)
    if (turned.contains(i) && x.shape()[i] > 0) {
      begin[static_cast<std::size_t>(i)] = x.shape()[i] - 1;
      strides[static_cast<std::size_t>(i)] = -1;
    }
  return strided_slice(x, begin, Ints(x.shape().begin(), x.shape().end()), strides);
}

Tensor gather_nd(const Tensor& params, const Tensor& indices) { return apply(gather_nd_op, {params, indices}); }
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  return apply(scatter_nd_op, {indices, updates}, make_attrs(scatter_nd_op, shape));
}
Tensor tensor_scatter_nd_update(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return apply(tensor_scatter_nd_update_op, {tensor, indices, updates});
}
Tensor tensor_scatter_nd_add(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return apply(tensor_scatter_nd_add_op, {tensor, indices, updates});
}
Tensor tensor_scatter_nd_sub(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return apply(tensor_scatter_nd_sub_op, {tensor, indices, updates});
}
Tensor tensor_scatter_nd_min(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return apply(tensor_scatter_nd_min_op, {tensor, indices, updates});
}
Tensor tensor_scatter_nd_max(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return apply(tensor_scatter_nd_max_op, {tensor, indices, updates});
}

Tensor where(const Tensor& condition) {
  const Tensor holds = cast(condition, DType::boolean);
  const auto count = reduce_sum(cast(holds, DType::i64)).item<std::int64_t>();
  return apply(where_indices_op, {holds}, make_attrs(where_indices_op, count));
}

Tensor boolean_mask(const Tensor& tensor, const Tensor& mask) {
  bool fits = mask.rank() >= 1 && mask.rank() <= tensor.rank();
  for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.shape()[i] == tensor.shape()[i];
  if (!fits)
    fail(ErrorCode::shape_mismatch, "boolean_mask: the mask ", mask.shape(), " must have at least one axis and be how ",
         tensor.shape(), " begins");
  return gather_nd(tensor, where(mask));
}

}  // namespace tandem
