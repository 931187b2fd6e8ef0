// What recurrent layers share: going through the steps of [batch, steps, …] with masks, states and dropout.
#pragma once
#include "tandem/nn/layer_records.h"

namespace tandem {

/// Step t of [batch, steps, …].
Tensor step_at(const Tensor& x, std::int64_t t);
/// The part `index` of `count` equal ones of the last axis.
Tensor gate(const Tensor& x, std::int64_t index, std::int64_t count);

/// A layer with states. Inputs after the first are initial states; a stateful one goes on from where the last batch
/// ended.
class OverSteps : public Layer {
 public:
  explicit OverSteps(const LayerConfig& config);
  void reset_state() override;

 protected:
  /// Called before the steps of a batch: what is dropped is the same for all of them.
  virtual void begin_steps(const Tensor& /*x*/, bool /*training*/) {}
  /// The states after one step of the layer or cell; the first is the output.
  virtual Tensors step(const Tensor& x, const Tensors& states) const = 0;
  /// The shapes of its states, for an input of all steps.
  virtual std::vector<Shape> state_shapes(const Shape& input) const = 0;
  /// The number of the state that a step gives as its output.
  virtual std::size_t output_state() const { return 0; }
  /// All steps at once, where there is an op for it: outputs of all steps, then the last states. Else nothing.
  virtual Tensors at_once(const Tensor&, const Tensors& /*states*/) const { return {}; }

 private:
  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override {
    return call_masked(inputs, Tensors(inputs.size()), training).values;
  }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training) override;

  /// Outputs of all steps, the last of them, the states after it.
  struct Steps {
    Tensor outputs, last;
    Tensors states;
  };
  Steps run(const Tensor& x, const Tensor& mask, const Tensors& states, bool drops) const;
  Steps one_by_one(const Tensor& x, const Tensor& mask, Tensors states, bool drops) const;
  Tensors initial_states(const Tensors& inputs) const;

  bool all_steps_, with_state_, backwards_, stateful_;
  double dropout_, recurrent_dropout_;
  mutable std::vector<Variable> kept_;  // the states of a stateful layer
};

}  // namespace tandem
