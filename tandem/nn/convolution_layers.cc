// Convolutions and pooling over [batch, …, channels].
#include <algorithm>

#include "tandem/nn/convolutions.h"
#include "tandem/nn/layer_records.h"

namespace tandem {
namespace {

/// What convolutions share: window, steps, bias. `axes` is how many the window moves along.
class Convolution : public Activated {
 public:
  Convolution(const LayerConfig& config, int axes)
      : Activated(config),
        axes_(axes),
        size_(config.ints("kernel_size", axes)),
        strides_(config.ints("strides", axes, Ints(static_cast<std::size_t>(axes), 1))),
        dilation_(config.ints("dilation_rate", axes, Ints(static_cast<std::size_t>(axes), 1))),
        padding_(config.text("padding", "valid")),
        use_bias_(config.flag("use_bias", true)) {
    for (const Ints* list : {&size_, &strides_, &dilation_})
      if (std::any_of(list->begin(), list->end(), [](std::int64_t value) { return value < 1; }))
        config.refuse("kernel_size, strides and dilation_rate must be positive, got [", join(*list), "]");
    if (padding_ != "valid" && padding_ != "same" && !(padding_ == "causal" && axes == 1))
      config.refuse("unknown padding '", padding_, "'");
  }

 protected:
  void make_variables(const Shape& input) final {
    need_rank(*this, input, axes_ + 2, axes_ == 1 ? "batch, steps and channels" : "batch, height, width and channels");
    const std::int64_t outputs = make_kernels(input[-1]);
    if (use_bias_) bias_ = add_weight("bias", {outputs}, zeros_of);
  }
  Tensor linear(const Tensor& x) final {
    const Tensor y = convolve(x);
    return use_bias_ ? bias_add(y, *bias_) : y;
  }
  /// Makes the kernels for inputs of so many channels; how many channels come out.
  virtual std::int64_t make_kernels(std::int64_t channels) = 0;
  virtual Tensor convolve(const Tensor& x) const = 0;
  /// Causal padding: what comes before the first step.
  Tensor before_steps(const Tensor& x) const {
    return padding_ == "causal" ? pad(x, {0, 0, (size_[0] - 1) * dilation_[0], 0, 0, 0}) : x;
  }
  /// For steps as images of height one.
  ConvOptions flat_options() const {
    return {.strides = {strides_[0], strides_[0]},
            .padding = padding_ == "causal" ? "valid" : std::string_view(padding_),
            .dilations = {1, dilation_[0]}};
  }
  ConvOptions options() const { return {.strides = strides_, .padding = padding_, .dilations = dilation_}; }

  /// How long a transposed convolution makes an axis.
  std::int64_t transposed_length(const Tensor& x, int axis) const {
    const auto i = static_cast<std::size_t>(axis - 1);
    return tandem::transposed_length(config(), {.axes = axes_,
                                                .axis = i,
                                                .length = x.shape()[axis],
                                                .window = (size_[i] - 1) * dilation_[i] + 1,
                                                .stride = strides_[i],
                                                .padding = padding_});
  }

  int axes_;
  Ints size_, strides_, dilation_;
  std::string padding_;

 private:
  bool use_bias_;
  std::optional<Variable> bias_;
};

class Conv2DLayer final : public Convolution {
 public:
  explicit Conv2DLayer(const LayerConfig& config) : Convolution(config, 2), filters_(positive(config, "filters")) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], size_[1], channels_of_group(config(), channels, filters_), filters_},
                         glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override { return conv2d(x, *kernel_, options()); }
  std::int64_t filters_;
  std::optional<Variable> kernel_;
};

class Conv1DLayer final : public Convolution {
 public:
  explicit Conv1DLayer(const LayerConfig& config) : Convolution(config, 1), filters_(positive(config, "filters")) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], channels_of_group(config(), channels, filters_), filters_}, glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override {
    ConvOptions without = options();
    if (padding_ == "causal") without.padding = "valid";
    return conv1d(before_steps(x), *kernel_, without);
  }
  std::int64_t filters_;
  std::optional<Variable> kernel_;
};

/// Over steps as over images of height one.
class DepthwiseConv1DLayer final : public Convolution {
 public:
  explicit DepthwiseConv1DLayer(const LayerConfig& config)
      : Convolution(config, 1),
        multiplier_(config.integer("depth_multiplier", 1)) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], channels, multiplier_}, glorot_of);
    return channels * multiplier_;
  }
  Tensor convolve(const Tensor& x) const override {
    return squeeze(depthwise_conv2d(expand_dims(before_steps(x), 1), expand_dims(*kernel_, 0), flat_options()), {1});
  }
  std::int64_t multiplier_;
  std::optional<Variable> kernel_;
};

class SeparableConv1DLayer final : public Convolution {
 public:
  explicit SeparableConv1DLayer(const LayerConfig& config)
      : Convolution(config, 1),
        filters_(positive(config, "filters")),
        multiplier_(config.integer("depth_multiplier", 1)) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    depthwise_ = add_weight("depthwise_kernel", {size_[0], channels, multiplier_}, glorot_of);
    pointwise_ = add_weight("pointwise_kernel", {1, channels * multiplier_, filters_}, glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override {
    return squeeze(separable_conv2d(expand_dims(before_steps(x), 1), expand_dims(*depthwise_, 0),
                                    expand_dims(*pointwise_, 0), flat_options()),
                   {1});
  }
  std::int64_t filters_, multiplier_;
  std::optional<Variable> depthwise_, pointwise_;
};

class DepthwiseConv2DLayer final : public Convolution {
 public:
  explicit DepthwiseConv2DLayer(const LayerConfig& config)
      : Convolution(config, 2),
        multiplier_(config.integer("depth_multiplier", 1)) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], size_[1], channels, multiplier_}, glorot_of);
    return channels * multiplier_;
  }
  Tensor convolve(const Tensor& x) const override { return depthwise_conv2d(x, *kernel_, options()); }
  std::int64_t multiplier_;
  std::optional<Variable> kernel_;
};

class SeparableConv2DLayer final : public Convolution {
 public:
  explicit SeparableConv2DLayer(const LayerConfig& config)
      : Convolution(config, 2),
        filters_(positive(config, "filters")),
        multiplier_(config.integer("depth_multiplier", 1)) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    depthwise_ = add_weight("depthwise_kernel", {size_[0], size_[1], channels, multiplier_}, glorot_of);
    pointwise_ = add_weight("pointwise_kernel", {1, 1, channels * multiplier_, filters_}, glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override { return separable_conv2d(x, *depthwise_, *pointwise_, options()); }
  std::int64_t filters_, multiplier_;
  std::optional<Variable> depthwise_, pointwise_;
};

class Conv1DTransposeLayer final : public Convolution {
 public:
  explicit Conv1DTransposeLayer(const LayerConfig& config)
      : Convolution(config, 1),
        filters_(positive(config, "filters")) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], filters_, channels}, glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override {
    return conv1d_transpose(x, *kernel_, {x.shape()[0], transposed_length(x, 1), filters_}, options());
  }
  std::int64_t filters_;
  std::optional<Variable> kernel_;
};

class Conv2DTransposeLayer final : public Convolution {
 public:
  explicit Conv2DTransposeLayer(const LayerConfig& config)
      : Convolution(config, 2),
        filters_(positive(config, "filters")) {}

 private:
  std::int64_t make_kernels(std::int64_t channels) override {
    kernel_ = add_weight("kernel", {size_[0], size_[1], filters_, channels}, glorot_of);
    return filters_;
  }
  Tensor convolve(const Tensor& x) const override {
    return conv2d_transpose(x, *kernel_, {x.shape()[0], transposed_length(x, 1), transposed_length(x, 2), filters_},
                            options());
  }
  std::int64_t filters_;
  std::optional<Variable> kernel_;
};

/// One axis in `count` parts as equal as can be, each reduced to one place.
Tensor pooled_evenly(const Tensor& x, int axis, std::int64_t count,
                     Tensor (*reduce)(const Tensor&, const Ints&, bool)) {
  Tensors parts;
  const std::int64_t size = x.shape()[axis];
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    parts.push_back(reduce(part_of(x, axis, begin, end - begin), {axis}, true));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

template <Tensor (*kReduce)(const Tensor&, const Ints&, bool), int kAxes>
LayerPtr make_adaptive_pooling(const LayerConfig& config, const LayerMakers&) {
  const Ints sizes = config.ints("output_size", kAxes);
  for (const std::int64_t size : sizes)
    if (size < 1) config.refuse("output_size must be positive, got [", join(sizes), "]");
  return plain(config, [config, sizes](const Tensor& x, bool) {
    if (x.rank() != kAxes + 2) config.refuse("needs ", kAxes + 2, " axes, got ", x.shape());
    Tensor y = x;
    for (int i = 0; i < kAxes; ++i) y = pooled_evenly(y, i + 1, sizes[static_cast<std::size_t>(i)], kReduce);
    return y;
  });
}

template <Tensor (*kPool)(const Tensor&, const PoolOptions&), int kAxes>
LayerPtr make_pooling(const LayerConfig& config, const LayerMakers&) {
  const Ints size = config.ints("pool_size", kAxes, Ints(kAxes, 2)), strides = config.ints("strides", kAxes, size);
  return plain(config, [=, padding = config.text("padding", "valid")](const Tensor& x, bool) {
    return kPool(x, {.ksize = size, .strides = strides, .padding = padding});
  });
}

template <Tensor (*kReduce)(const Tensor&, const Ints&, bool), int kAxes>
LayerPtr make_global_pooling(const LayerConfig& config, const LayerMakers&) {
  Ints axes;
  for (int i = 1; i <= kAxes; ++i) axes.push_back(i);
  return plain(config,
               [axes, keep = config.flag("keepdims", false)](const Tensor& x, bool) { return kReduce(x, axes, keep); });
}

/// The mean of the steps that count.
class AveragedSteps final : public Layer {
 public:
  explicit AveragedSteps(const LayerConfig& config) : Layer(config), keep_(config.flag("keepdims", false)) {}

 private:
  Tensor call(const Tensor& x, bool) override { return reduce_mean(x, {1}, keep_); }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    if (!masks[0].defined()) return {call_all(inputs, training), {}};
    const Tensor counts = expand_dims(cast(masks[0], inputs[0].dtype()), 2);
    return {{reduce_sum(inputs[0] * counts, {1}, keep_) / reduce_sum(counts, {1}, keep_)}, {}};
  }
  bool keep_;
};

constexpr LayerRecord kRecords[] = {{"AdaptiveAveragePooling1D", make_adaptive_pooling<reduce_mean, 1>},
                                    {"AdaptiveAveragePooling2D", make_adaptive_pooling<reduce_mean, 2>},
                                    {"AdaptiveAveragePooling3D", make_adaptive_pooling<reduce_mean, 3>},
                                    {"AdaptiveMaxPooling1D", make_adaptive_pooling<reduce_max, 1>},
                                    {"AdaptiveMaxPooling2D", make_adaptive_pooling<reduce_max, 2>},
                                    {"AdaptiveMaxPooling3D", make_adaptive_pooling<reduce_max, 3>},
                                    {"Conv1DTranspose", make_as<Conv1DTransposeLayer>},
                                    {"DepthwiseConv1D", make_as<DepthwiseConv1DLayer>},
                                    {"SeparableConv1D", make_as<SeparableConv1DLayer>},
                                    {"GlobalAveragePooling3D", make_global_pooling<reduce_mean, 3>},
                                    {"GlobalMaxPooling3D", make_global_pooling<reduce_max, 3>},
                                    {"AveragePooling1D", make_pooling<avg_pool1d, 1>},
                                    {"AveragePooling2D", make_pooling<avg_pool2d, 2>},
                                    {"Conv1D", make_as<Conv1DLayer>},
                                    {"Conv2D", make_as<Conv2DLayer>},
                                    {"Conv2DTranspose", make_as<Conv2DTransposeLayer>},
                                    {"DepthwiseConv2D", make_as<DepthwiseConv2DLayer>},
                                    {"GlobalAveragePooling1D", make_as<AveragedSteps>},
                                    {"GlobalAveragePooling2D", make_global_pooling<reduce_mean, 2>},
                                    {"GlobalMaxPooling1D", make_global_pooling<reduce_max, 1>},
                                    {"GlobalMaxPooling2D", make_global_pooling<reduce_max, 2>},
                                    {"MaxPooling1D", make_pooling<max_pool1d, 1>},
                                    {"MaxPooling2D", make_pooling<max_pool2d, 2>},
                                    {"SeparableConv2D", make_as<SeparableConv2DLayer>}};

}  // namespace

std::int64_t transposed_length(const LayerConfig& config, const TransposedAxis& a) {
  if (!config.has("output_padding"))
    return a.length * a.stride + (a.padding == "valid" ? std::max<std::int64_t>(a.window - a.stride, 0) : 0);
  const std::int64_t more = config.ints("output_padding", a.axes)[a.axis];
  return (a.length - 1) * a.stride + a.window - (a.padding == "same" ? 2 * (a.window / 2) : 0) + more;
}

std::span<const LayerRecord> convolution_layers() { return kRecords; }

}  // namespace tandem
