// Recurrent layers over [batch, steps, features], and the layers that wrap others.
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// The part `index` of `count` equal ones of the last axis.
Tensor gate(const Tensor& x, std::int64_t index, std::int64_t count) {
  const std::int64_t size = x.shape()[-1] / count;
  return part_of(x, -1, index * size, size);
}

/// Step t of [batch, steps, …].
Tensor step_at(const Tensor& x, std::int64_t t) { return squeeze(part_of(x, 1, t, 1), {1}); }

struct Weights {
  Tensor kernel, recurrent, bias;
};

/// What the recurrent layers share. Inputs after the first are initial states.
class Recurrent : public Layer {
 public:
  Recurrent(const LayerConfig& config, std::int64_t gates, std::size_t states, bool two_biases)
      : Layer(config), units_(positive(config, "units")), gates_(gates), states_(states), two_biases_(two_biases),
        all_steps_(config.flag("return_sequences", false)), with_state_(config.flag("return_state", false)), backwards_(config.flag("go_backwards", false)),
        usual_(config.activation("activation", "tanh") == "tanh" && config.activation("recurrent_activation", "sigmoid") == "sigmoid"),
        activation_(find_activation(config.activation("activation", "tanh"))), gate_activation_(find_activation(config.activation("recurrent_activation", "sigmoid"))) {
    config.require("stateful", false);
    config.require("time_major", false);
  }
  std::string variables_path() const override { return "cell/vars"; }

 protected:
  /// Outputs of all steps, then the last states; with the usual activations and without a mask.
  virtual Tensors run(const Tensor& x, const Tensors& states, const Weights& weights) const = 0;
  /// The states after one step; the first is the output.
  virtual Tensors step(const Tensor& x, const Tensors& states, const Weights& weights) const = 0;
  virtual bool is_usual() const { return usual_; }
  virtual Tensor initial_bias(const Shape& shape) const { return zeros(shape); }
  Tensor activated(const Tensor& x) const { return activation_(x); }
  Tensor gated(const Tensor& x) const { return gate_activation_(x); }

 private:
  Shape bias_shape() const { return two_biases_ ? Shape{2, gates_ * units_} : Shape{gates_ * units_}; }

  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    kernel_ = add_weight("kernel", {input[-1], gates_ * units_}, glorot_of);
    recurrent_ = add_weight("recurrent_kernel", {units_, gates_ * units_}, orthogonal_of);
    if (config().flag("use_bias", true)) bias_ = add_weight("bias", bias_shape(), [this](const Shape& shape) { return initial_bias(shape); });
  }

  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return call_masked(inputs, Tensors(inputs.size()), training).values; }

  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    if (training && (config().real("dropout", 0) > 0 || config().real("recurrent_dropout", 0) > 0)) config().refuse("training with dropout inside the layer is not supported in C++");
    const Tensor x = backwards_ ? reverse(inputs[0], {1}) : inputs[0];
    const Tensor mask = masks[0].defined() && backwards_ ? reverse(masks[0], {1}) : masks[0];
    Tensors states(inputs.begin() + 1, inputs.end());
    if (states.empty()) states = Tensors(states_, zeros({x.shape()[0], units_}, x.dtype()));
    if (states.size() != states_) config().refuse(states_, " initial states are needed, got ", states.size());
    const Weights weights{*kernel_, *recurrent_, bias_ ? bias_->value() : zeros(bias_shape())};
    const Steps steps = is_usual() && !mask.defined() ? at_once(x, states, weights) : one_by_one(x, mask, states, weights);
    Tensors out{all_steps_ ? steps.outputs : steps.last};
    if (with_state_) out.insert(out.end(), steps.states.begin(), steps.states.end());
    return {std::move(out), all_steps_ ? masks[0] : Tensor()};
  }

  /// Outputs of all steps, the last of them, the states after it.
  struct Steps {
    Tensor outputs, last;
    Tensors states;
  };

  Steps at_once(const Tensor& x, const Tensors& states, const Weights& weights) const {
    const Tensors results = run(x, states, weights);
    return {results[0], results[1], {results.begin() + 1, results.end()}};
  }

  /// A step that does not count repeats what was.
  Steps one_by_one(const Tensor& x, const Tensor& mask, Tensors states, const Weights& weights) const {
    Tensors outputs;
    Tensor last = zeros({x.shape()[0], units_}, x.dtype());
    const bool zero_output = config().flag("zero_output_for_mask", false);
    for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
      const Tensors next = step(step_at(x, t), states, weights);
      if (mask.defined()) {
        const Tensor counts = expand_dims(step_at(mask, t), 1);
        last = where(counts, next[0], zero_output ? zeros_like(last) : last);
        for (std::size_t i = 0; i < states.size(); ++i) states[i] = where(counts, next[i], states[i]);
      } else {
        last = next[0];
        states = next;
      }
      outputs.push_back(expand_dims(last, 1));
    }
    return {concat(outputs, 1), last, std::move(states)};
  }

  std::int64_t units_, gates_;
  std::size_t states_;
  bool two_biases_, all_steps_, with_state_, backwards_, usual_;
  Activation activation_, gate_activation_;
  std::optional<Variable> kernel_, recurrent_, bias_;
};

class LstmLayer final : public Recurrent {
 public:
  explicit LstmLayer(const LayerConfig& config) : Recurrent(config, 4, 2, false), forget_one_(config.flag("unit_forget_bias", true)) {}

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override { return lstm(x, s[0], s[1], w.kernel, w.recurrent, w.bias); }
  Tensors step(const Tensor& x, const Tensors& s, const Weights& w) const override {
    const Tensor z = bias_add(matmul(x, w.kernel) + matmul(s[0], w.recurrent), w.bias);
    const Tensor carry = gated(gate(z, 1, 4)) * s[1] + gated(gate(z, 0, 4)) * activated(gate(z, 2, 4));
    return {gated(gate(z, 3, 4)) * activated(carry), carry};
  }
  Tensor initial_bias(const Shape& shape) const override {
    if (!forget_one_) return zeros(shape);
    const std::int64_t units = shape[0] / 4;
    return concat({zeros({units}), ones({units}), zeros({2 * units})}, 0);  // gates i, f, c, o
  }
  bool forget_one_;
};

class GruLayer final : public Recurrent {
 public:
  explicit GruLayer(const LayerConfig& config) : Recurrent(config, 3, 1, config.flag("reset_after", true)), reset_after_(config.flag("reset_after", true)) {}

 private:
  bool is_usual() const override { return reset_after_ && Recurrent::is_usual(); }
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override { return gru(x, s[0], w.kernel, w.recurrent, w.bias); }
  Tensors step(const Tensor& x, const Tensors& s, const Weights& w) const override {
    const Tensor& h = s[0];
    const Tensor mine = matmul(x, w.kernel) + (reset_after_ ? slice(w.bias, {0, 0}, {1, -1}) : w.bias);
    Tensor update, candidate;
    if (reset_after_) {
      const Tensor theirs = matmul(h, w.recurrent) + slice(w.bias, {1, 0}, {1, -1});
      update = gated(gate(mine, 0, 3) + gate(theirs, 0, 3));
      candidate = activated(gate(mine, 2, 3) + gated(gate(mine, 1, 3) + gate(theirs, 1, 3)) * gate(theirs, 2, 3));
    } else {
      update = gated(gate(mine, 0, 3) + matmul(h, gate(w.recurrent, 0, 3)));
      const Tensor reset = gated(gate(mine, 1, 3) + matmul(h, gate(w.recurrent, 1, 3)));
      candidate = activated(gate(mine, 2, 3) + matmul(reset * h, gate(w.recurrent, 2, 3)));
    }
    return {update * h + (1.0 - update) * candidate};
  }
  bool reset_after_;
};

class SimpleRnnLayer final : public Recurrent {
 public:
  explicit SimpleRnnLayer(const LayerConfig& config) : Recurrent(config, 1, 1, false) {}

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override { return simple_rnn(x, s[0], w.kernel, w.recurrent, w.bias); }
  Tensors step(const Tensor& x, const Tensors& s, const Weights& w) const override {
    return {activated(bias_add(matmul(x, w.kernel), w.bias) + matmul(s[0], w.recurrent))};
  }
};

/// RNN(LSTMCell(…)) is the layer of the cell's name.
LayerPtr make_rnn(const LayerConfig& config, const LayerMakers&) {
  const LayerConfig cell = config.layer("cell");
  LayerConfig merged = LayerConfig::from_json("RNN", cell.to_json());
  merged.set("name", config.name());
  for (const char* flag : {"return_sequences", "return_state", "go_backwards", "stateful", "zero_output_for_mask"}) merged.set(flag, config.flag(flag, false));
  if (cell.class_name() == "LSTMCell") return std::make_shared<LstmLayer>(merged);
  if (cell.class_name() == "GRUCell") return std::make_shared<GruLayer>(merged);
  if (cell.class_name() == "SimpleRNNCell") return std::make_shared<SimpleRnnLayer>(merged);
  config.refuse("the cell ", cell.class_name(), " is not supported in C++; LSTMCell, GRUCell and SimpleRNNCell are");
}

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
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override { return {{"forward_layer", forward_}, {"backward_layer", backward_}}; }

 private:
  void make_variables(const Shape& input) override {
    forward_->build(input);
    backward_->build(input);
  }
  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return call_masked(inputs, Tensors(inputs.size()), training).values; }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override {
    Tensors ahead{inputs[0]}, back{inputs[0]};  // initial states: one half each
    const std::size_t half = (inputs.size() - 1) / 2;
    for (std::size_t i = 1; i < inputs.size(); ++i) (i <= half ? ahead : back).push_back(inputs[i]);
    const Masked a = (*forward_)(ahead, masks, training), b = (*backward_)(back, masks, training);
    Tensors out{merged(a.values[0], all_steps_ ? reverse(b.values[0], {1}) : b.values[0])};
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
  bool passes_mask() const override { return true; }
  LayerPtr layer_;
};

template <class L>
LayerPtr make_wrapper(const LayerConfig& config, const LayerMakers& custom) {
  return std::make_shared<L>(config, custom);
}

constexpr LayerRecord kRecords[] = {{"Bidirectional", make_wrapper<Bidirectional>}, {"GRU", make_as<GruLayer>}, {"LSTM", make_as<LstmLayer>},
                                    {"RNN", make_rnn}, {"SimpleRNN", make_as<SimpleRnnLayer>}, {"TimeDistributed", make_wrapper<TimeDistributed>}};

}  // namespace

std::span<const LayerRecord> recurrent_layers() { return kRecords; }

}  // namespace tandem
