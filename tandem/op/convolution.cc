// Convolutions over NHWC tensors, with their gradients as ops of their own.
#include "tandem/op/groups.h"
#include "tandem/op/records.h"
#include "tandem/op/rules.h"
#include "tandem/op/window.h"

namespace tandem {
namespace {

constexpr AttrDef kStrides{.name = "strides", .kind = AttrKind::ints, .default_value = "1"};
constexpr AttrDef kPadding{
    .name = "padding", .kind = AttrKind::choice, .default_value = "'valid'", .choices = "valid|same|explicit"};
constexpr AttrDef kDilations{.name = "dilations", .kind = AttrKind::ints, .default_value = "1"};
constexpr AttrDef kExplicitPaddings{.name = "explicit_paddings", .kind = AttrKind::ints, .default_value = "[]"};
constexpr AttrDef kInputSizes{.name = "input_sizes", .kind = AttrKind::ints};
constexpr AttrDef kFilterSizes{.name = "filter_sizes", .kind = AttrKind::ints};

/// top, bottom, left and right, given if and only if the padding is explicit.
void check_explicit_paddings(const InferContext& c) {
  const auto around = c.attrs.ints("explicit_paddings");
  const bool wanted = c.attrs.choice("padding") == "explicit";
  if (!wanted && around.empty()) return;
  if (!wanted)
    fail(ErrorCode::invalid_argument, c.op.name, ": explicit_paddings [", join(around),
         "] need padding 'explicit', got '", c.attrs.choice("padding"), "'");
  if (around.size() != 4)
    fail(ErrorCode::invalid_argument, c.op.name, ": explicit_paddings must be top, bottom, left and right, got [",
         join(around), "]");
  for (std::int64_t v : around)
    if (v < 0 || v > kLargestWindow)
      fail(ErrorCode::invalid_argument, c.op.name, ": explicit_paddings must not be negative, got [", join(around),
           "]");
}

/// The output shape of a convolution of `input` [n,h,w,c] with `filter` [kh,kw,c,o].
Shape conv_output(const InferContext& c, const Shape& input, const Shape& filter) {
  if (input.rank() != 4 || filter.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs an input [batch, height, width, channels] and filters ",
         "[height, width, channels, outputs], got ", input, " and ", filter);
  if (filter[0] < 1 || filter[1] < 1) fail(ErrorCode::invalid_shape, c.op.name, ": the filters ", filter, " are empty");
  const std::int64_t groups = filter[2] > 0 ? input[3] / filter[2] : 0;
  if (input[3] != filter[2] && (groups < 1 || input[3] % filter[2] != 0))
    fail(ErrorCode::shape_mismatch, c.op.name, ": the input ", input, " has ", input[3], " channels, the filters ",
         filter, " expect ", filter[2], groups > 1 ? " or a multiple of it" : "");
  if (groups > 1 && filter[3] % groups != 0)
    fail(ErrorCode::shape_mismatch, c.op.name, ": ", filter[3], " outputs do not divide into the ", groups,
         " groups of channels that the input ", input, " and the filters ", filter, " make");
  positive_pair(c, "strides");
  positive_pair(c, "dilations");
  check_explicit_paddings(c);
  const ConvGeometry g = ConvGeometry::make(c.attrs, input, filter);
  return {g.batch, g.rows.output, g.columns.output, g.out_channels};
}

double conv_flops(const Shape& output, const Shape& filter) {
  return 2.0 * static_cast<double>(output.elements()) * static_cast<double>(filter[0] * filter[1] * filter[2]);
}

ConvOptions options_of(const AttrView& attrs) {
  const auto strides = attrs.ints("strides"), dilations = attrs.ints("dilations");
  const auto around = attrs.ints("explicit_paddings");
  return {Ints(strides.begin(), strides.end()), attrs.choice("padding"), Ints(dilations.begin(), dilations.end()),
          Ints(around.begin(), around.end())};
}

}  // namespace

const OpDef conv2d_op{
    .name = "conv2d",
    .doc = "A 2-D convolution of [batch, height, width, channels] with filters [height, width, channels, outputs].",
    .inputs = {"input", "filters"},
    .attrs = {kStrides, kPadding, kDilations, kExplicitPaddings},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), conv_output(c, c.shape(0), c.shape(1))}}; },
    .grad =
        [](GradContext& g) {
          const ConvOptions options = options_of(g.attrs());
          return Tensors{
              when(g.wants(0), [&] { return conv2d_backprop_input(g.input(1), g.output_grad(), g.shape(0), options); }),
              when(g.wants(1),
                   [&] { return conv2d_backprop_filter(g.input(0), g.output_grad(), g.shape(1), options); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(conv_output(c, c.shape(0), c.shape(1)), c.shape(1)); },
};

const OpDef conv2d_backprop_input_op{
    .name = "conv2d_backprop_input",
    .doc = "The gradient of conv2d with respect to its input.",
    .inputs = {"filters", "out_backprop"},
    .attrs = {kInputSizes, kStrides, kPadding, kDilations, kExplicitPaddings},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          const Shape input(c.attrs.ints("input_sizes"));
          check_grad_shape(c, conv_output(c, input, c.shape(0)), c.shape(1));
          return Specs{{c.dtype(0), input}};
        },
    .grad =
        [](GradContext& g) {
          const ConvOptions options = options_of(g.attrs());
          return Tensors{when(g.wants(0),
                              [&] { return conv2d_backprop_filter(g.output_grad(), g.input(1), g.shape(0), options); }),
                         when(g.wants(1), [&] { return conv2d(g.output_grad(), g.input(0), options); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(c.shape(1), c.shape(0)); },
};

const OpDef conv2d_backprop_filter_op{
    .name = "conv2d_backprop_filter",
    .doc = "The gradient of conv2d with respect to its filters.",
    .inputs = {"input", "out_backprop"},
    .attrs = {kFilterSizes, kStrides, kPadding, kDilations, kExplicitPaddings},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          const Shape filter(c.attrs.ints("filter_sizes"));
          check_grad_shape(c, conv_output(c, c.shape(0), filter), c.shape(1));
          return Specs{{c.dtype(0), filter}};
        },
    .grad =
        [](GradContext& g) {
          const ConvOptions options = options_of(g.attrs());
          return Tensors{
              when(g.wants(0), [&] { return conv2d_backprop_input(g.output_grad(), g.input(1), g.shape(0), options); }),
              when(g.wants(1), [&] { return conv2d(g.input(0), g.output_grad(), options); })};
        },
    .grad_reads = {.inputs = 0b11},
    .flops = [](const InferContext& c) { return conv_flops(c.shape(1), Shape(c.attrs.ints("filter_sizes"))); },
};

OpGroup convolution_ops() {
  static constexpr const OpDef* kOps[] = {&conv2d_op, &conv2d_backprop_input_op, &conv2d_backprop_filter_op};
  return kOps;
}

Tensor conv2d(const Tensor& input, const Tensor& filters, const ConvOptions& o) {
  return apply(conv2d_op, {input, filters},
               make_attrs(conv2d_op, o.strides, o.padding, o.dilations, o.explicit_paddings));
}
Tensor conv2d_backprop_input(const Tensor& filters, const Tensor& grad, const Shape& input, const ConvOptions& o) {
  return apply(conv2d_backprop_input_op, {filters, grad},
               make_attrs(conv2d_backprop_input_op, input, o.strides, o.padding, o.dilations, o.explicit_paddings));
}
Tensor conv2d_backprop_filter(const Tensor& input, const Tensor& grad, const Shape& filter, const ConvOptions& o) {
  return apply(conv2d_backprop_filter_op, {input, grad},
               make_attrs(conv2d_backprop_filter_op, filter, o.strides, o.padding, o.dilations, o.explicit_paddings));
}

Tensor depthwise_conv2d(const Tensor& input, const Tensor& filter, const ConvOptions& o) {
  const Shape& f = filter.shape();
  if (f.rank() != 4 || input.rank() != 4 || f[2] != input.shape()[3])
    fail(ErrorCode::shape_mismatch, "depthwise_conv2d: needs an input [batch, height, width, channels] and a filter ",
         "[height, width, channels, multiplier], got ", input.shape(), " and ", f);
  // As many groups as channels: the same elements, each channel's filters side by side.
  return conv2d(input, reshape(filter, Shape{f[0], f[1], 1, f[2] * f[3]}), o);
}
Tensor separable_conv2d(const Tensor& input, const Tensor& depthwise, const Tensor& pointwise, const ConvOptions& o) {
  return conv2d(depthwise_conv2d(input, depthwise, o), pointwise);
}

Tensor conv2d_transpose(const Tensor& input, const Tensor& filters, const Shape& output_shape, const ConvOptions& o) {
  return conv2d_backprop_input(filters, input, output_shape, o);
}

namespace {

/// Along the columns only, of an image with one row.
ConvOptions one_row(const ConvOptions& o) {
  const auto along = [](const Ints& v) { return Ints{1, v.empty() ? 1 : v.back()}; };
  Ints around = o.explicit_paddings;
  if (around.size() == 2) around.insert(around.begin(), {0, 0});
  return {along(o.strides), o.padding, along(o.dilations), around};
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& filters, const ConvOptions& o) {
  if (input.rank() != 3 || filters.rank() != 3)
    fail(ErrorCode::shape_mismatch,
         "conv1d: needs an input [batch, length, channels] and filters [length, channels, outputs], got ",
         input.shape(), " and ", filters.shape());
  return squeeze(conv2d(expand_dims(input, 1), expand_dims(filters, 0), one_row(o)), {1});
}
Tensor conv1d_transpose(const Tensor& input, const Tensor& filters, const Shape& output_shape, const ConvOptions& o) {
  if (input.rank() != 3 || filters.rank() != 3 || output_shape.rank() != 3)
    fail(ErrorCode::shape_mismatch,
         "conv1d_transpose: needs an input [batch, length, channels], filters [length, outputs, ",
         "channels] and an output shape of three sizes, got ", input.shape(), ", ", filters.shape(), " and ",
         output_shape);
  const Shape& s = output_shape;
  return squeeze(conv2d_transpose(expand_dims(input, 1), expand_dims(filters, 0), {s[0], 1, s[1], s[2]}, one_row(o)),
                 {1});
}

}  // namespace tandem
