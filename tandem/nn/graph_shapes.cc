#include "tandem/nn/graph_shapes.h"

#include <set>

namespace tandem {
namespace {

// What open sizes are while shapes are found: so odd that sizes of the result which are multiples must come from them.
constexpr std::int64_t kBatch = 1013, kOpen = 1009;

TensorSpec probe(const OpenSpec& spec) {
  std::vector<std::int64_t> sizes = spec.shape;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0) sizes[i] = i == 0 ? kBatch : kOpen;
  return {spec.dtype, Shape(std::span<const std::int64_t>(sizes))};
}

OpenSpec opened(const TensorSpec& spec) {
  OpenSpec open{spec.dtype(), {spec.shape().begin(), spec.shape().end()}};
  for (std::int64_t& size : open.shape)
    if (size != 0 && (size % kBatch == 0 || size % kOpen == 0)) size = -1;
  return open;
}

OpenSpec any_batch(const Shape& shape) {
  OpenSpec spec{DType::f32, {shape.begin(), shape.end()}};
  if (!spec.shape.empty()) spec.shape[0] = -1;
  return spec;
}

/// An input as the layer that reads it first was built for.
std::vector<OpenSpec> input_results(const LayerGraph& graph, std::size_t input) {
  for (const LayerGraph::Node& node : graph.nodes())
    for (const LayerGraph::Value& value : node.inputs)
      if (value.node == input && node.layer->built()) return {any_batch(node.layer->built_for())};
  return {};
}

}  // namespace

std::vector<OpenSpec> results_of(Layer& layer, const std::vector<OpenSpec>& inputs) {
  Trace trace;
  Tensors arguments;
  for (const OpenSpec& input : inputs) arguments.push_back(trace.parameter(probe(input)));
  std::vector<OpenSpec> out;
  for (const Tensor& result : layer(arguments, false)) out.push_back(opened(result.spec()));
  return out;
}

std::vector<std::vector<OpenSpec>> shapes_in(const LayerGraph& graph) {
  std::vector<std::vector<OpenSpec>> all;
  for (const LayerGraph::Node& node : graph.nodes()) {
    if (!node.results.empty()) {
      all.push_back(node.results);
    } else if (node.inputs.empty()) {
      all.push_back(input_results(graph, all.size()));
    } else {
      std::vector<OpenSpec> inputs;
      for (const LayerGraph::Value& value : node.inputs)
        if (value.result < all[value.node].size()) inputs.push_back(all[value.node][value.result]);
      const bool known = inputs.size() == node.inputs.size() && node.layer->built();
      all.push_back(known ? results_of(*node.layer, inputs) : std::vector<OpenSpec>());
    }
  }
  return all;
}

std::vector<std::string> unique_names(const LayerGraph& graph) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const LayerPtr& layer : graph.layers()) {
    std::string name = layer->name();
    for (int i = 1; !taken.insert(name).second; ++i) name = text(layer->name(), "_", i);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tandem
