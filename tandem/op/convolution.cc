// Convolution and pooling over NHWC tensors, with their gradients as ops of their own.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"
#include "tandem/op/window.h"

namespace tandem {
namespace {

constexpr AttrDef kStrides{.name = "strides", .kind = AttrKind::ints, .default_value = "1"};
constexpr AttrDef kPadding{.name = "padding", .kind = AttrKind::choice, .default_value = "'valid'", .choices = "valid|same"};
constexpr AttrDef kDilations{.name = "dilations", .kind = AttrKind::ints, .default_value = "1"};
constexpr AttrDef kInputSizes{.name = "input_sizes", .kind = AttrKind::ints};
constexpr AttrDef kFilterSizes{.name = "filter_sizes", .kind = AttrKind::ints};
constexpr AttrDef kKsize{.name = "ksize", .kind = AttrKind::ints, .default_value = "2"};
constexpr AttrDef kPoolStrides{.name = "strides", .kind = AttrKind::ints, .default_value = "2"};

/// A pair of positive numbers from an attribute such as strides; one number stands for both.
std::array<std::int64_t, 2> pair_of(const InferContext& c, std::string_view name) {
  const auto values = c.attrs.ints(name);
  if (values.empty() || values.size() > 2)
    fail(ErrorCode::invalid_argument, c.op.name, ": ", name, " must be one or two numbers, got [", join(values), "]");
  for (std::int64_t v : values)
    if (v < 1 || v > (1 << 20))
      fail(ErrorCode::invalid_argument, c.op.name, ": ", name, " must be positive, got [", join(values), "]");
  return {values.front(), values.back()};
}

/// The output shape of a convolution of `input` [n,h,w,c] with `filter` [kh,kw,c,o].
Shape conv_output(const InferContext& c, const Shape& input, const Shape& filter) {
  if (input.rank() != 4 || filter.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs an input [batch, height, width, channels] and filters ",
         "[height, width, channels, outputs], got ", input, " and ", filter);
  if (input[3] != filter[2])
    fail(ErrorCode::shape_mismatch, c.op.name, ": the input ", input, " has ", input[3], " channels, the filters ", filter,
         " expect ", filter[2]);
  if (filter[0] < 1 || filter[1] < 1) fail(ErrorCode::invalid_shape, c.op.name, ": the filters ", filter, " are empty");
  const auto strides = pair_of(c, "strides"), dilations = pair_of(c, "dilations");
  const bool same = c.attrs.choice("padding") == "same";
  const auto rows = Window::make(input[1], filter[0], strides[0], dilations[0], same);
  const auto columns = Window::make(input[2], filter[1], strides[1], dilations[1], same);
  return {input[0], rows.output, columns.output, filter[3]};
}

void check_grad_shape(const InferContext& c, const Shape& expected, const Shape& grad) {
  if (expected != grad)
    fail(ErrorCode::shape_mismatch, c.op.name, ": the gradient must have the output's shape ", expected, ", got ", grad);
}

double conv_flops(const Shape& output, const Shape& filter) {
  return 2.0 * static_cast<double>(output.elements()) * static_cast<double>(filter[0] * filter[1] * filter[2]);
}

ConvOptions options_of(const AttrView& attrs) {
  const auto strides = attrs.ints("strides"), dilations = attrs.ints("dilations");
  return {Ints(strides.begin(), strides.end()), attrs.choice("padding"), Ints(dilations.begin(), dilations.end())};
}

Shape pool_output(const InferContext& c) {
  const Shape& input = c.shape(0);
  if (input.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs an input [batch, height, width, channels], got ", input);
  const auto ksize = pair_of(c, "ksize"), strides = pair_of(c, "strides");
  const bool same = c.attrs.choice("padding") == "same";
  return {input[0], Window::make(input[1], ksize[0], strides[0], 1, same).output,
          Window::make(input[2], ksize[1], strides[1], 1, same).output, input[3]};
}

}  // namespace

const OpDef conv2d_op{
    .name = "conv2d",
    .doc = "A 2-D convolution of [batch, height, width, channels] with filters [height, width, channels, outputs].",
    .inputs = {"input", "filters"},
    .attrs = {kStrides, kPadding, kDilations},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), conv_output(c, c.shape(0), c.shape(1))}}; },
    .grad = [](GradContext& g) {
      const ConvOptions options = options_of(g.attrs());
      return Tensors{
          when(g.wants(0), [&] { return conv2d_backprop_input(g.input(1), g.output_grad(), g.shape(0), options); }),
          when(g.wants(1), [&] { return conv2d_backprop_filter(g.input(0), g.output_grad(), g.shape(1), options); })};
    },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(conv_output(c, c.shape(0), c.shape(1)), c.shape(1)); },
};

const OpDef conv2d_backprop_input_op{
    .name = "conv2d_backprop_input",
    .doc = "The gradient of conv2d with respect to its input.",
    .inputs = {"filters", "out_backprop"},
    .attrs = {kInputSizes, kStrides, kPadding, kDilations},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) {
      const Shape input(c.attrs.ints("input_sizes"));
      check_grad_shape(c, conv_output(c, input, c.shape(0)), c.shape(1));
      return Specs{{c.dtype(0), input}};
    },
    .grad = [](GradContext& g) {
      const ConvOptions options = options_of(g.attrs());
      return Tensors{
          when(g.wants(0), [&] { return conv2d_backprop_filter(g.output_grad(), g.input(1), g.shape(0), options); }),
          when(g.wants(1), [&] { return conv2d(g.output_grad(), g.input(0), options); })};
    },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(c.shape(1), c.shape(0)); },
};

const OpDef conv2d_backprop_filter_op{
    .name = "conv2d_backprop_filter",
    .doc = "The gradient of conv2d with respect to its filters.",
    .inputs = {"input", "out_backprop"},
    .attrs = {kFilterSizes, kStrides, kPadding, kDilations},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) {
      const Shape filter(c.attrs.ints("filter_sizes"));
      check_grad_shape(c, conv_output(c, c.shape(0), filter), c.shape(1));
      return Specs{{c.dtype(0), filter}};
    },
    .grad = [](GradContext& g) {
      const ConvOptions options = options_of(g.attrs());
      return Tensors{
          when(g.wants(0), [&] { return conv2d_backprop_input(g.output_grad(), g.input(1), g.shape(0), options); }),
          when(g.wants(1), [&] { return conv2d(g.input(0), g.output_grad(), options); })};
    },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(c.shape(1), Shape(c.attrs.ints("filter_sizes"))); },
};

const OpDef max_pool2d_op{
    .name = "max_pool2d",
    .doc = "The largest value of each window of [batch, height, width, channels].",
    .inputs = {"input"},
    .attrs = {kKsize, kPoolStrides, kPadding},
    .dtypes = kNumeric,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), pool_output(c)}}; },
    .grad = [](GradContext& g) {
      const AttrView attrs = g.attrs();
      return Tensors{apply(max_pool2d_grad_op, {g.input(), g.output(), g.output_grad()}, attrs.attrs())};
    },
    .grad_reads = {.inputs = 1, .outputs = 1},
    .flops_per_element = 4,
};

const OpDef max_pool2d_grad_op{
    .name = "max_pool2d_grad",
    .doc = "The gradient of max_pool2d: it goes to the first largest value of each window.",
    .inputs = {"orig_input", "orig_output", "grad"},
    .attrs = {kKsize, kPoolStrides, kPadding},
    .dtypes = kNumeric,
    .infer = [](const InferContext& c) {
      check_grad_shape(c, pool_output(c), c.shape(1));
      check_grad_shape(c, pool_output(c), c.shape(2));
      return Specs{c.input(0)};
    },
    .flops_per_element = 4,
};

OpGroup convolution_ops() {
  static constexpr const OpDef* kOps[] = {&conv2d_op, &conv2d_backprop_input_op, &conv2d_backprop_filter_op,
                                          &max_pool2d_op, &max_pool2d_grad_op};
  return kOps;
}

Tensor conv2d(const Tensor& input, const Tensor& filters, const ConvOptions& o) {
  return apply(conv2d_op, {input, filters}, make_attrs(conv2d_op, o.strides, o.padding, o.dilations));
}
Tensor conv2d_backprop_input(const Tensor& filters, const Tensor& grad, const Shape& input, const ConvOptions& o) {
  return apply(conv2d_backprop_input_op, {filters, grad},
               make_attrs(conv2d_backprop_input_op, input, o.strides, o.padding, o.dilations));
}
Tensor conv2d_backprop_filter(const Tensor& input, const Tensor& grad, const Shape& filter, const ConvOptions& o) {
  return apply(conv2d_backprop_filter_op, {input, grad},
               make_attrs(conv2d_backprop_filter_op, filter, o.strides, o.padding, o.dilations));
}
Tensor max_pool2d(const Tensor& input, const PoolOptions& o) {
  return apply(max_pool2d_op, {input}, make_attrs(max_pool2d_op, o.ksize, o.strides, o.padding));
}

}  // namespace tandem
