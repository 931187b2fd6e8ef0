#include "tandem/nn/layer_graph.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace tandem {

LayerGraph LayerGraph::identity() {
  LayerGraph graph;
  graph.set_outputs({graph.add_input()});
  return graph;
}

LayerGraph::Value LayerGraph::add_input(LayerPtr layer, std::vector<OpenSpec> results) {
  if (layer) layers_.push_back(layer);
  nodes_.push_back({std::move(layer), {}, std::move(results)});
  inputs_.push_back(nodes_.size() - 1);
  return {nodes_.size() - 1, 0};
}

LayerGraph::Value LayerGraph::add(LayerPtr layer, std::vector<Value> inputs, std::vector<OpenSpec> results) {
  TANDEM_CHECK(layer && !inputs.empty(), "a node needs a layer and inputs");
  for (const Value& input : inputs) TANDEM_CHECK(input.node < nodes_.size(), "an input that does not exist yet");
  if (known_.insert(layer.get()).second) layers_.push_back(layer);
  nodes_.push_back({std::move(layer), std::move(inputs), std::move(results)});
  return {nodes_.size() - 1, 0};
}

std::string_view LayerGraph::last_activation(std::size_t output) const {
  const std::size_t maker = outputs_[output].node;
  int uses = 0;
  for (const Value& value : outputs_) uses += value.node == maker;
  for (const Node& node : nodes_)
    for (const Value& input : node.inputs) uses += input.node == maker;
  return uses == 1 && nodes_[maker].layer && nodes_[maker].inputs.size() == 1 ? nodes_[maker].layer->last_activation()
                                                                              : std::string_view();
}

Tensors LayerGraph::run(const Tensors& inputs, bool training, const std::vector<bool>& as_logits) const {
  return run_masked(inputs, Tensors(inputs.size()), training, as_logits).values;
}

LayerGraph::MaskedOutputs LayerGraph::run_masked(const Tensors& inputs, const Tensors& given, bool training,
                                                 const std::vector<bool>& as_logits) const {
  if (inputs.size() != inputs_.size())
    fail(ErrorCode::wrong_arity, "the model takes ", inputs_.size(), " inputs, got ", inputs.size());
  std::vector<Tensors> results(nodes_.size());
  Tensors masks(nodes_.size());  // of the first result of each
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const LayerPtr& layer = nodes_[inputs_[i]].layer;
    results[inputs_[i]] = {layer ? (*layer)(inputs[i], training) : inputs[i]};
    masks[inputs_[i]] = given[i];
  }
  const auto value_of = [&](const Value& value) -> const Tensor& {
    const Tensors& made = results[value.node];
    if (value.result >= made.size())
      fail(ErrorCode::invalid_argument, "result ", value.result, " of layer '", nodes_[value.node].layer->name(),
           "' is used, but it has ", made.size());
    return made[value.result];
  };
  const auto mask_of = [&](const Value& value) { return value.result == 0 ? masks[value.node] : Tensor(); };
  const auto gives_logits = [&](std::size_t node) {
    for (std::size_t k = 0; k < as_logits.size(); ++k)
      if (as_logits[k] && outputs_[k].node == node) return true;
    return false;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.inputs.empty()) continue;
    Tensors arguments, argument_masks;
    for (const Value& input : node.inputs) {
      arguments.push_back(value_of(input));
      argument_masks.push_back(mask_of(input));
    }
    for (const auto& [input, mask] : node.masks) {
      argument_masks.resize(std::max(argument_masks.size(), input + 1));
      argument_masks[input] = value_of(mask);
    }
    if (gives_logits(i)) {
      results[i] = {node.layer->as_logits(arguments[0], training)};
      if (node.layer->passes_mask()) masks[i] = argument_masks[0];
    } else {
      Masked made = (*node.layer)(arguments, argument_masks, training);
      results[i] = std::move(made.values);
      masks[i] = std::move(made.mask);
    }
  }
  MaskedOutputs out;
  for (const Value& output : outputs_) {
    out.values.push_back(value_of(output));
    out.masks.push_back(mask_of(output));
  }
  return out;
}

std::vector<Variable> LayerGraph::variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers_) std::ranges::copy(layer->variables(), std::back_inserter(all));
  return all;
}

std::vector<Variable> LayerGraph::trainable_variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers_) std::ranges::copy(layer->trainable_variables(), std::back_inserter(all));
  return all;
}

void LayerGraph::track(std::string path, LayerPtr layer) {
  if (std::ranges::find(paths_, path) != paths_.end())
    fail(ErrorCode::invalid_argument, "two layers are tracked as '", path, "'");
  paths_.push_back(std::move(path));
  layers_.push_back(std::move(layer));
}

std::vector<std::pair<std::string, LayerPtr>> LayerGraph::stored_layers() const {
  if (!paths_.empty()) {
    std::vector<std::pair<std::string, LayerPtr>> tracked;
    for (std::size_t i = 0; i < paths_.size(); ++i) tracked.emplace_back(paths_[i], layers_[i]);
    return tracked;
  }
  std::map<std::string, int> used;
  std::vector<std::pair<std::string, LayerPtr>> out;
  for (const LayerPtr& layer : layers_) {
    const std::string& class_name = layer->config().class_name();
    const std::string name = class_name == "GroupQueryAttention"
                                 ? "grouped_query_attention"
                                 : snake_case(class_name);  // as its class is called inside Keras
    const int count = used[name]++;
    out.emplace_back("layers/" + (count ? text(name, "_", count) : name), layer);
  }
  return out;
}

}  // namespace tandem
