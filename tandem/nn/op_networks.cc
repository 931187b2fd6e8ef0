// Functions of keras.ops that networks are made of: products, convolutions, pools, normalisations, attention, images.
#include <algorithm>
#include <numeric>

#include "tandem/nn/keras_call.h"
#include "tandem/nn/resized_images.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/linalg.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()

// --- Products ---

Tensor product(const KerasCall& call) {
  const auto [a, b] = promoted(call.input(0), call.input(1));
  return matmul(a, b);
}

Tensor dot(const KerasCall& call) {
  const auto [a, b] = promoted(call.input(0), call.input(1));
  if (a.rank() == 0 || b.rank() == 0) return a * b;
  return tensordot_of(a, {a.rank() - 1}, b, {std::max(0, b.rank() - 2)});
}

Tensor inner(const KerasCall& call) {
  const auto [a, b] = promoted(call.input(0), call.input(1));
  if (a.rank() == 0 || b.rank() == 0) return a * b;
  return tensordot_of(a, {a.rank() - 1}, b, {b.rank() - 1});
}

Tensor tensordot(const KerasCall& call) {
  const auto [a, b] = promoted(call.input(0), call.input(1));
  const Json axes = call.config.json().value.value("axes", Json(2));
  Ints of_a, of_b;
  const auto note = [&](const Json& list, int rank, Ints& out) {
    for (const Json& axis : list.is_array() ? list : Json::array({list})) {
      if (!axis.is_number_integer()) call.config.refuse("axes must be integers, got ", shown(axes));
      out.push_back(normalize_axis("tensordot", axis.get<std::int64_t>(), rank));
    }
  };
  if (axes.is_number_integer()) {
    const auto count = axes.get<int>();
    if (count < 0 || count > a.rank() || count > b.rank())
      call.config.refuse("axes must be between 0 and the ranks of both, got ", count);
    for (int i = 0; i < count; ++i) of_a.push_back(a.rank() - count + i), of_b.push_back(i);
  } else if (axes.is_array() && axes.size() == 2) {
    note(axes[0], a.rank(), of_a), note(axes[1], b.rank(), of_b);
  } else {
    call.config.refuse("axes must be a number or two lists, got ", shown(axes));
  }
  return tensordot_of(a, of_a, b, of_b);
}

Tensor einsum(const KerasCall& call) { return einsum_of(call.config, call.config.text("subscripts", ""), call.inputs); }

// --- Convolutions and pools ---

void need_channels_last(const KerasCall& call) {
  if (call.config.has("data_format")) call.config.require("data_format", "channels_last");
}

/// One axis more in front of the last spatial one, where there is only one.
template <class Pool>
Tensor pooled(const KerasCall& call, Pool along_one, Pool along_two) {
  need_channels_last(call);
  const int axes = call.x().rank() - 2;
  if (axes != 1 && axes != 2) call.config.refuse("one or two spatial axes are supported in C++, got ", axes);
  PoolOptions options;
  options.ksize = call.config.ints("pool_size", axes);
  options.strides = call.config.has("strides") ? call.config.ints("strides", axes) : options.ksize;
  const std::string padding = call.config.text("padding", "valid");
  options.padding = padding;
  return axes == 1 ? along_one(call.x(), options) : along_two(call.x(), options);
}

Tensor convolved(const KerasCall& call) {
  need_channels_last(call);
  const int axes = call.x().rank() - 2;
  if (axes != 1 && axes != 2) call.config.refuse("one or two spatial axes are supported in C++, got ", axes);
  ConvOptions options;
  options.strides = call.config.ints("strides", axes, Ints(static_cast<std::size_t>(axes), 1));
  options.dilations = call.config.ints("dilation_rate", axes, Ints(static_cast<std::size_t>(axes), 1));
  const std::string padding = call.config.text("padding", "valid");
  options.padding = padding;
  const bool depthwise = call.config.class_name() == "DepthwiseConv";
  if (depthwise && axes == 1) call.config.refuse("two spatial axes are supported in C++, got 1");
  if (depthwise) return depthwise_conv2d(call.x(), call.input(1), options);
  return axes == 1 ? conv1d(call.x(), call.input(1), options) : conv2d(call.x(), call.input(1), options);
}

// --- Normalisations ---

Tensor standardized(const KerasCall& call) {
  const Tensor x = as_float(call.x());
  const Ints axes = axes_of(call.config, "axis", x.rank());
  const double epsilon = call.config.real("epsilon", kEpsilon);
  const Tensor scale = call.optional(1, "gamma"), offset = call.optional(2, "beta");
  Tensor y = (x - reduce_mean(x, axes, true)) * rsqrt(reduce_variance(x, axes, true) + epsilon);
  if (call.config.flag("rms_scaling", false)) y = x * rsqrt(reduce_variance(x, axes, true) + epsilon);
  if (scale.defined()) y = y * scale;
  return offset.defined() ? y + offset : y;
}

Tensor by_mean_square(const KerasCall& call) {
  const Tensor x = as_float(call.x());
  const Tensor y = x * rsqrt(reduce_mean(square(x), axes_of(call.config, "axis", x.rank()), true) +
                             call.config.real("epsilon", kEpsilon));
  const Tensor scale = call.optional(1, "scale");
  return scale.defined() ? y * scale : y;
}

Tensor by_batch(const KerasCall& call) {
  const int axis = call.axis();
  Ints shape(static_cast<std::size_t>(call.x().rank()), 1);
  shape[static_cast<std::size_t>(axis)] = call.x().shape()[axis];
  const auto along = [&](std::size_t place, const char* name) {
    const Tensor given = call.optional(place, name);
    return given.defined() ? reshape(given, shape) : given;
  };
  const Tensor mean = along(1, "mean"), variance = along(2, "variance"), offset = along(3, "offset"),
               scale = along(4, "scale");
  if (!mean.defined() || !variance.defined()) call.config.refuse("mean and variance are needed");
  const Tensor factor = rsqrt(variance + call.config.real("epsilon", 1e-3));
  Tensor y = (call.x() - mean) * (scale.defined() ? factor * scale : factor);
  return offset.defined() ? y + offset : y;
}

Tensor attended(const KerasCall& call) {
  if (call.config.has("attn_logits_soft_cap"))
    call.config.refuse("the argument attn_logits_soft_cap is not supported in C++");
  AttentionOptions options;
  constexpr double kOutOfSight = -1e9;
  const Tensor bias = call.optional(3, "bias"), mask = call.optional(4, "mask");
  if (bias.defined()) options.bias = bias;
  if (mask.defined()) {
    const Tensor hidden = where(cast(mask, DType::boolean), zeros(mask.shape()), fill(mask.shape(), kOutOfSight));
    options.bias = bias.defined() ? bias + hidden : hidden;
  }
  options.scale = call.config.real("scale", 0.0);
  options.is_causal = call.config.flag("is_causal", false);
  return dot_product_attention(call.input(0), call.input(1), call.input(2), options);
}

// --- Images ---

Tensor resized(const KerasCall& call) {
  need_channels_last(call);
  for (const char* key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio"}) call.config.require(key, false);
  const Ints size = call.config.ints("size", 2);
  const ResizeOptions options{call.config.text("interpolation", "bilinear"), call.config.flag("antialias", false)};
  check_interpolation(call.config, options.interpolation);
  const bool one = call.x().rank() == 3;
  const Tensor images = resized_images(one ? expand_dims(call.x(), 0) : call.x(), size[0], size[1], options);
  return one ? squeeze(images, {0}) : images;
}

Tensor grey(const KerasCall& call) {
  need_channels_last(call);
  const Tensor weights = Tensor::from(std::vector<float>{0.2989f, 0.587f, 0.114f}, Shape{3});
  return reduce_sum(as_float(call.x()) * weights, {call.x().rank() - 1}, true);
}

constexpr KerasFunction kRecords[] = {
    {"Matmul", product},
    {"Dot", dot},
    {"Inner", inner},
    {"Tensordot", tensordot},
    {"Einsum", einsum},
    {"Outer",
     [](const KerasCall& c) {
       const auto [a, b] = promoted(c.input(0), c.input(1));
       return reshape(a, Ints{-1, 1}) * reshape(b, Ints{1, -1});
     }},
    {"Vdot",
     [](const KerasCall& c) {
       const auto [a, b] = promoted(c.input(0), c.input(1));
       return reduce_sum(reshape(a, Ints{-1}) * reshape(b, Ints{-1}));
     }},
    {"Det", [](const KerasCall& c) { return det(c.x()); }},
    {"Inv", [](const KerasCall& c) { return inverse(c.x()); }},
    {"Cholesky",
     [](const KerasCall& c) {
       c.config.require("upper", false);
       return cholesky(c.x());
     }},
    {"Solve", [](const KerasCall& c) { return solve(c.input(0), c.input(1)); }},
    {"MaxPool", [](const KerasCall& c) { return pooled(c, max_pool1d, max_pool2d); }},
    {"AveragePool", [](const KerasCall& c) { return pooled(c, avg_pool1d, avg_pool2d); }},
    {"Conv", convolved},
    {"DepthwiseConv", convolved},
    {"LayerNorm", standardized},
    {"RMSNorm", by_mean_square},
    {"BatchNorm", by_batch},
    {"DotProductAttention", attended},
    {"Resize", resized},
    {"RGBToGrayscale", grey},
};

}  // namespace

std::span<const KerasFunction> network_op_layers() { return kRecords; }

}  // namespace tandem
