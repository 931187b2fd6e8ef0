#include "tandem/exec/stepwise.h"

#include <algorithm>

#include "tandem/core/write_journal.h"
#include "tandem/exec/key_word.h"
#include "tandem/exec/write_locks.h"

namespace tandem {
namespace {

Tensor& at(std::vector<Tensors>& values, GraphValue value) {
  return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
}
const Tensor& at(const std::vector<Tensors>& values, GraphValue value) {
  return at(const_cast<std::vector<Tensors>&>(values), value);
}

/// The attributes of a random op with the words of one call.
Attrs with_words(const OpDef& op, const Attrs& attrs, const RandomState::Call& call) {
  Attrs out;
  for (std::int64_t word : attrs.key()) out.push(false, word);
  std::size_t next = 0;
  for (const AttrDef& attr : op.attrs) {
    if (!attr.at_run_time) continue;
    const std::int64_t word = attrs.run_time()[next++];
    out.push(true, attr.name == "key" ? call.key : attr.name == "counter" ? call.counter : word);
  }
  return out;
}

}  // namespace

Stepwise::Stepwise(const Graph& graph, std::vector<std::optional<DeviceName>> devices)
    : graph_(graph),
      devices_(std::move(devices)),
      ending_(graph.nodes.size()) {
  std::map<GraphValue, std::size_t> last;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (GraphValue input : graph.nodes[n].inputs) last[input] = n;
  for (GraphValue result : graph.results) last.erase(result);
  for (const Graph::Write& write : graph.writes) last.erase(write.value);
  for (const auto& [value, node] : last) ending_[node].push_back(value);
}

void Stepwise::run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<const Plan::Write> writes,
                   std::span<const RandomState::Call> drawn) const {
  WriteLocks locks(writes);
  const std::vector<Tensors> values = compute(arguments, drawn);
  Tensors written;
  for (const Plan::Write& write : writes) {
    const auto found = std::ranges::find(graph_.writes, write.cell, &Graph::Write::cell);
    written.push_back(write.cell->own(at(values, found->value)));
  }
  locks.close();
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = at(values, graph_.results[i]);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    WriteJournal::note(writes[i].cell);
    writes[i].cell->value = std::move(written[i]);
  }
}

std::vector<Tensors> Stepwise::compute(std::span<const TensorRef> arguments,
                                       std::span<const RandomState::Call> drawn) const {
  std::vector<Tensors> values(graph_.nodes.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    values[static_cast<std::size_t>(graph_.parameters[i])] = {*arguments[i]};
  std::size_t draws = 0;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.op == &parameter_op) continue;
    if (node.op == &constant_op) {
      values[n] = {node.constant};
    } else if (node.op == &variable_op) {
      values[n] = {lying_in(*node.cell)};
    } else if (draws_each_run(*node.op, node.attrs.run_time())) {
      const auto call = drawn.empty() ? random_state().draw(node.attrs.run_time()[key_word(*node.op)]) : drawn[draws++];
      values[n] = run_node(n, values, with_words(*node.op, node.attrs, call));
    } else {
      values[n] = run_node(n, values, node.attrs);
    }
    for (GraphValue value : ending_[n]) at(values, value) = {};
  }
  return values;
}

Tensors Stepwise::run_node(std::size_t n, const std::vector<Tensors>& values, const Attrs& attrs) const {
  const Node& node = graph_.nodes[n];
  std::vector<TensorRef> inputs;
  std::uint32_t donated = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.emplace_back(at(values, node.inputs[i]));
    const bool once = std::ranges::count(node.inputs, node.inputs[i]) == 1;
    if (i < 32 && once && std::ranges::find(ending_[n], node.inputs[i]) != ending_[n].end()) donated |= 1u << i;
  }
  Tensors outputs(node.outputs.size());
  OpCall call{.op = *node.op,
              .inputs = inputs,
              .attrs = attrs,
              .outputs = outputs,
              .requested = devices_[n] ? &*devices_[n] : nullptr,
              .donated = donated,
              .owner = node.owner ? &node.owner : nullptr};
  runtime_dispatcher().run(call);
  return outputs;
}

}  // namespace tandem
