// Recurrent layers over [batch, steps, features], and the layers that wrap others.
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// What the recurrent layers share. Inputs after the first are initial states.
class Recurrent : public Layer {
 public:
  Recurrent(const LayerConfig& config, std::int64_t gates, std::size_t states, bool two_biases)
      : Layer(config), units_(positive(config, "units")), gates_(gates), states_(states), two_biases_(two_biases),
        all_steps_(config.flag("return_sequences", false)), with_state_(config.flag("return_state", false)), backwards_(config.flag("go_backwards", false)) {
    config.require("stateful", false);
    config.require("time_major", false);
    if (config.activation("activation", "tanh") != "tanh") config.refuse("activation '", config.activation("activation"), "' is not supported in C++; 'tanh' is");
    if (config.activation("recurrent_activation", "sigmoid") != "sigmoid")
      config.refuse("recurrent_activation '", config.activation("recurrent_activation"), "' is not supported in C++; 'sigmoid' is");
  }
  std::string variables_path() const override { return "cell/vars"; }

 protected:
  /// Outputs of all steps, then the last states.
  virtual Tensors run(const Tensor& x, const Tensors& states, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias) const = 0;
  virtual Tensor initial_bias(const Shape& shape) const { return zeros(shape); }

 private:
  Shape bias_shape() const { return two_biases_ ? Shape{2, gates_ * units_} : Shape{gates_ * units_}; }

  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    kernel_ = add_weight("kernel", {input[-1], gates_ * units_}, glorot_of);
    recurrent_ = add_weight("recurrent_kernel", {units_, gates_ * units_}, orthogonal_of);
    if (config().flag("use_bias", true)) bias_ = add_weight("bias", bias_shape(), [this](const Shape& shape) { return initial_bias(shape); });
  }

  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }

  Tensors call_all(const Tensors& inputs, bool training) override {
    if (training && (config().real("dropout", 0) > 0 || config().real("recurrent_dropout", 0) > 0)) config().refuse("training with dropout inside the layer is not supported in C++");
    const Tensor x = backwards_ ? reverse(inputs[0], {1}) : inputs[0];
    Tensors states(inputs.begin() + 1, inputs.end());
    if (states.empty()) states = Tensors(states_, zeros({x.shape()[0], units_}, x.dtype()));
    if (states.size() != states_) config().refuse(states_, " initial states are needed, got ", states.size());
    const Tensors results = run(x, states, *kernel_, *recurrent_, bias_ ? bias_->value() : zeros(bias_shape()));
    Tensors out{all_steps_ ? results[0] : results[1]};
    if (with_state_) out.insert(out.end(), results.begin() + 1, results.end());
    return out;
  }

  std::int64_t units_, gates_;
  std::size_t states_;
  bool two_biases_, all_steps_, with_state_, backwards_;
  std::optional<Variable> kernel_, recurrent_, bias_;
};

class LstmLayer final : public Recurrent {
 public:
  explicit LstmLayer(const LayerConfig& config) : Recurrent(config, 4, 2, false), units_(config.integer("units")), forget_one_(config.flag("unit_forget_bias", true)) {}

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias) const override { return lstm(x, s[0], s[1], kernel, recurrent, bias); }
  Tensor initial_bias(const Shape& shape) const override {
    if (!forget_one_) return zeros(shape);
    return concat({zeros({units_}), ones({units_}), zeros({2 * units_})}, 0);  // gates i, f, c, o
  }
  std::int64_t units_;
  bool forget_one_;
};

class GruLayer final : public Recurrent {
 public:
  explicit GruLayer(const LayerConfig& config) : Recurrent(config, 3, 1, true) { config.require("reset_after", true); }

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias) const override { return gru(x, s[0], kernel, recurrent, bias); }
};

class SimpleRnnLayer final : public Recurrent {
 public:
  explicit SimpleRnnLayer(const LayerConfig& config) : Recurrent(config, 1, 1, false) {}

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Tensor& kernel, const Tensor& recurrent, const Tensor& bias) const override { return simple_rnn(x, s[0], kernel, recurrent, bias); }
};

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
      : Layer(config), mode_(config.text("merge_mode", "concat")), all_steps_(config.layer("layer").flag("return_sequences", false)),
        forward_(make_layer(config.layer("layer"), custom)), backward_(make_layer(backward_config(config), custom)) {
    if (mode_ != "concat" && mode_ != "sum" && mode_ != "mul" && mode_ != "ave") config.refuse("merge_mode '", mode_, "' is not supported in C++; concat, sum, mul and ave are");
    if (config.layer("layer").flag("return_state", false)) config.refuse("return_state is not supported in C++");
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"forward_layer", forward_}, {"backward_layer", backward_}}; }

 private:
  void make_variables(const Shape& input) override {
    forward_->build(input);
    backward_->build(input);
  }
  Tensor call(const Tensor& x, bool training) override {
    const Tensor a = (*forward_)(x, training), last = (*backward_)(x, training);
    const Tensor b = all_steps_ ? reverse(last, {1}) : last;
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
  TimeDistributed(const LayerConfig& config, const LayerMakers& custom) : Layer(config), layer_(make_layer(config.layer("layer"), custom)) {}
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"layer", layer_}}; }

 private:
  /// `shape` with its first `from` axes replaced by `front`.
  static Shape with_front(const Shape& shape, int from, std::vector<std::int64_t> front) {
    front.insert(front.end(), shape.begin() + from, shape.end());
    return Shape(std::span<const std::int64_t>(front));
  }
  void make_variables(const Shape& input) override {
    if (input.rank() < 3) fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs at least three axes, batch, steps and features, got ", input);
    layer_->build(with_front(input, 2, {input[0] * input[1]}));
  }
  Tensor call(const Tensor& x, bool training) override {
    const std::int64_t batch = x.shape()[0], steps = x.shape()[1];
    const Tensor y = (*layer_)(reshape(x, with_front(x.shape(), 2, {batch * steps})), training);
    return reshape(y, with_front(y.shape(), 1, {batch, steps}));
  }
  LayerPtr layer_;
};

template <class L>
LayerPtr make_wrapper(const LayerConfig& config, const LayerMakers& custom) {
  return std::make_shared<L>(config, custom);
}

constexpr LayerRecord kRecords[] = {{"Bidirectional", make_wrapper<Bidirectional>}, {"GRU", make_as<GruLayer>}, {"LSTM", make_as<LstmLayer>},
                                    {"SimpleRNN", make_as<SimpleRnnLayer>}, {"TimeDistributed", make_wrapper<TimeDistributed>}};

}  // namespace

std::span<const LayerRecord> recurrent_layers() { return kRecords; }

}  // namespace tandem
