// Normalisation by statistics of a batch, a row or a group.
#include <numeric>

#include "tandem/dist/replica.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// Layers that scale by gamma and shift by beta along the last axis.
class Affine : public Layer {
 public:
  explicit Affine(const LayerConfig& config) : Layer(config), epsilon_(config.real("epsilon", 1e-3)), scale_(config.flag("scale", true)), center_(config.flag("center", true)) {}

 protected:
  void make_variables(const Shape& input) override {
    const Ints axes = axes_of(config(), "axis", input.rank());
    if (axes != Ints{input.rank() - 1}) config().refuse("only the last axis is supported in C++, got axis [", join(axes), "] of ", input);
    const Shape features{input[-1]};
    if (scale_) gamma_ = add_weight("gamma", features, ones_of);
    if (center_) beta_ = add_weight("beta", features, zeros_of);
  }
  Tensor gamma() const { return gamma_ ? gamma_->value() : ones({built_for()[-1]}); }
  Tensor beta() const { return beta_ ? beta_->value() : zeros({built_for()[-1]}); }
  double epsilon_;

 private:
  bool scale_, center_;
  std::optional<Variable> gamma_, beta_;
};

class BatchNormalizationLayer final : public Affine {
 public:
  explicit BatchNormalizationLayer(const LayerConfig& config)
      : Affine(config), momentum_(config.real("momentum", 0.99)), synchronized_(config.flag("synchronized", false)) {}

 private:
  void make_variables(const Shape& input) override {
    Affine::make_variables(input);
    mean_ = add_weight("moving_mean", {input[-1]}, zeros_of, false);
    variance_ = add_weight("moving_variance", {input[-1]}, ones_of, false);
  }
  Tensor call(const Tensor& x, bool training) override {
    if (!training || !trainable()) return batch_normalization(x, *mean_, *variance_, beta(), gamma(), epsilon_);
    const ReplicaContext* replica = get_replica_context();
    if (synchronized_ && replica) {
      const auto [mean, variance] = moments_of_all(x, *replica);
      keep(mean, variance);
      return batch_normalization(x, mean, variance, beta(), gamma(), epsilon_);
    }
    const Tensors results = batch_normalization_training(x, gamma(), beta(), epsilon_);
    keep(results[1], results[2]);
    return results[0];
  }
  /// Mean and variance of the rows of all replicas.
  static std::pair<Tensor, Tensor> moments_of_all(const Tensor& x, const ReplicaContext& replica) {
    Ints axes(static_cast<std::size_t>(x.rank() - 1));
    std::iota(axes.begin(), axes.end(), 0);
    const double count = static_cast<double>(x.size() / x.shape()[-1] / replica.rows * replica.total);
    const Tensor mean = replica.all_reduce(ReduceOp::sum, reduce_sum(x, axes)) / count;
    return {mean, replica.all_reduce(ReduceOp::sum, reduce_sum(square(x - mean), axes)) / count};
  }
  /// A step of the moving averages; replicas take one together.
  void keep(const Tensor& mean, const Tensor& variance) {
    const auto update = [this](const Tensors& now) {
      mean_->assign(*mean_ * momentum_ + now[0] * (1 - momentum_));
      variance_->assign(*variance_ * momentum_ + now[1] * (1 - momentum_));
    };
    if (const ReplicaContext* replica = get_replica_context()) replica->update_together(update, {mean, variance});
    else update({mean, variance});
  }
  double momentum_;
  bool synchronized_;
  std::optional<Variable> mean_, variance_;
};

class LayerNormalizationLayer final : public Affine {
 public:
  explicit LayerNormalizationLayer(const LayerConfig& config) : Affine(config) { config.require("rms_scaling", false); }

 private:
  Tensor call(const Tensor& x, bool) override { return layer_normalization(x, gamma(), beta(), epsilon_); }
};

/// The same along several axes, or along others than the last.
class AxesNormalization final : public Layer {
 public:
  explicit AxesNormalization(const LayerConfig& config) : Layer(config) { config.require("rms_scaling", false); }

 private:
  void make_variables(const Shape& input) override {
    axes_ = axes_of(config(), "axis", input.rank());
    std::vector<std::int64_t> sizes, along(static_cast<std::size_t>(input.rank()), 1);
    for (const std::int64_t axis : axes_) sizes.push_back(along[static_cast<std::size_t>(axis)] = input[static_cast<int>(axis)]);
    along_ = Shape(std::span<const std::int64_t>(along));
    const Shape shape{std::span<const std::int64_t>(sizes)};
    if (config().flag("scale", true)) gamma_ = add_weight("gamma", shape, ones_of);
    if (config().flag("center", true)) beta_ = add_weight("beta", shape, zeros_of);
  }
  Tensor call(const Tensor& x, bool) override {
    const Tensor mean = reduce_mean(x, axes_, true), variance = reduce_variance(x, axes_, true);
    Tensor y = (x - mean) * rsqrt(variance + config().real("epsilon", 1e-3));
    if (gamma_) y = y * reshape(*gamma_, along_);
    return beta_ ? y + reshape(*beta_, along_) : y;
  }
  Ints axes_;
  Shape along_;
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
  Tensor call(const Tensor& x, bool) override {
    const std::int64_t channels = x.shape()[-1], asked = config().integer("groups", 32), groups = asked == -1 ? channels : asked;
    if (groups < 1 || channels % groups) config().refuse(groups, " groups do not divide ", channels, " channels");
    const Tensor grouped = reshape(x, Ints{x.shape()[0], -1, groups, channels / groups});  // [batch, positions, groups, channels of one]
    const Tensor mean = reduce_mean(grouped, {1, 3}, true), variance = reduce_variance(grouped, {1, 3}, true);
    return reshape((grouped - mean) * rsqrt(variance + epsilon_), x.shape()) * gamma() + beta();
  }
};

class RMSNormalizationLayer final : public Layer {
 public:
  using Layer::Layer;

 private:
  void make_variables(const Shape& input) override {
    if (axes_of(config(), "axis", input.rank()) != Ints{input.rank() - 1}) config().refuse("only the last axis is supported in C++");
    scale_ = add_weight("scale", {input[-1]}, ones_of);
  }
  Tensor call(const Tensor& x, bool) override { return x * rsqrt(reduce_mean(square(x), {-1}, true) + config().real("epsilon", 1e-6)) * *scale_; }
  std::optional<Variable> scale_;
};

LayerPtr make_unit_normalization(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [config](const Tensor& x, bool) {
    constexpr double kEpsilon = 1e-12;
    return x * rsqrt(maximum(reduce_sum(square(x), axes_of(config, "axis", x.rank()), true), kEpsilon));
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
