// Attention, with several heads and without.
#include <algorithm>
#include <cmath>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// What attention gives its projections of its own arguments: initializers, regularizers, constraints and the dtype.
LayerConfig inner_config(const LayerConfig& config, std::string name) {
  Json json = Json::object();
  for (const auto& [key, value] : config.json().value.items())
    if (key.starts_with("kernel_") || key.starts_with("bias_") || key == "activity_regularizer" || key == "dtype")
      json[key] = value;
  json["name"] = std::move(name);
  return LayerConfig("", std::make_shared<LayerConfig::Json>(LayerConfig::Json{std::move(json)}));
}

/// One of the four projections, between features and heads.
class Projection final : public Layer {
 public:
  enum class Way { to_heads, from_heads };
  /// `features`: how many come out of the heads; 0 for those of the query.
  Projection(const LayerConfig& whole, std::string name, Way way, std::int64_t heads, std::int64_t size,
             std::int64_t features = 0)
      : Layer(inner_config(whole, std::move(name))),
        way_(way),
        heads_(heads),
        size_(size),
        features_(features),
        use_bias_(whole.flag("use_bias", true)) {}

 private:
  /// `input` has the features in its last axis, whichever way the projection goes.
  void make_variables(const Shape& input) override {
    if (!features_) features_ = input[-1];
    const bool inward = way_ == Way::to_heads;
    kernel_ =
        add_weight("kernel", inward ? Shape{features_, heads_, size_} : Shape{heads_, size_, features_}, glorot_of);
    if (use_bias_) bias_ = add_weight("bias", inward ? Shape{heads_, size_} : Shape{features_}, zeros_of);
  }
  Tensor call(const Tensor& x, bool) override {
    const bool inward = way_ == Way::to_heads;
    const std::int64_t inside = heads_ * size_, inputs = inward ? features_ : inside,
                       outputs = inward ? inside : features_;
    Ints shape(x.shape().begin(), x.shape().end() - (inward ? 1 : 2));
    if (inward) shape.insert(shape.end(), {heads_, size_});
    else shape.push_back(features_);
    Tensor y = matmul(reshape(x, Shape{x.size() / inputs, inputs}), reshape(*kernel_, Shape{inputs, outputs}));
    if (use_bias_) y = bias_add(y, reshape(*bias_, Shape{outputs}));
    return reshape(y, shape);
  }
  Way way_;
  std::int64_t heads_, size_, features_;
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

/// What is added to scores: little where the mask lets through, almost everything where not.
double hides(DType dtype) { return dtype == DType::f16 ? -3e4 : -1e9; }

/// Which of [batch, targets, sources] count, from masks of query, value and key; undefined for all. One behind them is
/// for the scores themselves.
Tensor scores_mask(const Tensors& masks, std::size_t inputs) {
  Tensor all;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].defined()) continue;
    const Tensor counts = masks[i].dtype() == DType::boolean ? masks[i] : cast(masks[i], DType::boolean);
    const Tensor one = i == inputs ? counts : expand_dims(counts, i == 0 ? 2 : 1);
    all = all.defined() ? logical_and(all, one) : one;
  }
  return all;
}

Tensor hidden(const Tensor& mask, DType dtype) { return (1.0 - cast(mask, dtype)) * hides(dtype); }

/// Where a step would look at a later one: [targets, sources].
Tensor later_steps(std::int64_t targets, std::int64_t sources) {
  return less(reshape(range(0, static_cast<double>(targets)), Shape{targets, 1}),
              range(0, static_cast<double>(sources)));
}

void need_query_and_value(const LayerConfig& config, const Tensors& inputs) {
  if (inputs.size() < 2 || inputs.size() > 3)
    config.refuse("query, value and perhaps key are needed, got ", inputs.size(), " inputs");
}

/// MultiHeadAttention and GroupQueryAttention, whose keys and values serve several heads of the query. Inputs: query,
/// value and, unless it is the value, key; each [batch, …, features].
class HeadAttention final : public Layer {
 public:
  explicit HeadAttention(const LayerConfig& config)
      : Layer(config),
        grouped_(config.class_name() == "GroupQueryAttention"),
        heads_(positive(config, grouped_ ? "num_query_heads" : "num_heads")),
        shared_heads_(grouped_ ? positive(config, "num_key_value_heads") : heads_),
        size_(positive(config, grouped_ ? "head_dim" : "key_dim")),
        depth_(config.has("value_dim") ? positive(config, "value_dim") : size_),
        causal_(config.flag("use_causal_mask", false)),
        with_scores_(config.flag("return_attention_scores", false)),
        dropout_(config.real("dropout", 0)),
        axes_(config.ints("attention_axes", config.has("attention_axes") ? 0 : 1, Ints{})) {
    if (heads_ % shared_heads_)
      config.refuse(shared_heads_, " heads of keys and values do not divide ", heads_, " of the query");
    config.require("use_gate", false);
    if (config.has("sliding_window")) config.refuse("a sliding_window is not supported in C++");
    const Ints output = config.has("output_shape") ? config.ints("output_shape", 1) : Ints{0};
    if (output.size() != 1) config.refuse("an output_shape of several axes is not supported in C++");
    query_ = projection("query", Projection::Way::to_heads, heads_, size_);
    key_ = projection("key", Projection::Way::to_heads, shared_heads_, size_);
    value_ = projection("value", Projection::Way::to_heads, shared_heads_, depth_);
    output_ = projection("attention_output", Projection::Way::from_heads, heads_, depth_, output[0]);
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override {
    const std::string prefix = grouped_ ? "_" : "";
    return {{prefix + "query_dense", query_},
            {prefix + "key_dense", key_},
            {prefix + "value_dense", value_},
            {prefix + "output_dense", output_}};
  }

 private:
  LayerPtr projection(const char* part, Projection::Way way, std::int64_t heads, std::int64_t size,
                      std::int64_t features = 0) const {
    return std::make_shared<Projection>(config(), name() + "/" + part, way, heads, size, features);
  }
  /// Those of key and value are made when the two are seen.
  void make_variables(const Shape& input) override {
    if (input.rank() < 3) need_rank(*this, input, 3, "batch, steps and features");
    query_->build(input);
    output_->build(input);
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x, x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override {
    return call_masked(inputs, Tensors(inputs.size()), training).values;
  }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    need_query_and_value(config(), inputs);
    const Tensor& key = inputs.size() == 3 ? inputs[2] : inputs[1];
    const Tensor mask = scores_mask(masks, inputs.size());
    const Tensor q = (*query_)(inputs[0], training), k = repeated((*key_)(key, training)),
                 v = repeated((*value_)(inputs[1], training));
    if (inputs[0].rank() != 3) return {{along_axes(inputs[0], q, k, v, mask, training)}, masks[0]};
    Tensors out = attend(q, k, v, mask, training);
    out[0] = (*output_)(out[0], training);
    return {std::move(out), masks[0]};
  }
  /// Every head of keys or values as often as it is used.
  Tensor repeated(const Tensor& x) const {
    const std::int64_t times = heads_ / shared_heads_;
    if (times == 1) return x;
    const Shape& s = x.shape();
    return reshape(broadcast_to(expand_dims(x, 3), {s[0], s[1], s[2], times, s[3]}), Shape{s[0], s[1], heads_, s[3]});
  }
  /// What comes out of the heads [batch, targets, heads, depth], and the scores [batch, heads, targets, sources] if
  /// they are wanted.
  Tensors attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool training) const {
    const bool drops = training && dropout_ > 0;
    Tensor bias;
    if (mask.defined()) bias = mask.rank() == 4 ? hidden(mask, q.dtype()) : expand_dims(hidden(mask, q.dtype()), 1);
    if (!with_scores_ && !drops) {
      AttentionOptions options{.is_causal = causal_};
      if (bias.defined()) options.bias = bias;
      return {dot_product_attention(q, k, v, options)};
    }
    const auto heads_first = [](const Tensor& x) { return transpose(x, {0, 2, 1, 3}); };
    Tensor scores = matmul(heads_first(q) * (1 / std::sqrt(static_cast<double>(size_))), heads_first(k), false, true);
    if (bias.defined()) scores = scores + bias;
    if (causal_)
      scores = scores + cast(later_steps(scores.shape()[2], scores.shape()[3]), scores.dtype()) * hides(scores.dtype());
    scores = softmax(scores);
    const Tensor used = drops ? dropout(scores, dropout_) : scores;
    Tensors out{heads_first(matmul(used, heads_first(v)))};
    if (with_scores_) out.push_back(scores);
    return out;
  }
  /// Attention along some of several axes: the others are like a batch.
  Tensor along_axes(const Tensor& x, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                    bool training) const {
    if (mask.defined() || with_scores_) config().refuse("masks and scores along several axes are not supported in C++");
    const int rank = x.rank();
    Ints order{0}, along, back(static_cast<std::size_t>(rank) + 1, 0);
    const Ints wanted = axes_.empty() ? Ints{} : axes_of(config(), "attention_axes", rank);
    for (int i = 1; i < rank - 1; ++i)
      (wanted.empty() || std::ranges::find(wanted, i) != wanted.end() ? along : order).push_back(i);
    const std::size_t outside = order.size();
    order.insert(order.end(), along.begin(), along.end());
    order.insert(order.end(), {rank - 1, rank});  // heads and their size
    for (std::size_t i = 0; i < order.size(); ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    const auto flat = [&](const Tensor& heads) {
      const Tensor moved = transpose(heads, order);
      std::int64_t rows = 1;
      for (std::size_t i = 0; i < outside; ++i) rows *= moved.shape()[static_cast<int>(i)];
      return reshape(moved, Ints{rows, -1, moved.shape()[-2], moved.shape()[-1]});
    };
    const Tensor heads = attend(flat(q), flat(k), flat(v), {}, training)[0];
    Ints apart;
    for (std::size_t i = 0; i + 2 < order.size(); ++i) apart.push_back(x.shape()[static_cast<int>(order[i])]);
    apart.insert(apart.end(), {heads_, depth_});
    return (*output_)(transpose(reshape(heads, apart), back), training);
  }
  bool grouped_;
  std::int64_t heads_, shared_heads_, size_, depth_;
  bool causal_, with_scores_;
  double dropout_;
  Ints axes_;
  LayerPtr query_, key_, value_, output_;
};

/// Attention and AdditiveAttention: query, value and perhaps key, without projections.
class PlainAttention final : public Layer {
 public:
  explicit PlainAttention(const LayerConfig& config)
      : Layer(config),
        additive_(config.class_name() == "AdditiveAttention"),
        concat_(config.text("score_mode", "dot") == "concat"),
        causal_(config.flag("use_causal_mask", false)),
        with_scores_(config.flag("return_attention_scores", false)) {
    if (!additive_ && !concat_) config.require("score_mode", "dot");
  }

 private:
  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    if (config().flag("use_scale", additive_))
      scale_ = add_weight("scale", additive_ ? Shape{input[-1]} : Shape{}, additive_ ? glorot_of : ones_of);
    if (concat_ && !additive_) weight_ = add_weight("concat_score_weight", {}, ones_of);
  }
  Tensor scores(const Tensor& query, const Tensor& key) const {
    if (!additive_ && !concat_)
      return scale_ ? matmul(query, key, false, true) * *scale_ : matmul(query, key, false, true);
    const Tensor pairs = expand_dims(query, 2) + expand_dims(key, 1);
    if (additive_) return reduce_sum(scale_ ? tanh(pairs) * *scale_ : tanh(pairs), {-1});
    return reduce_sum(tanh(scale_ ? pairs * *scale_ : pairs), {-1}) * *weight_;
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x, x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override {
    return call_masked(inputs, Tensors(inputs.size()), training).values;
  }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    need_query_and_value(config(), inputs);
    Tensor score = scores(inputs[0], inputs.back());
    Tensor hides_here = masks[1].defined() ? expand_dims(logical_not(masks[1]), 1) : Tensor();
    if (causal_) {
      const Tensor later = expand_dims(later_steps(score.shape()[1], score.shape()[2]), 0);
      hides_here = hides_here.defined() ? logical_or(hides_here, later) : later;
    }
    if (hides_here.defined()) score = score + cast(hides_here, score.dtype()) * hides(score.dtype());
    const Tensor shares = softmax(score);
    const double rate = config().real("dropout", 0);
    Tensors out{matmul(training && rate > 0 ? dropout(shares, rate) : shares, inputs[1])};
    if (masks[0].defined()) out[0] = out[0] * expand_dims(cast(masks[0], out[0].dtype()), 2);
    if (with_scores_) out.push_back(shares);
    return {std::move(out), masks[0]};
  }
  bool additive_, concat_, causal_, with_scores_;
  std::optional<Variable> scale_, weight_;
};

constexpr LayerRecord kRecords[] = {{"AdditiveAttention", make_as<PlainAttention>},
                                    {"Attention", make_as<PlainAttention>},
                                    {"GroupQueryAttention", make_as<HeadAttention>},
                                    {"MultiHeadAttention", make_as<HeadAttention>}};

}  // namespace

std::span<const LayerRecord> attention_layers() { return kRecords; }

}  // namespace tandem
