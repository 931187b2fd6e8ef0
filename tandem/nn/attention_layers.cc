// Attention with several heads.
#include "tandem/nn/layer_records.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// One of the four projections, between features and heads.
class Projection final : public Layer {
 public:
  enum class Way { to_heads, from_heads };
  Projection(std::string name, Way way, std::int64_t heads, std::int64_t size, bool use_bias)
      : Layer(std::move(name)), way_(way), heads_(heads), size_(size), use_bias_(use_bias) {}

 private:
  /// `input` has the features in its last axis, whichever way the projection goes.
  void make_variables(const Shape& input) override {
    features_ = input[-1];
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
  std::int64_t heads_, size_, features_ = 0;
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

/// Inputs: query, value and, unless it is the value, key; each [batch, steps, features].
class MultiHeadAttention final : public Layer {
 public:
  explicit MultiHeadAttention(const LayerConfig& config) : Layer(config), heads_(positive(config, "num_heads")), size_(positive(config, "key_dim")), causal_(config.flag("use_causal_mask", false)) {
    if (config.integer("value_dim", size_) != size_) config.refuse("a value_dim other than key_dim is not supported in C++");
    if (config.has("output_shape")) config.refuse("output_shape is not supported in C++");
    query_ = projection("query", Projection::Way::to_heads);
    key_ = projection("key", Projection::Way::to_heads);
    value_ = projection("value", Projection::Way::to_heads);
    output_ = projection("attention_output", Projection::Way::from_heads);
    if (config.has("attention_axes") && config.ints("attention_axes") != Ints{1}) config.refuse("attention_axes other than [1] are not supported in C++");
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override {
    return {{"query_dense", query_}, {"key_dense", key_}, {"value_dense", value_}, {"output_dense", output_}};
  }

 private:
  LayerPtr projection(const char* part, Projection::Way way) const {
    return std::make_shared<Projection>(name() + "/" + part, way, heads_, size_, config().flag("use_bias", true));
  }
  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    for (const auto& [path, child] : children()) child->build(input);
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x, x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override {
    if (inputs.size() < 2 || inputs.size() > 3) config().refuse("query, value and perhaps key are needed, got ", inputs.size(), " inputs");
    const Tensor& key = inputs.size() == 3 ? inputs[2] : inputs[1];
    for (const Tensor& one : inputs)
      if (one.shape()[-1] != inputs[0].shape()[-1]) config().refuse("query, value and key of different sizes are not supported in C++");
    const Tensor heads = dot_product_attention((*query_)(inputs[0], training), (*key_)(key, training), (*value_)(inputs[1], training), {.is_causal = causal_});
    return {(*output_)(heads, training)};
  }
  std::int64_t heads_, size_;
  bool causal_;
  LayerPtr query_, key_, value_, output_;
};

constexpr LayerRecord kRecords[] = {{"MultiHeadAttention", make_as<MultiHeadAttention>}};

}  // namespace

std::span<const LayerRecord> attention_layers() { return kRecords; }

}  // namespace tandem
