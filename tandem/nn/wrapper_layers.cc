// Layers that wrap others.
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

/// The layer that reads from the end: the one given, or a copy of the other.
LayerConfig backward_config(const LayerConfig& config) {
  if (config.has("backward_layer")) return config.layer("backward_layer");
  const LayerConfig forward = config.layer("layer");
  LayerConfig backward = LayerConfig::from_json(forward.class_name(), forward.to_json());
  return backward.set("go_backwards", !forward.flag("go_backwards", false)).set("name", "backward_" + forward.name());
}

class Bidirectional final : public Layer {
 public:
  Bidirectional(const LayerConfig& config, const LayerMakers& custom)
      : Layer(config),
        mode_(config.is_null("merge_mode") ? "none" : config.text("merge_mode", "concat")),
        all_steps_(config.layer("layer").flag("return_sequences", false)),
        forward_(make_layer(config.layer("layer"), custom)),
        backward_(make_layer(backward_config(config), custom)) {
    if (mode_ != "concat" && mode_ != "sum" && mode_ != "mul" && mode_ != "ave" && mode_ != "none")
      config.refuse("merge_mode must be 'concat', 'sum', 'mul', 'ave' or null, got '", mode_, "'");
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override {
    return {{"forward_layer", forward_}, {"backward_layer", backward_}};
  }

 private:
  void make_variables(const Shape& input) override {
    forward_->build(input);
    backward_->build(input);
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override {
    return call_masked(inputs, Tensors(inputs.size()), training).values;
  }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    Tensors ahead{inputs[0]}, back{inputs[0]};  // initial states: one half each
    const std::size_t half = (inputs.size() - 1) / 2;
    for (std::size_t i = 1; i < inputs.size(); ++i) (i <= half ? ahead : back).push_back(inputs[i]);
    const Masked a = (*forward_)(ahead, masks, training), b = (*backward_)(back, masks, training);
    const Tensor backward = all_steps_ ? reverse(b.values[0], {1}) : b.values[0];
    Tensors out = mode_ == "none" ? Tensors{a.values[0], backward} : Tensors{merged(a.values[0], backward)};
    out.insert(out.end(), a.values.begin() + 1, a.values.end());
    out.insert(out.end(), b.values.begin() + 1, b.values.end());
    return {std::move(out), a.mask};
  }
  Tensor merged(const Tensor& a, const Tensor& b) const {
    if (mode_ == "sum") return a + b;
    if (mode_ == "mul") return a * b;
    if (mode_ == "ave") return (a + b) / 2;
    return concat({a, b}, -1);
  }
  std::string mode_;
  bool all_steps_;
  LayerPtr forward_, backward_;
};

class TimeDistributed final : public Layer {
 public:
  TimeDistributed(const LayerConfig& config, const LayerMakers& custom)
      : Layer(config),
        layer_(make_layer(config.layer("layer"), custom)) {}
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"layer", layer_}}; }

 private:
  /// `shape` with its first `from` axes replaced by `front`.
  static Shape with_front(const Shape& shape, int from, std::vector<std::int64_t> front) {
    front.insert(front.end(), shape.begin() + from, shape.end());
    return Shape(std::span<const std::int64_t>(front));
  }
  void make_variables(const Shape& input) override {
    if (input.rank() < 3)
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs at least three axes, batch, steps and features, got ",
           input);
    layer_->build(with_front(input, 2, {input[0] * input[1]}));
  }
  Tensor call(const Tensor& x, bool training) override {
    const std::int64_t batch = x.shape()[0], steps = x.shape()[1];
    const Tensor y = (*layer_)(reshape(x, with_front(x.shape(), 2, {batch * steps})), training);
    return reshape(y, with_front(y.shape(), 1, {batch, steps}));
  }
  bool passes_mask() const override { return true; }
  LayerPtr layer_;
};

/// A layer whose kernel is divided by its largest singular value, which some rounds of power iteration estimate in
/// training.
class SpectralNormalization final : public Layer {
 public:
  SpectralNormalization(const LayerConfig& config, const LayerMakers& custom)
      : Layer(config),
        rounds_(config.integer("power_iterations", 1)),
        layer_(make_layer(config.layer("layer"), custom)) {
    if (rounds_ < 1) config.refuse("power_iterations must be positive, got ", rounds_);
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"layer", layer_}}; }
  /// Keras lists the kernel with its own.
  std::vector<Variable> stored_variables() const override {
    return kernel_ ? std::vector<Variable>{*kernel_, *vector_} : own_variables();
  }
  Tensors own_of_stored(Tensors values) const override {
    if (values.size() == 2) values.erase(values.begin());
    return values;
  }

 private:
  /// The kernel, or what an Embedding has for it.
  void make_variables(const Shape& input) override {
    layer_->build(input);
    for (const Variable& variable : layer_->own_variables())
      if (variable.name().ends_with("/kernel") || variable.name().ends_with("/embeddings")) kernel_ = variable;
    if (!kernel_) config().refuse("the layer '", layer_->name(), "' has no kernel and no embeddings to normalise");
    vector_ = add_weight(
        "vector_u", {1, kernel_->shape()[-1]}, [](const Shape& shape) { return truncated_normal(shape, 0, 0.02); },
        false);
  }
  Tensor call(const Tensor& x, bool training) override {
    if (training) normalize();
    return (*layer_)(x, training);
  }
  bool passes_mask() const override { return layer_->passes_mask(); }

  void normalize() const {
    const auto unit = [](const Tensor& v) { return v * rsqrt(maximum(reduce_sum(square(v)), 1e-12)); };
    const Tensor rows = reshape(*kernel_, Ints{-1, kernel_->shape()[-1]});  // [inputs, outputs]
    Tensor u = *vector_, v;
    for (std::int64_t i = 0; i < rounds_; ++i) {
      v = unit(matmul(u, rows, false, true));
      u = unit(matmul(v, rows));
    }
    u = stop_gradient(u), v = stop_gradient(v);
    const Tensor sigma = matmul(matmul(v, rows), u, false, true), nothing = equal(reduce_max(abs(rows)), 0.0);
    vector_->assign(where(nothing, *vector_, u));
    kernel_->assign(reshape(rows / where(nothing, ones_like(sigma), sigma), kernel_->shape()));
  }

  std::int64_t rounds_;
  LayerPtr layer_;
  std::optional<Variable> kernel_, vector_;
};

template <class L>
LayerPtr make_wrapper(const LayerConfig& config, const LayerMakers& custom) {
  return std::make_shared<L>(config, custom);
}

constexpr LayerRecord kRecords[] = {{"Bidirectional", make_wrapper<Bidirectional>},
                                    {"SpectralNormalization", make_wrapper<SpectralNormalization>},
                                    {"TimeDistributed", make_wrapper<TimeDistributed>}};

}  // namespace

std::span<const LayerRecord> wrapper_layers() { return kRecords; }

}  // namespace tandem
