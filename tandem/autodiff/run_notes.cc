#include "tandem/autodiff/run_notes.h"

#include <utility>

#include "tandem/autodiff/explain.h"

namespace tandem {

RunNotes::RunNotes() : numbers_(random_state().position()) {
  outer_journal_ = std::exchange(WriteJournal::current(), &journal_);
  DispatchStack::push(*this);
}

RunNotes::~RunNotes() { stop(); }

void RunNotes::stop() {
  if (!std::exchange(noting_, false)) return;
  DispatchStack::remove(*this);
  WriteJournal::current() = outer_journal_;
  journal_.undo();
  if (random_state().position().calls != numbers_.calls) random_state().set_position(numbers_);
}

GraphValue RunNotes::value_of(const Tensor& tensor) {
  const auto [found, added] = values_.try_emplace(tensor.impl()->id.number);
  if (!added) return found->second;
  const Device* device = tensor.storage().space().device();
  homes_.push_back(device ? device->name().short_name() : "");
  found->second = graph_.add({.op = &parameter_op, .outputs = {tensor.spec()}});
  graph_.parameters.push_back(found->second.node);
  decisions_.push_back(nullptr);
  return found->second;
}

void RunNotes::run(OpCall& call) {
  Node node{.op = &call.op, .attrs = call.attrs};
  if (call.owner) node.owner = *call.owner;
  if (call.requested) node.requested = *call.requested;
  for (const TensorRef& input : call.inputs)
    if (!input->is_symbolic()) node.inputs.push_back(value_of(*input));
  if (auto function = GraphFunction::called_by(call.op)) {
    Explanation ops = explain(*function, call.inputs, {.scope = node.requested});
    inside_.push_back({-1, std::move(function), std::move(ops)});
  }
  const std::size_t called = inside_.size();
  next()->run(call);
  const auto number = static_cast<std::int32_t>(graph_.nodes.size());
  const Decision* decision = nullptr;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Tensor& output = call.outputs[i];
    node.outputs.push_back(output.spec());
    values_[output.impl()->id.number] = {number, static_cast<std::int32_t>(i)};
    if (i == 0) decision = output.impl()->decision;
  }
  graph_.add(std::move(node));
  decisions_.push_back(decision);
  if (GraphFunction::called_by(call.op)) inside_[called - 1].node = number;
}

}  // namespace tandem
