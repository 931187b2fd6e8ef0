// Convolutions and pooling over [batch, depth, height, width, channels], made of those over images: a convolution is
// the sum over the slices of its kernel, pooling goes along the depth after the images.
#include <algorithm>

#include "tandem/nn/convolutions.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

/// All depths as one batch of images.
Tensor as_images(const Tensor& x) {
  return reshape(x, Shape{x.shape()[0] * x.shape()[1], x.shape()[2], x.shape()[3], x.shape()[4]});
}
Tensor as_volumes(const Tensor& images, std::int64_t batch) {
  const Shape& shape = images.shape();
  return reshape(images, Shape{batch, shape[0] / std::max<std::int64_t>(batch, 1), shape[1], shape[2], shape[3]});
}

/// `x` with `before` and `after` empty depths.
Tensor deeper(const Tensor& x, std::int64_t before, std::int64_t after) {
  return before || after ? pad(x, {0, 0, before, after, 0, 0, 0, 0, 0, 0}) : x;
}

/// `count` depths from `begin` on, `step` apart.
Tensor depths(const Tensor& x, std::int64_t begin, std::int64_t count, std::int64_t step) {
  Ints size(x.shape().begin(), x.shape().end());
  size[1] = count;
  return strided_slice(x, {0, begin, 0, 0, 0}, size, {1, step, 1, 1, 1});
}

}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& kernel, const ConvOptions& options) {
  const Ints &strides = options.strides, &dilations = options.dilations;
  const std::int64_t depth = x.shape()[1], step = strides[0], window = (kernel.shape()[0] - 1) * dilations[0] + 1;
  const bool same = options.padding == "same";
  const std::int64_t count = same ? (depth + step - 1) / step : (depth - window) / step + 1;
  if (depth < (same ? 1 : window))
    fail(ErrorCode::shape_mismatch, "conv3d: a kernel of depth ", window, " does not fit into ", x.shape());
  const std::int64_t missing = same ? std::max<std::int64_t>((count - 1) * step + window - depth, 0) : 0;
  const Tensor padded = deeper(x, missing / 2, missing - missing / 2);
  const ConvOptions in_images{
      .strides = {strides[1], strides[2]}, .padding = options.padding, .dilations = {dilations[1], dilations[2]}};
  Tensor sum;
  for (std::int64_t k = 0; k < kernel.shape()[0]; ++k) {
    const Tensor part = conv2d(as_images(depths(padded, k * dilations[0], count, step)),
                               squeeze(part_of(kernel, 0, k, 1), {0}), in_images);
    sum = sum.defined() ? sum + part : part;
  }
  return as_volumes(sum, x.shape()[0]);
}

namespace {

/// What the two share: arguments, bias, activation.
class Volumes : public Activated {
 public:
  explicit Volumes(const LayerConfig& config)
      : Activated(config),
        filters_(positive(config, "filters")),
        size_(config.ints("kernel_size", 3)),
        strides_(config.ints("strides", 3, Ints(3, 1))),
        dilation_(config.ints("dilation_rate", 3, Ints(3, 1))),
        padding_(config.text("padding", "valid")),
        use_bias_(config.flag("use_bias", true)) {
    if (padding_ != "valid" && padding_ != "same") config.refuse("unknown padding '", padding_, "'");
  }

 protected:
  virtual Shape kernel_shape(std::int64_t channels) const = 0;
  virtual Tensor convolve(const Tensor& x) const = 0;

  std::int64_t window(std::size_t i) const { return (size_[i] - 1) * dilation_[i] + 1; }
  Tensor kernel() const { return *kernel_; }
  Tensor kernel_slice(std::int64_t depth) const { return squeeze(part_of(*kernel_, 0, depth, 1), {0}); }
  ConvOptions in_images() const {
    return {.strides = {strides_[1], strides_[2]}, .padding = padding_, .dilations = {dilation_[1], dilation_[2]}};
  }

  std::int64_t filters_;
  Ints size_, strides_, dilation_;
  std::string padding_;

 private:
  void make_variables(const Shape& input) final {
    need_rank(*this, input, 5, "batch, depth, height, width and channels");
    kernel_ = add_weight("kernel", kernel_shape(input[-1]), glorot_of);
    if (use_bias_) bias_ = add_weight("bias", {filters_}, zeros_of);
  }
  Tensor linear(const Tensor& x) final {
    const Tensor y = convolve(x);
    return use_bias_ ? bias_add(y, *bias_) : y;
  }
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

class Conv3DLayer final : public Volumes {
 public:
  using Volumes::Volumes;

 private:
  Shape kernel_shape(std::int64_t channels) const override {
    return {size_[0], size_[1], size_[2], channels_of_group(config(), channels, filters_), filters_};
  }
  Tensor convolve(const Tensor& x) const override {
    return conv3d(x, kernel(), {.strides = strides_, .padding = padding_, .dilations = dilation_});
  }
};

class Conv3DTransposeLayer final : public Volumes {
 public:
  using Volumes::Volumes;

 private:
  Shape kernel_shape(std::int64_t channels) const override {
    return {size_[0], size_[1], size_[2], filters_, channels};
  }
  std::int64_t length(const Tensor& x, int axis) const {
    const auto i = static_cast<std::size_t>(axis - 1);
    return transposed_length(config(), {.axes = 3,
                                        .axis = i,
                                        .length = x.shape()[axis],
                                        .window = window(i),
                                        .stride = strides_[i],
                                        .padding = padding_});
  }
  /// Each depth of the input adds `size` depths to the result, one for each slice of the kernel.
  Tensor convolve(const Tensor& x) const override {
    const std::int64_t batch = x.shape()[0], depth = x.shape()[1], step = strides_[0], spread = depth * step;
    const std::int64_t all = std::max(spread + window(0) - 1, length(x, 1));
    Tensor sum;
    for (std::int64_t k = 0; k < size_[0]; ++k) {
      const Tensor images = conv2d_transpose(as_images(x), kernel_slice(k),
                                             {batch * depth, length(x, 2), length(x, 3), filters_}, in_images());
      Ints apart{batch * depth, 1};
      apart.insert(apart.end(), images.shape().begin() + 1, images.shape().end());
      const Tensor between = as_volumes(as_images(deeper(reshape(images, apart), 0, step - 1)), batch);
      const std::int64_t before = k * dilation_[0];
      const Tensor part = deeper(between, before, all - spread - before);
      sum = sum.defined() ? sum + part : part;
    }
    const std::int64_t cut = padding_ == "same" ? std::max<std::int64_t>(window(0) - step, 0) / 2 : 0;
    return depths(sum, cut, length(x, 1), 1);
  }
};

template <Tensor (*kImages)(const Tensor&, const PoolOptions&), Tensor (*kSteps)(const Tensor&, const PoolOptions&)>
LayerPtr make_pooling(const LayerConfig& config, const LayerMakers&) {
  const Ints size = config.ints("pool_size", 3, Ints(3, 2)), strides = config.ints("strides", 3, size);
  return plain(config, [=, padding = config.text("padding", "valid")](const Tensor& x, bool) {
    if (x.rank() != 5) config.refuse("needs [batch, depth, height, width, channels], got ", x.shape());
    const Tensor images =
        kImages(as_images(x), {.ksize = {size[1], size[2]}, .strides = {strides[1], strides[2]}, .padding = padding});
    const std::int64_t batch = x.shape()[0], row = images.size() / std::max<std::int64_t>(batch * x.shape()[1], 1);
    const Tensor pooled = kSteps(reshape(images, Shape{batch, x.shape()[1], row}),
                                 {.ksize = {size[0]}, .strides = {strides[0]}, .padding = padding});
    return reshape(pooled, Shape{batch, pooled.shape()[1], images.shape()[1], images.shape()[2], images.shape()[3]});
  });
}

constexpr LayerRecord kRecords[] = {{"AveragePooling3D", make_pooling<avg_pool2d, avg_pool1d>},
                                    {"Conv3D", make_as<Conv3DLayer>},
                                    {"Conv3DTranspose", make_as<Conv3DTransposeLayer>},
                                    {"MaxPooling3D", make_pooling<max_pool2d, max_pool1d>}};

}  // namespace

std::span<const LayerRecord> volume_layers() { return kRecords; }

}  // namespace tandem
