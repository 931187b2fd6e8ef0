// Dense, embeddings, activations, dropout, preprocessing of numbers.
#include <cmath>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/keras_epsilon.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

class DenseLayer final : public Activated {
 public:
  explicit DenseLayer(const LayerConfig& config)
      : Activated(config),
        units_(positive(config, "units")),
        use_bias_(config.flag("use_bias", true)) {}

 private:
  void make_variables(const Shape& input) override {
    if (input.rank() < 2)
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs at least two axes, batch and features, got ", input);
    kernel_ = add_weight("kernel", {input[-1], units_}, glorot_of);
    if (use_bias_) bias_ = add_weight("bias", {units_}, zeros_of);
  }
  Tensor linear(const Tensor& x) override {
    if (x.rank() < 2 || x.shape()[-1] != kernel_->shape()[0])
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' was built for inputs whose last axis is ",
           kernel_->shape()[0], ", got ", x.shape());
    const Tensor y = matmul(x, *kernel_);
    return use_bias_ ? bias_add(y, *bias_) : y;
  }
  std::int64_t units_;
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

class EmbeddingLayer final : public Layer {
 public:
  explicit EmbeddingLayer(const LayerConfig& config)
      : Layer(config),
        inputs_(positive(config, "input_dim")),
        outputs_(positive(config, "output_dim")) {}

 private:
  void make_variables(const Shape&) override {
    embeddings_ = add_weight("embeddings", {inputs_, outputs_},
                             [](const Shape& shape) { return random_uniform(shape, -0.05, 0.05); });
  }
  Tensor call(const Tensor& x, bool) override {
    return gather(*embeddings_, is_integer(x.dtype()) ? x : cast(x, DType::i32));
  }
  Masked call_masked(const Tensors& inputs, const Tensors&, bool training) override {
    return {call_all(inputs, training),
            config().flag("mask_zero", false) ? not_equal(inputs[0], zeros_like(inputs[0])) : Tensor()};
  }
  std::int64_t inputs_, outputs_;
  std::optional<Variable> embeddings_;
};

class PReLULayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  void make_variables(const Shape& input) override {
    std::vector<std::int64_t> sizes(input.begin() + 1, input.end());
    for (const std::int64_t axis : config().ints("shared_axes", 0, Ints{})) {
      if (axis < 1 || axis >= input.rank()) config().refuse("shared_axes has ", axis, ", but the input is ", input);
      sizes[static_cast<std::size_t>(axis - 1)] = 1;
    }
    alpha_ = add_weight("alpha", Shape(std::span<const std::int64_t>(sizes)), zeros_of);
  }
  Tensor call(const Tensor& x, bool) override { return relu(x) + *alpha_ * minimum(x, 0.0); }
  std::optional<Variable> alpha_;
};

/// By mean and variance of the data, found before (adapt) or given.
class NormalizationLayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  void make_variables(const Shape& input) override {
    Ints axes;
    if (!config().is_null("axis")) axes = axes_of(config(), "axis", input.rank());
    std::vector<std::int64_t> sizes, broadcast(static_cast<std::size_t>(input.rank()), 1);
    for (const std::int64_t axis : axes) {
      sizes.push_back(input[static_cast<int>(axis)]);
      broadcast[static_cast<std::size_t>(axis)] = sizes.back();
    }
    broadcast_ = Shape(std::span<const std::int64_t>(broadcast));
    if (config().has("mean")) return;
    const Shape shape{std::span<const std::int64_t>(sizes)};
    mean_ = add_weight("mean", shape, zeros_of, false);
    variance_ = add_weight("variance", shape, ones_of, false);
    add_weight("count", {}, [](const Shape& none) { return zeros(none, DType::i32); }, false);
  }
  Tensor spread(const char* key, const std::optional<Variable>& variable) const {
    const Tensor value = variable ? variable->value() : config().numbers(key);
    return value.size() == broadcast_.elements() ? reshape(value, broadcast_) : value;
  }
  Tensor call(const Tensor& x, bool) override {
    const Tensor numbers = is_floating(x.dtype()) ? x : cast(x, DType::f32);
    const Tensor mean = spread("mean", mean_), deviation = maximum(sqrt(spread("variance", variance_)), kKerasEpsilon);
    return config().flag("invert", false) ? numbers * deviation + mean : (numbers - mean) / deviation;
  }
  Shape broadcast_;
  std::optional<Variable> mean_, variance_;
};

/// Steps whose features all are `mask_value` do not count.
class MaskingLayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  Tensor counts(const Tensor& x) const {
    return reduce_any(not_equal(x, number_like(x, config().real("mask_value", 0))), {-1}, true);
  }
  Tensor call(const Tensor& x, bool) override { return x * cast(counts(x), x.dtype()); }
  Masked call_masked(const Tensors& inputs, const Tensors&, bool training) override {
    return {call_all(inputs, training), squeeze(counts(inputs[0]), {-1})};
  }
};

/// How much a layer drops.
double rate_of(const LayerConfig& config) {
  const double rate = config.real("rate");
  if (!(rate >= 0 && rate < 1)) config.refuse("rate must lie in [0, 1), got ", rate);
  return rate;
}

LayerPtr make_gaussian_dropout(const LayerConfig& config, const LayerMakers&) {
  const double rate = rate_of(config);
  return plain(config, [rate](const Tensor& x, bool training) {
    return training && rate > 0 ? x * random_normal(x.shape(), 1, std::sqrt(rate / (1 - rate)), x.dtype()) : x;
  });
}

/// Mean and variance of what SELU makes stay as they are.
LayerPtr make_alpha_dropout(const LayerConfig& config, const LayerMakers&) {
  const double rate = rate_of(config);
  constexpr double kLowest = -1.0507009873554805 * 1.6732632423543772;
  return plain(config, [rate](const Tensor& x, bool training) {
    if (!training || rate == 0) return x;
    const double a = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest)), b = -a * kLowest * rate;
    const Tensor kept = less(random_uniform(x.shape()), 1 - rate);
    return where(kept, x, number_like(x, kLowest)) * a + b;
  });
}

/// What goes through it has a cost.
class ActivityRegularizationLayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  Tensor call(const Tensor& x, bool) override {
    add_activity_loss(l1_l2(config().real("l1", 0), config().real("l2", 0)), x);
    return x;
  }
};

LayerPtr make_dropout(const LayerConfig& config, const LayerMakers&) {
  const double rate = rate_of(config);
  if (!config.has("noise_shape"))
    return plain(config,
                 [rate](const Tensor& x, bool training) { return training && rate > 0 ? dropout(x, rate) : x; });
  const Json noise = config.json().value.at("noise_shape");  // sizes of 1: what is dropped together
  return plain(config, [config, rate, noise](const Tensor& x, bool training) {
    if (!training || rate == 0) return x;
    if (!noise.is_array() || static_cast<int>(noise.size()) != x.rank())
      config.refuse("noise_shape must have a size for each axis of ", x.shape(), ", got ", shown(noise));
    Ints sizes(x.shape().begin(), x.shape().end());
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (noise[i].is_number_integer()) sizes[i] = noise[i].get<std::int64_t>();
    return x * dropout(ones(Shape(std::span<const std::int64_t>(sizes)), x.dtype()), rate);
  });
}

/// Whole channels are dropped.
LayerPtr make_spatial_dropout(const LayerConfig& config, const LayerMakers&) {
  const double rate = rate_of(config);
  return plain(config, [rate](const Tensor& x, bool training) {
    if (!training || rate == 0) return x;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.rank()), 1);
    sizes.front() = x.shape()[0], sizes.back() = x.shape()[-1];
    return x * dropout(ones(Shape(std::span<const std::int64_t>(sizes)), x.dtype()), rate);
  });
}

LayerPtr make_relu(const LayerConfig& config, const LayerMakers&) {
  const double slope = config.real("negative_slope", 0), threshold = config.real("threshold", 0);
  const bool bounded = config.has("max_value");
  const double most = bounded ? config.real("max_value") : 0;
  return plain(config, [=](const Tensor& x, bool) {
    Tensor y = relu(x);
    if (threshold != 0 || slope != 0) y = where(less(x, threshold), (x - threshold) * slope, x);
    return bounded ? minimum(y, most) : y;
  });
}

LayerPtr make_leaky_relu(const LayerConfig& config, const LayerMakers&) {
  const double slope = config.real("negative_slope", config.real("alpha", 0.3));
  return plain(config, [slope](const Tensor& x, bool) { return leaky_relu(x, slope); });
}

LayerPtr make_elu(const LayerConfig& config, const LayerMakers&) {
  const double alpha = config.real("alpha", 1);
  return plain(config,
               [alpha](const Tensor& x, bool) { return where(greater(x, 0.0), x, expm1(minimum(x, 0.0)) * alpha); });
}

class ActivationOnly final : public Activated {
 public:
  using Activated::Activated;

 private:
  Tensor linear(const Tensor& x) override { return x; }
};

/// Whether each size of the mask is 1 or that of the value, counted from the last axis.
bool goes_with(const Shape& mask, const Shape& value) {
  if (mask.rank() > value.rank()) return false;
  for (int i = 1; i <= mask.rank(); ++i)
    if (mask[-i] != 1 && mask[-i] != value[-i]) return false;
  return true;
}

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(const LayerConfig& config)
      : Layer(config),
        last_(!config.has("axis") || config.value_json("axis") == "-1") {}
  std::string_view last_activation() const override { return last_ ? "softmax" : ""; }

 private:
  Tensor logits(const Tensor& x, bool) override { return x; }
  Tensor call(const Tensor& x, bool) override {
    const Ints axes = axes_of(config(), "axis", x.rank());
    return axes.size() == 1 ? softmax(x, axes[0]) : exp(x - reduce_logsumexp(x, axes, true));
  }
  /// What does not count gets nothing. A mask of steps that an earlier layer made is only passed on, unless it fits.
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    const Tensor &x = inputs[0], &mask = masks[0];
    if (!mask.defined() || !goes_with(mask.shape(), x.shape())) return Layer::call_masked(inputs, masks, training);
    const Tensor hidden = where(mask.dtype() == DType::boolean ? mask : greater(mask, 0.5), x,
                                number_like(x, x.dtype() == DType::f16 ? -3e4 : -1e9));
    return {{call(hidden, training)}, mask};
  }
  bool last_;
};

LayerPtr make_rescaling(const LayerConfig& config, const LayerMakers&) {
  const Tensor scale = config.numbers("scale"), offset = config.has("offset") ? config.numbers("offset") : Tensor(0.0f);
  return plain(config, [=](const Tensor& x, bool) {
    return (is_floating(x.dtype()) ? x : cast(x, DType::f32)) * scale + offset;
  });
}

LayerPtr make_identity(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [](const Tensor& x, bool) { return x; });
}

LayerPtr make_noise(const LayerConfig& config, const LayerMakers&) {
  const double deviation = config.real("stddev");
  return plain(config, [deviation](const Tensor& x, bool training) {
    return training ? x + random_normal(x.shape(), 0, deviation, x.dtype()) : x;
  });
}

/// Gives the model's input the dtype that the layers expect.
LayerPtr make_input(const LayerConfig& config, const LayerMakers&) {
  const auto dtype = parse_dtype(config.activation("dtype", "float32"));
  if (!dtype) config.refuse("unknown dtype '", config.activation("dtype", ""), "'");
  return std::make_shared<Plain>(config, std::nullopt, [dtype = *dtype](const Tensor& x, bool) {
    return x.dtype() == dtype ? x : cast(x, dtype);
  });
}

constexpr LayerRecord kRecords[] = {{"ActivityRegularization", make_as<ActivityRegularizationLayer>},
                                    {"AlphaDropout", make_alpha_dropout},
                                    {"GaussianDropout", make_gaussian_dropout},
                                    {"Masking", make_as<MaskingLayer>},
                                    {"SpatialDropout3D", make_spatial_dropout},
                                    {"Activation", make_as<ActivationOnly>},
                                    {"Dense", make_as<DenseLayer>},
                                    {"Dropout", make_dropout},
                                    {"ELU", make_elu},
                                    {"Embedding", make_as<EmbeddingLayer>},
                                    {"GaussianNoise", make_noise},
                                    {"Identity", make_identity},
                                    {"InputLayer", make_input},
                                    {"LeakyReLU", make_leaky_relu},
                                    {"Normalization", make_as<NormalizationLayer>},
                                    {"PReLU", make_as<PReLULayer>},
                                    {"ReLU", make_relu},
                                    {"Rescaling", make_rescaling},
                                    {"Softmax", make_as<SoftmaxLayer>},
                                    {"SpatialDropout1D", make_spatial_dropout},
                                    {"SpatialDropout2D", make_spatial_dropout}};

}  // namespace

std::span<const LayerRecord> basic_layers() { return kRecords; }

}  // namespace tandem
