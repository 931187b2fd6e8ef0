// Ops that pick elements by position.
#include "tandem/op/arrays.h"
#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

bool is_index(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

void check_indices(const InferContext& c, int input) {
  if (!is_index(c.dtype(input)))
    fail(ErrorCode::unsupported_dtype, c.op.name, ": indices must be int32 or int64, got ", c.dtype(input));
}

/// `begin` is an argument of the kernel, which checks it on every call; the size is known here.
Specs infer_slice(const InferContext& c) {
  const auto size = c.attrs.ints("size");
  const Shape& shape = c.shape(0);
  if (static_cast<int>(size.size()) != shape.rank() || c.attrs.ints("begin").size() != size.size())
    fail(ErrorCode::invalid_argument, "slice: begin and size need one number an axis, ", shape.rank(), " for ", shape,
         ", got ", c.attrs.ints("begin").size(), " and ", size.size());
  for (int i = 0; i < shape.rank(); ++i)
    if (size[i] < 0 || size[i] > shape[i])
      fail(ErrorCode::index_out_of_range, "slice: size ", size[i], " in axis ", i, " is outside ", shape);
  return {{c.dtype(0), Shape(size)}};
}

/// Rows that follow each other are a block: whole but for one axis, and nothing but one element before it.
std::int64_t slice_at(const Shape& whole, const Shape& block, const Attrs& attrs) {
  const auto begin = AttrView(slice_op, attrs).ints("begin");
  std::int64_t at = 0;
  bool cut = false;
  for (int i = 0; i < whole.rank(); ++i) {
    if (begin[i] < 0 || begin[i] + block[i] > whole[i] || (cut && block[i] != whole[i])) return -1;
    at = at * whole[i] + begin[i];
    cut |= block[i] != 1;
  }
  return at;
}

Tensors slice_grad(GradContext& g) {
  const auto begin = g.attrs().ints("begin"), size = g.attrs().ints("size");
  Ints paddings;
  for (int i = 0; i < g.shape(0).rank(); ++i) {
    paddings.push_back(begin[i]);
    paddings.push_back(g.shape(0)[i] - begin[i] - size[i]);
  }
  return {pad(g.output_grad(), paddings)};
}

/// params [b..., a..., n, c...] and indices [b..., i...] give [b..., a..., i..., c...], the b being the batch.
Shape gathered_shape(const InferContext& c, const Shape& params, const Shape& indices) {
  const int axis = normalize_axis(c.op.name, c.attrs.integer("axis"), params.rank());
  const std::int64_t batch = c.attrs.integer("batch_dims");
  const auto fits = [&] {
    if (batch < 0 || batch > axis || batch > indices.rank()) return false;
    for (int i = 0; i < static_cast<int>(batch); ++i)
      if (!is_same_size(params[i], indices[i])) return false;
    return true;
  };
  if (!fits())
    fail(ErrorCode::shape_mismatch, c.op.name,
         ": the first batch_dims axes of params and indices must be the same, and axis must be none of them; got "
         "batch_dims ",
         batch, ", axis ", axis, ", params ", params, " and indices ", indices);
  Ints sizes(params.begin(), params.begin() + axis);
  sizes.insert(sizes.end(), indices.begin() + batch, indices.end());
  sizes.insert(sizes.end(), params.begin() + axis + 1, params.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

}  // namespace

const OpDef slice_op{
    .name = "slice",
    .doc = "A block of `size`, beginning at `begin`.",
    .inputs = {"input_"},
    .attrs = {{.name = "begin", .kind = AttrKind::ints, .at_run_time = true}, {.name = "size", .kind = AttrKind::ints}},
    .dtypes = kFixedSize,
    .infer = infer_slice,
    .grad = slice_grad,
    .flops_per_element = 0,
    .block_at = slice_at,
};

const OpDef gather_op{
    .name = "gather",
    .doc =
        "Slices of params along an axis, in the order of the indices; the first batch_dims axes of both go together.",
    .inputs = {"params", "indices"},
    .attrs = {{.name = "axis", .default_value = "0"}, {.name = "batch_dims", .default_value = "0"}},
    .dtypes = kFixedSize,
    .free_dtypes = 0b10,
    .infer =
        [](const InferContext& c) {
          check_indices(c, 1);
          return Specs{{c.dtype(0), gathered_shape(c, c.shape(0), c.shape(1))}};
        },
    .grad =
        [](GradContext& g) {
          const Attrs attrs =
              make_attrs(gather_grad_op, g.shape(0), g.attrs().integer("axis"), g.attrs().integer("batch_dims"));
          return Tensors{apply(gather_grad_op, {g.output_grad(), g.input(1)}, attrs), Tensor()};
        },
    .grad_reads = {.inputs = 0b10},
    .flops_per_element = 0,
};

const OpDef gather_grad_op{
    .name = "gather_grad",
    .doc = "The gradient of gather: each slice added where it was taken from.",
    .inputs = {"grad", "indices"},
    .attrs = {{.name = "params_shape", .kind = AttrKind::ints},
              {.name = "axis", .default_value = "0"},
              {.name = "batch_dims", .default_value = "0"}},
    .dtypes = kNumeric,
    .free_dtypes = 0b10,
    .infer =
        [](const InferContext& c) {
          check_indices(c, 1);
          const Shape params(c.attrs.ints("params_shape"));
          if (gathered_shape(c, params, c.shape(1)) != c.shape(0))
            fail(ErrorCode::shape_mismatch, "gather_grad: gradient ", c.shape(0), " does not fit params ", params,
                 " and indices ", c.shape(1));
          return Specs{{c.dtype(0), params}};
        },
    .grad =
        [](GradContext& g) {
          return Tensors{
              gather(g.output_grad(), g.input(1), g.attrs().integer("axis"), g.attrs().integer("batch_dims")),
              Tensor()};
        },
    .grad_reads = {.inputs = 0b10},
};

const OpDef one_hot_op{
    .name = "one_hot",
    .doc = "on_value where the new axis' position equals the index, else off_value.",
    .inputs = {"indices"},
    .attrs = {{.name = "depth"},
              {.name = "on_value", .kind = AttrKind::real, .default_value = "1", .at_run_time = true},
              {.name = "off_value", .kind = AttrKind::real, .default_value = "0", .at_run_time = true},
              {.name = "axis", .default_value = "-1"},
              {.name = "dtype", .kind = AttrKind::dtype, .default_value = "float32"}},
    .dtypes = {DType::u8, DType::i32, DType::i64},
    .infer =
        [](const InferContext& c) {
          const std::int64_t depth = c.attrs.integer("depth");
          if (depth < 0) fail(ErrorCode::invalid_argument, "one_hot: depth must not be negative, got ", depth);
          if (!kFixedSize.contains(c.attrs.dtype("dtype")))
            fail(ErrorCode::unsupported_dtype, "one_hot: dtype ", c.attrs.dtype("dtype"), " cannot hold numbers");
          Ints sizes(c.shape(0).begin(), c.shape(0).end());
          sizes.insert(sizes.begin() + normalize_axis("one_hot", c.attrs.integer("axis"), c.shape(0).rank() + 1),
                       depth);
          return Specs{{c.attrs.dtype("dtype"), Shape(std::span<const std::int64_t>(sizes))}};
        },
};

OpGroup selection_ops() {
  static constexpr const OpDef* kOps[] = {&slice_op, &gather_op, &gather_grad_op, &one_hot_op};
  return kOps;
}

Tensor slice(const Tensor& x, const Ints& begin, const Ints& size) {
  Ints sizes = size;
  for (std::size_t i = 0; i < sizes.size() && i < begin.size() && static_cast<int>(i) < x.rank(); ++i)
    if (sizes[i] == -1) sizes[i] = x.shape()[static_cast<int>(i)] - begin[i];
  return apply(slice_op, {x}, make_attrs(slice_op, begin, sizes));
}

Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis) {
  return gather(params, indices, axis, 0);
}

Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis, std::int64_t batch_dims) {
  return apply(gather_op, {params, indices}, make_attrs(gather_op, axis, batch_dims));
}

Tensor one_hot(const Tensor& indices, std::int64_t depth, double on_value, double off_value, std::int64_t axis,
               DType dtype) {
  return apply(one_hot_op, {indices}, make_attrs(one_hot_op, depth, on_value, off_value, axis, dtype));
}

}  // namespace tandem
