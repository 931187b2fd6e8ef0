// Normalisation by statistics of a batch, a row or a group. Sums of 16-bit numbers are made in float32.
#include <algorithm>

#include "tandem/dist/replica.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// Layers that scale by gamma and shift by beta along one axis, which is brought to the end while they compute.
class Affine : public Layer {
 public:
  explicit Affine(const LayerConfig& config)
      : Layer(config),
        epsilon_(config.real("epsilon", 1e-3)),
        scale_(config.flag("scale", true)),
        center_(config.flag("center", true)) {}

 protected:
  void make_variables(const Shape& input) override {
    const Ints axes = axes_of(config(), "axis", input.rank());
    if (axes.size() != 1 || axes[0] == 0)
      config().refuse("one axis behind the batch is needed, got axis [", join(axes), "] of ", input);
    for (int i = 0; i < input.rank(); ++i)
      if (i != axes[0]) to_end_.push_back(i);
    to_end_.push_back(axes[0]);
    features_ = input[static_cast<int>(axes[0])];
    if (scale_) gamma_ = add_weight("gamma", {features_}, ones_of);
    if (center_) beta_ = add_weight("beta", {features_}, zeros_of);
  }
  Tensor call(const Tensor& x, bool training) final {
    if (x.rank() != static_cast<int>(to_end_.size()))
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' was built for ", to_end_.size(), " axes, got ", x.shape());
    const Tensor wide = at_least_float32(x);
    if (std::ranges::is_sorted(to_end_)) return normalized(wide, training);
    Ints back(to_end_.size());
    for (std::size_t i = 0; i < to_end_.size(); ++i)
      back[static_cast<std::size_t>(to_end_[i])] = static_cast<std::int64_t>(i);
    return transpose(normalized(transpose(wide, to_end_), training), back);
  }
  /// Of [batch, …, features].
  virtual Tensor normalized(const Tensor& x, bool training) = 0;
  std::int64_t features() const { return features_; }
  Tensor gamma(DType dtype) const { return gamma_ ? in_float(*gamma_, dtype) : ones({features_}, dtype); }
  Tensor beta(DType dtype) const { return beta_ ? in_float(*beta_, dtype) : zeros({features_}, dtype); }
  double epsilon_;

 private:
  bool scale_, center_;
  Ints to_end_;
  std::int64_t features_ = 0;
  std::optional<Variable> gamma_, beta_;
};

class BatchNormalizationLayer final : public Affine {
 public:
  explicit BatchNormalizationLayer(const LayerConfig& config)
      : Affine(config),
        momentum_(config.real("momentum", 0.99)),
        synchronized_(config.flag("synchronized", false)) {
    config.require("renorm", false);
  }

 private:
  void make_variables(const Shape& input) override {
    Affine::make_variables(input);
    mean_ = add_weight("moving_mean", {features()}, zeros_of, false);
    variance_ = add_weight("moving_variance", {features()}, ones_of, false);
  }
  /// Of a batch in which some steps do not count, the mean and variance of the others.
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    mask_ = training ? masks[0] : Tensor();
    Masked made = Affine::call_masked(inputs, masks, training);
    mask_ = Tensor();
    return made;
  }
  Tensor normalized(const Tensor& x, bool training) override {
    const Tensor gamma = this->gamma(x.dtype()), beta = this->beta(x.dtype());
    if (!training || !trainable())
      return batch_normalization(x, in_float(*mean_, x.dtype()), in_float(*variance_, x.dtype()), beta, gamma,
                                 epsilon_);
    const ReplicaContext* replica = synchronized_ ? get_replica_context() : nullptr;
    if (mask_.defined() || replica) {
      const auto [mean, variance] = moments(x, replica);
      learn(mean, variance);
      return batch_normalization(x, mean, variance, beta, gamma, epsilon_);
    }
    const Tensors results = batch_normalization_training(x, gamma, beta, epsilon_);
    learn(results[1], results[2]);
    return results[0];
  }
  /// Of the steps that count, with a replica those of all.
  std::pair<Tensor, Tensor> moments(const Tensor& x, const ReplicaContext* replica) const {
    Ints axes;
    for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
    Tensor counts = ones_like(x);
    if (mask_.defined()) {
      Ints shape(mask_.shape().begin(), mask_.shape().end());
      shape.resize(static_cast<std::size_t>(x.rank()), 1);
      counts = broadcast_to(cast(reshape(mask_, shape), x.dtype()), x.shape());
    }
    const auto sum = [&](const Tensor& values) {
      const Tensor mine = reduce_sum(values, axes);
      return replica ? replica->all_reduce(ReduceOp::sum, mine) : mine;
    };
    const Tensor all = sum(counts), mean = sum(x * counts) / all;
    return {mean, sum(square(x - mean) * counts) / all};
  }
  /// A step of the moving averages; replicas take one together.
  void learn(const Tensor& mean, const Tensor& variance) {
    const auto update = [this](const Tensors& now) {
      move(*mean_, now[0]);
      move(*variance_, now[1]);
    };
    if (const ReplicaContext* replica = get_replica_context()) replica->update_together(update, {mean, variance});
    else update({mean, variance});
  }
  void move(const Variable& average, const Tensor& now) const {
    const Tensor before = average;
    average.assign(before * momentum_ + in_float(now, before.dtype()) * (1 - momentum_));
  }
  double momentum_;
  bool synchronized_;
  std::optional<Variable> mean_, variance_;
  Tensor mask_;  // during a call
};

class LayerNormalizationLayer final : public Affine {
 public:
  explicit LayerNormalizationLayer(const LayerConfig& config) : Affine(config) { config.require("rms_scaling", false); }

 private:
  Tensor normalized(const Tensor& x, bool) override {
    return layer_normalization(x, gamma(x.dtype()), beta(x.dtype()), epsilon_);
  }
};

/// A weight along some axes, shaped so that it goes with the input.
struct AlongAxes {
  AlongAxes(const LayerConfig& config, const Shape& input) : axes(axes_of(config, "axis", input.rank())) {
    std::vector<std::int64_t> sizes, one_elsewhere(static_cast<std::size_t>(input.rank()), 1);
    for (const std::int64_t axis : axes)
      sizes.push_back(one_elsewhere[static_cast<std::size_t>(axis)] = input[static_cast<int>(axis)]);
    shape = Shape(std::span<const std::int64_t>(sizes));
    broadcast = Shape(std::span<const std::int64_t>(one_elsewhere));
  }
  AlongAxes() = default;
  Tensor spread(const Tensor& weight, DType dtype) const { return in_float(reshape(weight, broadcast), dtype); }

  Ints axes;
  Shape shape, broadcast;
};

/// The same along several axes, or along others than the last.
class AxesNormalization final : public Layer {
 public:
  explicit AxesNormalization(const LayerConfig& config) : Layer(config) { config.require("rms_scaling", false); }

 private:
  void make_variables(const Shape& input) override {
    along_ = AlongAxes(config(), input);
    if (config().flag("scale", true)) gamma_ = add_weight("gamma", along_.shape, ones_of);
    if (config().flag("center", true)) beta_ = add_weight("beta", along_.shape, zeros_of);
  }
  Tensor call(const Tensor& x, bool) override {
    const Tensor wide = at_least_float32(x), mean = reduce_mean(wide, along_.axes, true),
                 variance = reduce_variance(wide, along_.axes, true);
    Tensor y = (wide - mean) * rsqrt(variance + config().real("epsilon", 1e-3));
    if (gamma_) y = y * along_.spread(*gamma_, y.dtype());
    return beta_ ? y + along_.spread(*beta_, y.dtype()) : y;
  }
  AlongAxes along_;
  std::optional<Variable> gamma_, beta_;
};

LayerPtr make_layer_normalization(const LayerConfig& config, const LayerMakers&) {
  const Tensor axes = config.has("axis") ? config.numbers("axis") : Tensor(-1.0f);
  if (axes.to_vector<float>() == std::vector<float>{-1}) return std::make_shared<LayerNormalizationLayer>(config);
  return std::make_shared<AxesNormalization>(config);
}

class GroupNormalizationLayer final : public Affine {
 public:
  using Affine::Affine;

 private:
  Tensor normalized(const Tensor& x, bool) override {
    const std::int64_t channels = x.shape()[-1], asked = config().integer("groups", 32),
                       groups = asked == -1 ? channels : asked;
    if (groups < 1 || channels % groups) config().refuse(groups, " groups do not divide ", channels, " channels");
    const Tensor grouped =
        reshape(x, Ints{x.shape()[0], -1, groups, channels / groups});  // [batch, positions, groups, channels of one]
    const Tensor mean = reduce_mean(grouped, {1, 3}, true), variance = reduce_variance(grouped, {1, 3}, true);
    return reshape((grouped - mean) * rsqrt(variance + epsilon_), x.shape()) * gamma(x.dtype()) + beta(x.dtype());
  }
};

class RMSNormalizationLayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  void make_variables(const Shape& input) override {
    along_ = AlongAxes(config(), input);
    scale_ = add_weight("scale", along_.shape, ones_of);
  }
  Tensor call(const Tensor& x, bool) override {
    const Tensor wide = at_least_float32(x);
    return wide * rsqrt(reduce_mean(square(wide), along_.axes, true) + config().real("epsilon", 1e-6)) *
           along_.spread(*scale_, wide.dtype());
  }
  AlongAxes along_;
  std::optional<Variable> scale_;
};

LayerPtr make_unit_normalization(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [config](const Tensor& x, bool) {
    constexpr double kEpsilon = 1e-12;
    const Tensor wide = at_least_float32(x);
    return wide * rsqrt(maximum(reduce_sum(square(wide), axes_of(config, "axis", x.rank()), true), kEpsilon));
  });
}

constexpr LayerRecord kRecords[] = {{"BatchNormalization", make_as<BatchNormalizationLayer>},
                                    {"GroupNormalization", make_as<GroupNormalizationLayer>},
                                    {"LayerNormalization", make_layer_normalization},
                                    {"RMSNormalization", make_as<RMSNormalizationLayer>},
                                    {"UnitNormalization", make_unit_normalization}};

}  // namespace

std::span<const LayerRecord> normalization_layers() { return kRecords; }

}  // namespace tandem
