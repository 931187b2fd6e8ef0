// How the layers of Keras are listed: a record a class, a list a family.
#pragma once
#include <span>
#include <string_view>

#include "tandem/nn/layers.h"

namespace tandem {

struct LayerRecord {
  std::string_view class_name;
  LayerPtr (*make)(const LayerConfig& config, const LayerMakers& custom);
};
std::span<const LayerRecord> basic_layers();
std::span<const LayerRecord> convolution_layers();
std::span<const LayerRecord> normalization_layers();
std::span<const LayerRecord> shape_layers();
std::span<const LayerRecord> merge_layers();
std::span<const LayerRecord> recurrent_layers();
std::span<const LayerRecord> conv_lstm_layers();
std::span<const LayerRecord> wrapper_layers();
std::span<const LayerRecord> attention_layers();
std::span<const LayerRecord> preprocessing_layers();
std::span<const LayerRecord> image_layers();
std::span<const LayerRecord> volume_layers();
std::span<const LayerRecord> einsum_layers();

template <class L>
LayerPtr make_as(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<L>(config);
}

/// A layer without variables.
class Plain final : public Layer {
 public:
  using Body = std::function<Tensor(const Tensor&, bool training)>;
  Plain(const LayerConfig& config, Body body) : Layer(config), body_(std::move(body)) {}
  Plain(const LayerConfig& config, std::optional<DTypePolicy> policy, Body body)
      : Layer(config, std::move(policy)),
        body_(std::move(body)) {}

 private:
  Tensor call(const Tensor& x, bool training) override { return body_(x, training); }
  Body body_;
};
inline LayerPtr plain(const LayerConfig& config, Plain::Body body) {
  return std::make_shared<Plain>(config, std::move(body));
}

/// A layer that ends with an activation.
class Activated : public Layer {
 public:
  explicit Activated(const LayerConfig& config)
      : Layer(config),
        name_of_activation_(config.activation()),
        activation_(find_activation(name_of_activation_)) {}

  std::string_view last_activation() const override {
    if (config().has("activity_regularizer")) return {};  // it reads what the activation gives
    return name_of_activation_ == "softmax" || name_of_activation_ == "sigmoid" ? name_of_activation_
                                                                                : std::string_view();
  }
  Tensor logits(const Tensor& x, bool) override { return linear(x); }

 protected:
  virtual Tensor linear(const Tensor& x) = 0;
  Tensor call(const Tensor& x, bool) override { return activation_(linear(x)); }

 private:
  std::string name_of_activation_;
  Activation activation_;
};

/// `argument`, which must be at least one.
std::int64_t positive(const LayerConfig& config, std::string_view argument);
/// Channels of one of the `groups`; throws unless they are equal.
std::int64_t channels_of_group(const LayerConfig& config, std::int64_t channels, std::int64_t filters);
/// `count` elements of an axis from `first` on; a negative axis counts from the end.
Tensor part_of(const Tensor& x, int axis, std::int64_t first, std::int64_t count);
/// Throws shape_mismatch unless the input has `rank` axes; `axes` names them.
void need_rank(const Layer& layer, const Shape& input, int rank, std::string_view axes);
/// An argument such as axis that is one integer or a list of them; negative ones count from the end of `rank` axes.
Ints axes_of(const LayerConfig& config, std::string_view key, int rank, std::int64_t fallback = -1);

inline Tensor zeros_of(const Shape& shape) { return zeros(shape); }
inline Tensor ones_of(const Shape& shape) { return ones(shape); }
inline Tensor glorot_of(const Shape& shape) { return glorot_uniform(shape); }
inline Tensor orthogonal_of(const Shape& shape) { return orthogonal(shape); }

}  // namespace tandem
