#include "tandem/autodiff/tape.h"

#include <algorithm>

#include "tandem/autodiff/slice_grads.h"
#include "tandem/op/grad.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

/// Of a function written in ops; the ops of its gradient pass through the tapes that are asked now.
Tensors differentiate(const OpsFunction& f, const Tensors& inputs, const Tensors& output_grads) {
  Tensors apart;  // one tensor given twice has two gradients
  for (const Tensor& input : inputs) apart.push_back(identity(input));
  GradientTape tape({.watch_accessed_variables = false});
  for (const Tensor& input : apart) tape.watch(input);
  const Tensors outputs = f(apart);
  Tensors targets, weights;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined() || !output_grads[k].defined()) continue;
    targets.push_back(outputs[k]);
    weights.push_back(output_grads[k]);
  }
  return tape.gradient(targets, apart, Unconnected::none, weights);
}

}  // namespace

thread_local int GradientTape::recording_count_ = 0;
thread_local int GradientTape::pauses_ = 0;
thread_local std::vector<const GradientTape*> GradientTape::started_;

GradientTape::GradientTape(TapeOptions options) : options_(options) {
  if (options.recording) start();
}

GradientTape::~GradientTape() { stop(); }

void GradientTape::start() {
  if (recording_) return;
  DispatchStack::push(*this);
  ++recording_count_;
  started_.push_back(this);
  started_in_ = pauses_;
  recording_ = true;
}

void GradientTape::stop() {
  if (!recording_) return;
  DispatchStack::remove(*this);
  --recording_count_;
  std::erase(started_, this);
  recording_ = false;
}

bool GradientTape::any_follows(const Tensor& value) {
  const std::uint64_t id = value.impl()->id.number;
  return std::ranges::any_of(started_, [id](const GradientTape* tape) {
    return tape->started_in_ == pauses_ && tape->slots_of_.find(id) != IdMap::kNone;
  });
}

void GradientTape::reset() {
  slots_of_.clear();
  entries_.clear();
  attrs_.clear();
  slots_.clear();
  specs_.clear();
  kept_.clear();
  owners_.clear();
  variables_.clear();
  used_ = false;
}

void GradientTape::check_unused() const {
  if (used_ && !options_.persistent)
    fail(ErrorCode::tape_used_up, "a tape that is not persistent gives gradients once; make it with persistent=true");
}

/// What is left to do when a tape that is not persistent has been asked; its variables may still be asked for.
void GradientTape::forget() {
  std::vector<std::uint64_t> variables = std::move(variables_);
  reset();
  variables_ = std::move(variables);
  used_ = true;
}

void GradientTape::watch(const Tensor& value) {
  if (!is_floating(value.dtype()))
    fail(ErrorCode::no_gradient, "watch: only floating tensors have gradients, got ", value.spec(),
         "; cast it to float32");
  slots_of_.insert(value.impl()->id.number);
}

bool GradientTape::reads_tracked(const OpCall& call) {
  bool tracked = false;
  for (const TensorRef& input : call.inputs) {
    const ValueId id = input->impl()->id;
    if (id.watched && options_.watch_accessed_variables) {
      const std::int32_t known = slots_of_.size();
      if (slots_of_.insert(id.number) == known) variables_.push_back(id.number);
    }
    tracked |= slots_of_.find(id.number) != IdMap::kNone;
  }
  return tracked;
}

void GradientTape::run(OpCall& call) {
  if (started_in_ != pauses_) return next()->run(call);
  const bool tracked = reads_tracked(call);
  next()->run(call);
  if (tracked) record(call);
}

void GradientTape::record(const OpCall& call) {
  bool differentiable = false;
  for (const Tensor& output : call.outputs) differentiable |= is_floating(output.dtype());
  if (!differentiable) return;
  entries_.push_back({&call.op, static_cast<std::uint32_t>(attrs_.size()), static_cast<std::uint32_t>(slots_.size()),
                      static_cast<std::uint16_t>(call.inputs.size()), static_cast<std::uint16_t>(call.outputs.size())});
  attrs_.push_back(call.attrs);
  if (call.owner) owners_.push_back(*call.owner);
  const GradReads reads = call.op.grad_reads;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& input = *call.inputs[i];
    slots_.push_back(slots_of_.find(input.impl()->id.number));
    specs_.push_back(input.spec());
    kept_.push_back(reads.has_input(i) ? input : Tensor());
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Tensor& output = call.outputs[i];
    slots_.push_back(is_floating(output.dtype()) ? slots_of_.insert(output.impl()->id.number) : IdMap::kNone);
    specs_.push_back(output.spec());
    kept_.push_back(reads.has_output(i) ? output : Tensor());
  }
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source, Unconnected unconnected) {
  return gradient(target, Tensors{source}, unconnected)[0];
}

Tensors GradientTape::gradient(const Tensor& target, const Tensors& sources, Unconnected unconnected,
                               const Tensor& target_grad) {
  return gradient(Tensors{target}, sources, unconnected, target_grad.defined() ? Tensors{target_grad} : Tensors{});
}

Tensors GradientTape::gradient(const Tensors& targets, const Tensors& sources, Unconnected unconnected,
                               const Tensors& target_grads) {
  check_unused();
  used_ = true;
  if (!options_.persistent) stop();

  // Values met during the walk get slots too (a persistent tape records its own backward pass).
  std::vector<Tensor> grads(static_cast<std::size_t>(slots_of_.size()));
  std::vector<bool> is_source(grads.size());
  for (const Tensor& source : sources)
    if (const auto slot = slots_of_.find(source.impl()->id.number); slot != IdMap::kNone)
      is_source[static_cast<std::size_t>(slot)] = true;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto slot = slots_of_.find(targets[i].impl()->id.number);
    if (slot == IdMap::kNone) continue;
    if (!target_grads.empty() && target_grads[i].spec() != targets[i].spec())
      fail(ErrorCode::shape_mismatch, "gradient: the gradient given for a target must be ", targets[i].spec(), ", got ",
           target_grads[i].spec());
    Tensor seed = target_grads.empty() ? ones_like(targets[i]) : target_grads[i];
    Tensor& grad = grads[static_cast<std::size_t>(slot)];
    grad = grad.defined() ? add(grad, seed) : std::move(seed);
  }
  backward(grads, is_source);

  Tensors result;
  for (const Tensor& source : sources) {
    const auto slot = slots_of_.find(source.impl()->id.number);
    Tensor grad;
    if (slot != IdMap::kNone && static_cast<std::size_t>(slot) < grads.size())
      grad = grads[static_cast<std::size_t>(slot)];
    if (!grad.defined() && unconnected == Unconnected::zero) grad = zeros_like(source);
    result.push_back(std::move(grad));
  }
  if (!options_.persistent) forget();
  return result;
}

void GradientTape::backward(std::vector<Tensor>& grads, const std::vector<bool>& is_source) {
  SliceGrads slices;
  for (std::size_t at = entries_.size(); at-- > 0;) {
    const Entry entry = entries_[at];  // a copy: a persistent tape may record meanwhile
    bool reached = false;
    std::uint64_t wanted = 0;
    for (int k = 0; k < entry.output_count; ++k) {
      const auto slot = slots_[entry.inputs + entry.input_count + static_cast<std::uint32_t>(k)];
      if (slot == IdMap::kNone) continue;
      slices.add_to(slot, grads[static_cast<std::size_t>(slot)]);
      reached |= grads[static_cast<std::size_t>(slot)].defined();
    }
    if (reached) {
      for (int i = 0; i < entry.input_count && i < 64; ++i)
        if (slots_[entry.inputs + static_cast<std::uint32_t>(i)] != IdMap::kNone) wanted |= std::uint64_t{1} << i;
      const auto result = slots_[entry.inputs + entry.input_count];
      const bool sliced = wanted == 1 && entry.input_count == 1 && entry.output_count == 1 &&
                          slices.take(slots_[entry.inputs], *entry.op, attrs_[entry.attrs],
                                      specs_[entry.inputs].shape(), grads[static_cast<std::size_t>(result)]);
      const Tensors input_grads = sliced ? Tensors() : entry_grads(entry, grads, wanted);
      for (int k = 0; k < entry.output_count; ++k) {
        const auto slot = slots_[entry.inputs + entry.input_count + static_cast<std::uint32_t>(k)];
        if (slot != IdMap::kNone && !is_source[static_cast<std::size_t>(slot)])
          grads[static_cast<std::size_t>(slot)] = {};
      }
      for (std::size_t i = 0; i < input_grads.size(); ++i) {
        const auto slot = slots_[entry.inputs + i];
        if (slot == IdMap::kNone || !input_grads[i].defined()) continue;
        Tensor& grad = grads[static_cast<std::size_t>(slot)];
        grad = grad.defined() ? add(grad, input_grads[i]) : input_grads[i];
      }
    }
    if (!options_.persistent) release(entry);
  }
  for (const std::int32_t slot : slices.slots())
    if (is_source[static_cast<std::size_t>(slot)]) slices.add_to(slot, grads[static_cast<std::size_t>(slot)]);
}

Tensors GradientTape::entry_grads(const Entry& entry, std::vector<Tensor>& grads, std::uint64_t wanted) {
  if (!entry.op->grad)
    fail(ErrorCode::no_gradient, entry.op->name, " has no gradient; use stop_gradient() around it if none is wanted");
  // Copies, because a persistent tape may grow its arrays while the gradient runs.
  const auto first = entry.inputs, outputs = entry.inputs + entry.input_count;
  const std::vector<Tensor> kept(kept_.begin() + first, kept_.begin() + outputs + entry.output_count);
  const std::vector<TensorSpec> specs(specs_.begin() + first, specs_.begin() + outputs + entry.output_count);
  const Attrs attrs = attrs_[entry.attrs];
  Tensors output_grads;
  for (int k = 0; k < entry.output_count; ++k) {
    const auto slot = slots_[outputs + static_cast<std::uint32_t>(k)];
    output_grads.push_back(slot == IdMap::kNone ? Tensor() : grads[static_cast<std::size_t>(slot)]);
  }
  const std::span all(kept);
  const std::span all_specs(specs);
  GradContext context({*entry.op, attrs, all_specs.first(entry.input_count), all.first(entry.input_count),
                       all.subspan(entry.input_count), all_specs.subspan(entry.input_count), output_grads, wanted,
                       differentiate});
  Tensors result = entry.op->grad(context);
  for (std::size_t i = 0; i < result.size(); ++i)
    TANDEM_CHECK(!result[i].defined() || result[i].spec() == specs[i], "the gradient of input ", i, " of ",
                 entry.op->name, " is ", result[i].spec(), ", the input ", specs[i]);
  return result;
}

void GradientTape::release(const Entry& entry) {
  for (int i = 0; i < entry.input_count + entry.output_count; ++i)
    kept_[entry.inputs + static_cast<std::uint32_t>(i)] = {};
}

}  // namespace tandem
