// Attention, with several heads and without.
#include "tandem/nn/layer_records.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// One of the four projections, between features and heads.
class Projection final : public Layer {
 public:
  enum class Way { to_heads, from_heads };
  /// `features`: how many come out of the heads; 0 for those of the query.
  Projection(std::string name, Way way, std::int64_t heads, std::int64_t size, bool use_bias, std::int64_t features = 0)
      : Layer(std::move(name)), way_(way), heads_(heads), size_(size), features_(features), use_bias_(use_bias) {}

 private:
  /// `input` has the features in its last axis, whichever way the projection goes.
  void make_variables(const Shape& input) override {
    if (!features_) features_ = input[-1];
    const bool inward = way_ == Way::to_heads;
    kernel_ = add_weight("kernel", inward ? Shape{features_, heads_, size_} : Shape{heads_, size_, features_}, glorot_of);
    if (use_bias_) bias_ = add_weight("bias", inward ? Shape{heads_, size_} : Shape{features_}, zeros_of);
  }
  Tensor call(const Tensor& x, bool) override {
    const bool inward = way_ == Way::to_heads;
    const std::int64_t inside = heads_ * size_, inputs = inward ? features_ : inside, outputs = inward ? inside : features_;
    const std::int64_t batch = x.shape()[0], steps = x.shape()[1];
    Tensor y = matmul(reshape(x, Shape{batch * steps, inputs}), reshape(*kernel_, Shape{inputs, outputs}));
    if (use_bias_) y = bias_add(y, reshape(*bias_, Shape{outputs}));
    return reshape(y, inward ? Shape{batch, steps, heads_, size_} : Shape{batch, steps, features_});
  }
  Way way_;
  std::int64_t heads_, size_, features_;
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

/// What is added to scores: little where the mask lets through, almost everything where not.
constexpr double kHidden = -1e9;

/// Which of [batch, targets, sources] count, from masks of query, value and key; undefined for all.
Tensor scores_mask(const Tensors& masks) {
  Tensor all;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].defined()) continue;
    const Tensor one = expand_dims(masks[i], i == 0 ? 2 : 1);
    all = all.defined() ? logical_and(all, one) : one;
  }
  return all;
}

Tensor hidden(const Tensor& mask, DType dtype) { return (1.0 - cast(mask, dtype)) * kHidden; }

/// Inputs: query, value and, unless it is the value, key; each [batch, steps, features].
class MultiHeadAttention final : public Layer {
 public:
  explicit MultiHeadAttention(const LayerConfig& config)
      : Layer(config), heads_(positive(config, "num_heads")), size_(positive(config, "key_dim")), depth_(config.has("value_dim") ? positive(config, "value_dim") : size_),
        causal_(config.flag("use_causal_mask", false)) {
    if (config.has("attention_axes") && config.ints("attention_axes") != Ints{1}) config.refuse("attention_axes other than [1] are not supported in C++");
    const Ints output = config.has("output_shape") ? config.ints("output_shape", 1) : Ints{0};
    if (output.size() != 1) config.refuse("an output_shape of several axes is not supported in C++");
    query_ = projection("query", Projection::Way::to_heads, size_);
    key_ = projection("key", Projection::Way::to_heads, size_);
    value_ = projection("value", Projection::Way::to_heads, depth_);
    output_ = projection("attention_output", Projection::Way::from_heads, depth_, output[0]);
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override {
    return {{"query_dense", query_}, {"key_dense", key_}, {"value_dense", value_}, {"output_dense", output_}};
  }

 private:
  LayerPtr projection(const char* part, Projection::Way way, std::int64_t size, std::int64_t features = 0) const {
    return std::make_shared<Projection>(name() + "/" + part, way, heads_, size, config().flag("use_bias", true), features);
  }
  /// Those of key and value are made when the two are seen.
  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    query_->build(input);
    output_->build(input);
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x, x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return call_masked(inputs, Tensors(inputs.size()), training).values; }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    if (inputs.size() < 2 || inputs.size() > 3) config().refuse("query, value and perhaps key are needed, got ", inputs.size(), " inputs");
    const Tensor& key = inputs.size() == 3 ? inputs[2] : inputs[1];
    AttentionOptions options{.is_causal = causal_};
    if (const Tensor mask = scores_mask(masks); mask.defined()) options.bias = expand_dims(hidden(mask, inputs[0].dtype()), 1);
    const Tensor heads = dot_product_attention((*query_)(inputs[0], training), (*key_)(key, training), (*value_)(inputs[1], training), options);
    return {{(*output_)(heads, training)}, masks[0]};
  }
  std::int64_t heads_, size_, depth_;
  bool causal_;
  LayerPtr query_, key_, value_, output_;
};

/// Attention and AdditiveAttention: query, value and perhaps key, without projections.
class PlainAttention final : public Layer {
 public:
  explicit PlainAttention(const LayerConfig& config)
      : Layer(config), additive_(config.class_name() == "AdditiveAttention"), causal_(config.flag("use_causal_mask", false)) {
    if (!additive_) config.require("score_mode", "dot");
  }

 private:
  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    if (config().flag("use_scale", additive_)) scale_ = add_weight("scale", additive_ ? Shape{input[-1]} : Shape{}, additive_ ? glorot_of : ones_of);
  }
  Tensor scores(const Tensor& query, const Tensor& key) const {
    if (!additive_) return scale_ ? matmul(query, key, false, true) * *scale_ : matmul(query, key, false, true);
    const Tensor sums = tanh(expand_dims(query, 2) + expand_dims(key, 1));
    return reduce_sum(scale_ ? sums * *scale_ : sums, {-1});
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x, x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return call_masked(inputs, Tensors(inputs.size()), training).values; }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    if (inputs.size() < 2 || inputs.size() > 3) config().refuse("query, value and perhaps key are needed, got ", inputs.size(), " inputs");
    if (training && config().real("dropout", 0) > 0) config().refuse("training with dropout inside the layer is not supported in C++");
    Tensor score = scores(inputs[0], inputs.back());
    if (masks[1].defined()) score = score + expand_dims(hidden(masks[1], score.dtype()), 1);
    if (causal_) {
      const std::int64_t targets = score.shape()[1], sources = score.shape()[2];
      const Tensor later = less(reshape(range(0, static_cast<double>(targets)), Shape{targets, 1}), range(0, static_cast<double>(sources)));
      score = score + cast(later, score.dtype()) * kHidden;
    }
    Tensor y = matmul(softmax(score), inputs[1]);
    if (masks[0].defined()) y = y * expand_dims(cast(masks[0], y.dtype()), 2);
    return {{y}, masks[0]};
  }
  bool additive_, causal_;
  std::optional<Variable> scale_;
};

constexpr LayerRecord kRecords[] = {{"AdditiveAttention", make_as<PlainAttention>}, {"Attention", make_as<PlainAttention>}, {"MultiHeadAttention", make_as<MultiHeadAttention>}};

}  // namespace

std::span<const LayerRecord> attention_layers() { return kRecords; }

}  // namespace tandem
