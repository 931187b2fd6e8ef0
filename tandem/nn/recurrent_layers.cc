// Recurrent layers over [batch, steps, features].
#include <map>

#include "tandem/nn/over_steps.h"
#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

struct Weights {
  Tensor kernel, recurrent, bias;
};

/// Layers of one cell over [batch, steps, features], and these cells as parts of others.
class Recurrent : public OverSteps {
 public:
  Recurrent(const LayerConfig& config, std::int64_t gates, std::size_t states, bool two_biases)
      : OverSteps(config),
        units_(positive(config, "units")),
        gates_(gates),
        states_(states),
        two_biases_(two_biases),
        usual_(config.activation("activation", "tanh") == "tanh" &&
               config.activation("recurrent_activation", "sigmoid") == "sigmoid"),
        activation_(find_activation(config.activation("activation", "tanh"))),
        gate_activation_(find_activation(config.activation("recurrent_activation", "sigmoid"))) {}
  std::string variables_path() const override { return config().class_name().ends_with("Cell") ? "vars" : "cell/vars"; }
  std::int64_t units() const { return units_; }
  std::size_t state_count() const { return states_; }
  Tensors step(const Tensor& x, const Tensors& states) const override { return step(x, states, weights()); }

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
  Weights weights() const { return {*kernel_, *recurrent_, bias_ ? bias_->value() : zeros(bias_shape())}; }
  std::vector<Shape> state_shapes(const Shape& input) const override {
    return std::vector<Shape>(states_, Shape{input[0], units_});
  }
  Tensors at_once(const Tensor& x, const Tensors& states) const override {
    return is_usual() ? run(x, states, weights()) : Tensors{};
  }

  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    kernel_ = add_weight("kernel", {input[-1], gates_ * units_}, glorot_of);
    recurrent_ = add_weight("recurrent_kernel", {units_, gates_ * units_}, orthogonal_of);
    if (config().flag("use_bias", true))
      bias_ = add_weight("bias", bias_shape(), [this](const Shape& shape) { return initial_bias(shape); });
  }

  std::int64_t units_, gates_;
  std::size_t states_;
  bool two_biases_, usual_;
  Activation activation_, gate_activation_;
  std::optional<Variable> kernel_, recurrent_, bias_;
};

class LstmLayer final : public Recurrent {
 public:
  explicit LstmLayer(const LayerConfig& config)
      : Recurrent(config, 4, 2, false),
        forget_one_(config.flag("unit_forget_bias", true)) {}

 private:
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override {
    return lstm(x, s[0], s[1], w.kernel, w.recurrent, w.bias);
  }
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
  explicit GruLayer(const LayerConfig& config)
      : Recurrent(config, 3, 1, config.flag("reset_after", true)),
        reset_after_(config.flag("reset_after", true)) {}

 private:
  bool is_usual() const override { return reset_after_ && Recurrent::is_usual(); }
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override {
    return gru(x, s[0], w.kernel, w.recurrent, w.bias);
  }
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
  Tensors run(const Tensor& x, const Tensors& s, const Weights& w) const override {
    return simple_rnn(x, s[0], w.kernel, w.recurrent, w.bias);
  }
  Tensors step(const Tensor& x, const Tensors& s, const Weights& w) const override {
    return {activated(bias_add(matmul(x, w.kernel), w.bias) + matmul(s[0], w.recurrent))};
  }
};

/// The layer of a cell's name with other arguments; null for a cell that is not known.
std::shared_ptr<Recurrent> layer_of_cell(std::string_view cell, const LayerConfig& config) {
  if (cell == "LSTMCell") return std::make_shared<LstmLayer>(config);
  if (cell == "GRUCell") return std::make_shared<GruLayer>(config);
  if (cell == "SimpleRNNCell") return std::make_shared<SimpleRnnLayer>(config);
  return nullptr;
}

/// RNN(StackedRNNCells([…])): at each step a cell reads what the one before it gave.
class StackedLayer final : public OverSteps {
 public:
  explicit StackedLayer(const LayerConfig& config) : OverSteps(config) {
    for (const LayerConfig& cell : config.layer("cell").layers("cells")) {
      auto made = layer_of_cell(cell.class_name(), cell);
      if (!made)
        config.refuse("the cell ", cell.class_name(),
                      " in a stack is not supported in C++; LSTMCell, GRUCell and SimpleRNNCell are");
      cells_.push_back(std::move(made));
    }
    if (cells_.empty()) config.refuse("the stack has no cells");
  }
  std::vector<std::pair<std::string, LayerPtr>> children() const override {
    std::map<std::string, int> used;
    std::vector<std::pair<std::string, LayerPtr>> all;
    for (const auto& cell : cells_) {
      const std::string kind = snake_case(cell->config().class_name());
      const int count = used[kind]++;
      all.emplace_back("cell/cells/" + (count ? text(kind, "_", count) : kind), cell);
    }
    return all;
  }

 private:
  void make_variables(const Shape& input) override {
    need_rank(*this, input, 3, "batch, steps and features");
    std::int64_t features = input[-1];
    for (const auto& cell : cells_) {
      cell->build({input[0], input[1], features});
      features = cell->units();
    }
  }
  std::vector<Shape> state_shapes(const Shape& input) const override {
    std::vector<Shape> all;
    for (const auto& cell : cells_) all.insert(all.end(), cell->state_count(), Shape{input[0], cell->units()});
    return all;
  }
  std::size_t output_state() const override { return state_shapes(Shape{1}).size() - cells_.back()->state_count(); }
  /// What each cell drops of its input and of its first state.
  struct Dropped {
    Tensor input, state;
  };
  void begin_steps(const Tensor& x, bool training) override {
    dropped_.assign(cells_.size(), {});
    std::int64_t features = x.shape()[-1];
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const double rate = cells_[i]->config().real("dropout", 0),
                   recurrent_rate = cells_[i]->config().real("recurrent_dropout", 0);
      if (training && rate > 0) dropped_[i].input = dropout(ones({x.shape()[0], features}, x.dtype()), rate);
      features = cells_[i]->units();
      if (training && recurrent_rate > 0)
        dropped_[i].state = dropout(ones({x.shape()[0], features}, x.dtype()), recurrent_rate);
    }
  }
  Tensors step(const Tensor& x, const Tensors& states) const override {
    Tensors all;
    Tensor value = x;
    auto mine = states.begin();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto& cell = cells_[i];
      Tensors before(mine, mine + static_cast<std::ptrdiff_t>(cell->state_count()));
      if (dropped_[i].state.defined()) before[0] = before[0] * dropped_[i].state;
      const Tensors next = cell->step(dropped_[i].input.defined() ? value * dropped_[i].input : value, before);
      mine += static_cast<std::ptrdiff_t>(cell->state_count());
      value = next[0];
      all.insert(all.end(), next.begin(), next.end());
    }
    return all;
  }
  std::vector<std::shared_ptr<Recurrent>> cells_;
  std::vector<Dropped> dropped_;  // during a call
};

/// RNN(LSTMCell(…)) is the layer of the cell's name.
LayerPtr make_rnn(const LayerConfig& config, const LayerMakers&) {
  const LayerConfig cell = config.layer("cell");
  if (cell.class_name() == "StackedRNNCells") return std::make_shared<StackedLayer>(config);
  LayerConfig merged = LayerConfig::from_json("RNN", cell.to_json());
  merged.set("name", config.name());
  for (const char* flag : {"return_sequences", "return_state", "go_backwards", "stateful", "zero_output_for_mask"})
    merged.set(flag, config.flag(flag, false));
  if (auto layer = layer_of_cell(cell.class_name(), merged)) return layer;
  config.refuse("the cell ", cell.class_name(),
                " is not supported in C++; LSTMCell, GRUCell, SimpleRNNCell and StackedRNNCells are");
}

constexpr LayerRecord kRecords[] = {{"GRU", make_as<GruLayer>},
                                    {"LSTM", make_as<LstmLayer>},
                                    {"RNN", make_rnn},
                                    {"SimpleRNN", make_as<SimpleRnnLayer>}};

}  // namespace

std::span<const LayerRecord> recurrent_layers() { return kRecords; }

}  // namespace tandem
