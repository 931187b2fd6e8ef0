#include "tandem/graph/trace.h"

#include <algorithm>

#include "tandem/op/random_state.h"

namespace tandem {

thread_local Trace* Trace::current_ = nullptr;

InitScope::InitScope()
    : stack_(DispatchStack::exchange(nullptr)),
      trace_(std::exchange(Trace::current_, nullptr)),
      tracing_(std::exchange(RandomState::tracing(), false)),
      draws_(ReplicaDraws::exchange(nullptr)) {}

InitScope::~InitScope() {
  DispatchStack::exchange(stack_);
  Trace::current_ = trace_;
  RandomState::tracing() = tracing_;
  ReplicaDraws::exchange(draws_);
}

Trace::Trace() : outer_(current_), outer_tracing_(RandomState::tracing()) {
  DispatchStack::push(*this);
  current_ = this;
  RandomState::tracing() = true;
}

Trace::~Trace() { stop(); }

void Trace::stop() {
  if (!recording_) return;
  recording_ = false;
  DispatchStack::remove(*this);
  current_ = outer_;
  RandomState::tracing() = outer_tracing_;
}

Tensor Trace::make_symbolic(GraphValue value, const TensorSpec& spec, ValueId id) {
  Tensor tensor = Tensor::symbolic(spec, id);
  values_.emplace(tensor.impl(), value);
  kept_.push_back(tensor);
  return tensor;
}

Tensor Trace::parameter(const TensorSpec& spec) { return parameter(spec, {next_value_id()}); }

Tensor Trace::parameter(const TensorSpec& spec, ValueId id) {
  const GraphValue value = graph_.add({.op = &parameter_op, .outputs = {spec}});
  graph_.parameters.push_back(value.node);
  return make_symbolic(value, spec, id);
}

GraphValue Trace::value_of(const Tensor& tensor) {
  if (auto found = values_.find(tensor.impl()); found != values_.end()) return found->second;
  GraphValue value;
  if (!tensor.is_symbolic()) {
    value = graph_.add({.op = &constant_op, .outputs = {tensor.spec()}, .constant = tensor});
  } else {
    if (!outer_)
      fail(ErrorCode::cannot_trace, "a ", tensor.spec(), " tensor is used that belongs to a trace which has ended; return "
           "it from its function, or assign it to a variable");
    value = values_.at(capture(tensor, tensor.impl()->id).impl());
  }
  values_.emplace(tensor.impl(), value);
  kept_.push_back(tensor);
  return value;
}

/// A parameter that stands for a tensor of the enclosing trace.
Tensor Trace::capture(const Tensor& outer, ValueId id) {
  captures_.push_back(outer);
  return parameter(outer.spec(), id);
}

Tensor Trace::stand_in(const Tensor& outer) {
  Tensor tensor = parameter(outer.spec(), outer.impl()->id);
  values_.emplace(outer.impl(), values_.at(tensor.impl()));
  kept_.push_back(outer);
  return tensor;
}

Tensor Trace::read(const Ref<Cell>& cell) {
  Tensor& tensor = variables_[cell.get()];
  if (!tensor.defined()) {
    if (outer_) {
      const Tensor outside = outer_->read(cell);
      cell_reads_.push_back({cell, captures_.size()});
      tensor = capture(outside, outside.impl()->id);
    } else {
      const GraphValue value = graph_.add({.op = &variable_op, .outputs = {cell->spec()}, .cell = cell});
      tensor = make_symbolic(value, cell->spec(), cell->id());
    }
  }
  return tensor;
}

void Trace::write(const Ref<Cell>& cell, const Tensor& value) {
  const GraphValue source = value_of(value);
  read(cell);  // so that the graph knows the variable
  if (std::find(written_.begin(), written_.end(), cell) == written_.end()) written_.push_back(cell);
  const Tensor owned = cell->own(value);  // checks, and a new identity
  values_.emplace(owned.impl(), source);
  kept_.push_back(owned);
  variables_[cell.get()] = owned;
}

namespace {

/// Sizes computed from sizes, as shape(x)[0] * 2, are known while a function is traced. Such ops run at once, on the
/// host, so that their results can be shapes and bounds.
bool is_about_sizes(const OpCall& call) {
  constexpr std::int64_t kMostElements = 64;
  if (call.inputs.empty() || call.owner) return false;
  return std::all_of(call.inputs.begin(), call.inputs.end(), [](const TensorRef& input) {
    return !input->is_symbolic() && is_integer(input->dtype()) && input->size() <= kMostElements;
  });
}

void run_at_once(OpCall& call) {
  const InitScope outside;
  const DeviceName* const requested = std::exchange(call.requested, nullptr);
  DispatchStack::top().run(call);
  call.requested = requested;
}

}  // namespace

void Trace::run(OpCall& call) {
  if (is_about_sizes(call)) return run_at_once(call);
  if (call.op.data_dependent_shape)
    fail(ErrorCode::cannot_trace, call.op.name, ": the shape of its result depends on values, so it cannot be part of a "
         "traced function; call it outside the function and pass the result in");
  Node node{.op = &call.op, .attrs = call.attrs};
  if (call.owner) node.owner = *call.owner;
  if (call.requested) node.requested = *call.requested;
  std::vector<const TensorSpec*> specs;
  for (const TensorRef& input : call.inputs) {
    node.inputs.push_back(value_of(*input));
    specs.push_back(&input->spec());
  }
  node.outputs = infer(call.op, specs, call.attrs);
  const std::int32_t at = graph_.add(std::move(node)).node;
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    call.outputs[i] = make_symbolic({at, static_cast<std::int32_t>(i)},
                                    graph_.nodes[static_cast<std::size_t>(at)].outputs[i], {next_value_id()});
}

Graph Trace::finish(std::span<const Tensor> results) {
  for (const Tensor& result : results) graph_.results.push_back(value_of(result));
  for (const Ref<Cell>& cell : written_) graph_.writes.push_back({cell, value_of(variables_[cell.get()])});
  stop();
  return std::move(graph_);
}

}  // namespace tandem
