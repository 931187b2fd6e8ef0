#include "tandem/nn/over_steps.h"

#include "tandem/op/arrays.h"
#include "tandem/op/network_ops.h"

namespace tandem {

Tensor step_at(const Tensor& x, std::int64_t t) { return squeeze(part_of(x, 1, t, 1), {1}); }

Tensor gate(const Tensor& x, std::int64_t index, std::int64_t count) {
  const std::int64_t size = x.shape()[-1] / count;
  return part_of(x, -1, index * size, size);
}

OverSteps::OverSteps(const LayerConfig& config)
    : Layer(config),
      all_steps_(config.flag("return_sequences", false)),
      with_state_(config.flag("return_state", false)),
      backwards_(config.flag("go_backwards", false)),
      stateful_(config.flag("stateful", false)),
      dropout_(config.real("dropout", 0)),
      recurrent_dropout_(config.real("recurrent_dropout", 0)) {
  config.require("time_major", false);
  for (const double rate : {dropout_, recurrent_dropout_})
    if (!(rate >= 0 && rate < 1)) config.refuse("dropout and recurrent_dropout must lie in [0, 1), got ", rate);
}

void OverSteps::reset_state() {
  for (const Variable& state : kept_) state.assign(zeros_like(state));
}

Tensors OverSteps::initial_states(const Tensors& inputs) const {
  const Tensor& x = inputs[0];
  const std::vector<Shape> shapes = state_shapes(x.shape());
  const Tensors given(inputs.begin() + 1, inputs.end());
  if (!given.empty() && given.size() != shapes.size())
    config().refuse(shapes.size(), " initial states are needed, got ", given.size());
  if (!given.empty()) return given;
  if (stateful_ && kept_.empty()) {
    InitScope now;  // they outlive the trace that asks for them first
    for (const Shape& shape : shapes) kept_.emplace_back(zeros(shape, x.dtype()), false, name() + "/state");
  }
  Tensors states;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (stateful_ && kept_[i].shape() != shapes[i])
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' is stateful and was first called with states of shape ",
           kept_[i].shape(), ", now they would be ", shapes[i], "; every batch must have the same size");
    states.push_back(stateful_ ? kept_[i].value() : zeros(shapes[i], x.dtype()));
  }
  return states;
}

Masked OverSteps::call_masked(const Tensors& inputs, const Tensors& masks, bool training) {
  Tensor x = backwards_ ? reverse(inputs[0], {1}) : inputs[0];
  const Tensor mask = masks[0].defined() && backwards_ ? reverse(masks[0], {1}) : masks[0];
  if (training && dropout_ > 0)
    x = x * expand_dims(dropout(ones_like(step_at(x, 0)), dropout_), 1);  // the same for all steps
  begin_steps(x, training);
  const Steps steps = run(x, mask, initial_states(inputs), training && recurrent_dropout_ > 0);
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].assign(steps.states[i]);
  Tensors out{all_steps_ ? steps.outputs : steps.last};
  if (with_state_) out.insert(out.end(), steps.states.begin(), steps.states.end());
  return {std::move(out), all_steps_ ? masks[0] : Tensor()};
}

OverSteps::Steps OverSteps::run(const Tensor& x, const Tensor& mask, const Tensors& states, bool drops) const {
  const Tensors results = mask.defined() || drops ? Tensors{} : at_once(x, states);
  if (results.empty()) return one_by_one(x, mask, states, drops);
  return {results[0], results[1], {results.begin() + 1, results.end()}};
}

/// A step that does not count repeats what was.
OverSteps::Steps OverSteps::one_by_one(const Tensor& x, const Tensor& mask, Tensors states, bool drops) const {
  Tensors outputs;
  const std::size_t out = output_state();
  Tensor last = zeros_like(states[out]);
  const Tensor kept = drops ? dropout(ones_like(states[0]), recurrent_dropout_) : Tensor();
  const bool zero_output = config().flag("zero_output_for_mask", false);
  for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
    Tensors seen = states;
    if (drops) seen[0] = seen[0] * kept;
    const Tensors next = step(step_at(x, t), seen);
    if (mask.defined()) {
      const auto counts_for = [&](const Tensor& state) {
        Ints shape(static_cast<std::size_t>(state.rank()), 1);
        shape[0] = -1;
        return reshape(step_at(mask, t), shape);
      };
      last = where(counts_for(last), next[out], zero_output ? zeros_like(last) : last);
      for (std::size_t i = 0; i < states.size(); ++i) states[i] = where(counts_for(states[i]), next[i], states[i]);
    } else {
      last = next[out];
      states = next;
    }
    outputs.push_back(expand_dims(last, 1));
  }
  if (outputs.empty()) fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs at least one step, got ", x.shape());
  return {concat(outputs, 1), last, std::move(states)};
}

}  // namespace tandem
