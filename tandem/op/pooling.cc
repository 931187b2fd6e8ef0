// Pooling over NHWC tensors, with its gradients as ops of their own.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"
#include "tandem/op/window.h"

namespace tandem {
namespace {

constexpr AttrDef kKsize{.name = "ksize", .kind = AttrKind::ints, .default_value = "2"};
constexpr AttrDef kStrides{.name = "strides", .kind = AttrKind::ints, .default_value = "2"};
constexpr AttrDef kPadding{
    .name = "padding", .kind = AttrKind::choice, .default_value = "'valid'", .choices = "valid|same"};
constexpr AttrDef kInputSizes{.name = "input_sizes", .kind = AttrKind::ints};

Shape pool_output(const InferContext& c, const Shape& input) {
  if (input.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs an input [batch, height, width, channels], got ", input);
  positive_pair(c, "ksize");
  positive_pair(c, "strides");
  const PoolGeometry g = PoolGeometry::make(c.attrs, input);
  return {g.batch, g.rows.output, g.columns.output, g.channels};
}

PoolOptions options_of(const AttrView& attrs) {
  const auto ksize = attrs.ints("ksize"), strides = attrs.ints("strides");
  return {Ints(ksize.begin(), ksize.end()), Ints(strides.begin(), strides.end()), attrs.choice("padding")};
}

Tensor max_pool_gradient(GradContext& g) {
  const PoolOptions o = options_of(g.attrs());
  return apply(max_pool2d_grad_op, {g.input(), g.output(), g.output_grad()},
               make_attrs(max_pool2d_grad_op, o.ksize, o.strides, o.padding));
}

Tensor avg_pool2d_grad(const Tensor& grad, const Shape& input, const PoolOptions& o) {
  return apply(avg_pool2d_grad_op, {grad}, make_attrs(avg_pool2d_grad_op, input, o.ksize, o.strides, o.padding));
}

}  // namespace

const OpDef max_pool2d_op{
    .name = "max_pool2d",
    .doc = "The largest value of each window of [batch, height, width, channels].",
    .inputs = {"input"},
    .attrs = {kKsize, kStrides, kPadding},
    .dtypes = kNumeric,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), pool_output(c, c.shape(0))}}; },
    .grad = [](GradContext& g) { return Tensors{max_pool_gradient(g)}; },
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops_per_element = 4,
};

const OpDef max_pool2d_grad_op{
    .name = "max_pool2d_grad",
    .doc = "The gradient of max_pool2d: it goes to the first largest value of each window.",
    .inputs = {"orig_input", "orig_output", "grad"},
    .attrs = {kKsize, kStrides, kPadding},
    .dtypes = kNumeric,
    .infer =
        [](const InferContext& c) {
          check_grad_shape(c, pool_output(c, c.shape(0)), c.shape(1));
          check_grad_shape(c, pool_output(c, c.shape(0)), c.shape(2));
          return Specs{c.input(0)};
        },
    // What reaches the largest values; which ones these are does not change.
    .grad =
        [](GradContext& g) {
          const auto reached = [&] {
            const Tensor where = max_pool_with_argmax(g.input(0), options_of(g.attrs()), DType::i64, true)[1];
            return gather(reshape(g.output_grad(), Ints{-1}), where);
          };
          return Tensors{when(g.wants(0), [&] { return zeros_like(g.input(0)); }),
                         when(g.wants(1), [&] { return zeros_like(g.input(1)); }), when(g.wants(2), reached)};
        },
    .grad_reads = {.inputs = 0b011},
    .flops_per_element = 4,
};

const OpDef max_pool_with_argmax_op{
    .name = "max_pool_with_argmax",
    .doc = "The largest value of each window, and where it stands: (row * width + column) * channels + channel.",
    .inputs = {"input"},
    .attrs = {kKsize,
              kStrides,
              kPadding,
              {.name = "output_dtype", .kind = AttrKind::dtype, .default_value = "int64"},
              {.name = "include_batch_in_index", .kind = AttrKind::boolean, .default_value = "False"}},
    .dtypes = kNumeric,
    .outputs = 2,
    .infer =
        [](const InferContext& c) {
          const DType index = c.attrs.dtype("output_dtype");
          if (index != DType::i32 && index != DType::i64)
            fail(ErrorCode::unsupported_dtype, c.op.name, ": output_dtype must be int32 or int64, got ", index);
          const Shape output = pool_output(c, c.shape(0));
          return Specs{{c.dtype(0), output}, {index, output}};
        },
    .grad = [](GradContext& g) { return Tensors{max_pool_gradient(g)}; },
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops_per_element = 4,
};

const OpDef avg_pool2d_op{
    .name = "avg_pool2d",
    .doc = "The mean of each window of [batch, height, width, channels]; what lies outside the image is not counted.",
    .inputs = {"input"},
    .attrs = {kKsize, kStrides, kPadding},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), pool_output(c, c.shape(0))}}; },
    .grad = [](GradContext& g) { return Tensors{avg_pool2d_grad(g.output_grad(), g.shape(0), options_of(g.attrs()))}; },
    .flops_per_element = 4,
};

const OpDef avg_pool2d_grad_op{
    .name = "avg_pool2d_grad",
    .doc = "The gradient of avg_pool2d: each window spreads it evenly.",
    .inputs = {"grad"},
    .attrs = {kInputSizes, kKsize, kStrides, kPadding},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          const Shape input(c.attrs.ints("input_sizes"));
          check_grad_shape(c, pool_output(c, input), c.shape(0));
          return Specs{{c.dtype(0), input}};
        },
    .grad = [](GradContext& g) { return Tensors{avg_pool2d(g.output_grad(), options_of(g.attrs()))}; },
    .flops_per_element = 4,
};

OpGroup pooling_ops() {
  static constexpr const OpDef* kOps[] = {&max_pool2d_op, &max_pool2d_grad_op, &max_pool_with_argmax_op, &avg_pool2d_op,
                                          &avg_pool2d_grad_op};
  return kOps;
}

Tensor max_pool2d(const Tensor& input, const PoolOptions& o) {
  return apply(max_pool2d_op, {input}, make_attrs(max_pool2d_op, o.ksize, o.strides, o.padding));
}
Tensor avg_pool2d(const Tensor& input, const PoolOptions& o) {
  return apply(avg_pool2d_op, {input}, make_attrs(avg_pool2d_op, o.ksize, o.strides, o.padding));
}
Tensors max_pool_with_argmax(const Tensor& input, const PoolOptions& o, DType output_dtype,
                             bool include_batch_in_index) {
  return apply_all(
      max_pool_with_argmax_op, std::array{TensorRef(input)},
      make_attrs(max_pool_with_argmax_op, o.ksize, o.strides, o.padding, output_dtype, include_batch_in_index));
}

namespace {

Tensor along_one_axis(Tensor (*pool)(const Tensor&, const PoolOptions&), std::string_view name, const Tensor& input,
                      const PoolOptions& o) {
  if (input.rank() != 3)
    fail(ErrorCode::shape_mismatch, name, ": needs an input [batch, length, channels], got ", input.shape());
  const auto along = [](const Ints& v) { return Ints{1, v.empty() ? 1 : v.back()}; };
  return squeeze(pool(expand_dims(input, 1), {along(o.ksize), along(o.strides), o.padding}), {1});
}

}  // namespace

Tensor max_pool1d(const Tensor& input, const PoolOptions& o) {
  return along_one_axis(max_pool2d, "max_pool1d", input, o);
}
Tensor avg_pool1d(const Tensor& input, const PoolOptions& o) {
  return along_one_axis(avg_pool2d, "avg_pool1d", input, o);
}

}  // namespace tandem
