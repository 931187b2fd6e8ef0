#include "tandem/graph/trace.h"

#include <algorithm>

#include "tandem/core/large_shapes.h"
#include "tandem/graph/followed_sizes.h"
#include "tandem/graph/open_graph.h"
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

Trace::Trace(const SizesInside* open)
    : outer_(current_),
      outer_tracing_(RandomState::tracing()),
      outer_notes_(tandem::size_notes()),
      open_(outer_ && outer_->open_ ? outer_->open_ : open),
      notes_(outer_ && outer_->open_ ? outer_->notes_
             : open                  ? &own_notes_
                                     : nullptr) {
  DispatchStack::push(*this);
  current_ = this;
  RandomState::tracing() = true;
  tell(notes_);
}

Trace* Trace::exchange(Trace* trace) {
  tell(trace ? trace->notes_ : nullptr);
  return std::exchange(current_, trace);
}

void Trace::tell(SizeNotes* notes) {
  tandem::size_notes() = notes;
  large_shapes_allowed() = notes;
}

Trace::~Trace() { stop(); }

void Trace::stop() {
  if (!recording_) return;
  recording_ = false;
  DispatchStack::remove(*this);
  current_ = outer_;
  RandomState::tracing() = outer_tracing_;
  tell(outer_notes_);  // also when the trace around it was left for a while: its sizes are open all the same
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
    if (open_) check_constant(tensor);
    value = graph_.add({.op = &constant_op, .outputs = {tensor.spec()}, .constant = tensor});
  } else {
    if (!outer_)
      fail(ErrorCode::cannot_trace, "a ", tensor.spec(),
           " tensor is used that belongs to a trace which has ended; return "
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

// A loop over an open axis that is unrolled would never end.
constexpr std::size_t kMostOpenNodes = 100'000;

/// Sizes computed from sizes, as shape(x)[0] * 2, are known while a function is traced. Such ops run at once, on the
/// host, so that their results can be shapes and bounds.
bool is_about_sizes(const OpCall& call) {
  if (call.inputs.empty() || call.owner) return false;
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const TensorRef& input) { return !input->is_symbolic() && may_hold_sizes(input->spec()); });
}

void run_at_once(OpCall& call) {
  const InitScope outside;
  const DeviceName* const requested = std::exchange(call.requested, nullptr);
  DispatchStack::top().run(call);
  call.requested = requested;
}

/// Only with sizes that can be put in later.
void check_open(const OpCall& call, const Specs& outputs, const SizesInside& inside) {
  constexpr std::int64_t kPart = kMostOpenRest / 16;
  constexpr std::array<std::int64_t, kMostStandIns> kAnySizes = {kMostOpenRest, kMostOpenRest, kMostOpenRest, kPart,
                                                                 kPart,         kPart,         kPart,         kPart};
  if (call.owner && !inside.may_be_open(call.op))
    fail(ErrorCode::cannot_trace, call.op.name, " has a graph of its own, whose sizes cannot be left open");
  if (!attrs_at(call.op, call.attrs, kAnySizes))
    fail(ErrorCode::cannot_trace, call.op.name, " has an attribute that does not simply follow from an open size: ",
         AttrView(call.op, call.attrs).to_string());
  for (const TensorSpec& output : outputs)
    if (!shape_at(output.shape(), kAnySizes))
      fail(ErrorCode::cannot_trace, call.op.name, " gives a size that does not simply follow from an open one");
}

}  // namespace

void Trace::run(OpCall& call) {
  if (is_about_sizes(call)) {
    if (open_)
      for (const TensorRef& input : call.inputs) check_constant(*input);
    return run_at_once(call);
  }
  if (call.op.data_dependent_shape)
    fail(ErrorCode::cannot_trace, call.op.name,
         ": the shape of its result depends on values, so it cannot be part of a "
         "traced function; call it outside the function and pass the result in");
  const std::int32_t at = record(call);
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    call.outputs[i] = make_symbolic({at, static_cast<std::int32_t>(i)},
                                    graph_.nodes[static_cast<std::size_t>(at)].outputs[i], {next_value_id()});
  if (open_ && !call.outputs.empty()) follow_sizes(call);
}

std::int32_t Trace::record(const OpCall& call) {
  Node node{.op = &call.op, .attrs = call.attrs};
  if (call.owner) node.owner = *call.owner;
  if (call.requested) node.requested = *call.requested;
  std::vector<const TensorSpec*> specs;
  for (const TensorRef& input : call.inputs) {
    node.inputs.push_back(value_of(*input));
    specs.push_back(&input->spec());
  }
  node.outputs = infer(call.op, specs, call.attrs);
  if (open_) {
    check_open(call, node.outputs, *open_);
    if (graph_.nodes.size() > kMostOpenNodes)
      fail(ErrorCode::cannot_trace, call.op.name, ": more than ", kMostOpenNodes,
           " ops with open sizes; is an axis of open size unrolled?");
  }
  return graph_.add(std::move(node)).node;
}

void Trace::follow_sizes(const OpCall& call) {
  const auto numbers = followed(call, [&](const Tensor& input) { return sizes_in(input); });
  if (numbers) sizes_.emplace(call.outputs[0].impl(), *numbers);
}

const std::vector<std::int64_t>* Trace::sizes_in(const Tensor& tensor) const {
  for (const Trace* trace = this; trace; trace = trace->outer_)
    if (const auto found = trace->sizes_.find(tensor.impl()); found != trace->sizes_.end()) return &found->second;
  return nullptr;
}

Graph Trace::finish(std::span<const Tensor> results) {
  for (const Tensor& result : results) graph_.results.push_back(value_of(result));
  for (const Ref<Cell>& cell : written_) graph_.writes.push_back({cell, value_of(variables_[cell.get()])});
  stop();
  return std::move(graph_);
}

}  // namespace tandem
