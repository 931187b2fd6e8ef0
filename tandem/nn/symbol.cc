#include "tandem/nn/symbol.h"

#include <map>

#include "tandem/nn/graph_shapes.h"
#include "tandem/nn/layer_json.h"
#include "tandem/nn/layers.h"

namespace tandem {

struct Symbol::Use {
  LayerPtr layer;
  std::vector<Symbol> inputs;
  std::vector<OpenSpec> results;
};

namespace {

/// Puts the uses of layers that an output needs into a graph, each after what it reads.
class Drawing {
 public:
  explicit Drawing(const std::vector<Symbol>& inputs) {
    for (const Symbol& input : inputs) {
      const Symbol::Use& use = input.use();
      if (!use.inputs.empty())
        fail(ErrorCode::invalid_argument, "a model's inputs must come from Input(), but one is the result of layer '",
             use.layer->name(), "'");
      if (!done_.emplace(&use, graph_.add_input(use.layer, use.results)).second)
        fail(ErrorCode::invalid_argument, "input '", use.layer->name(), "' is given twice");
    }
  }

  LayerGraph::Value add(const Symbol& output) {
    std::vector<const Symbol::Use*> path{&output.use()};  // a stack of its own: a deep model must not exhaust ours
    while (!path.empty()) {
      const Symbol::Use* use = path.back();
      if (!done_.count(use) && wait_for_inputs(*use, path)) continue;
      path.pop_back();
    }
    return value_of(output);
  }

  LayerGraph finish(std::vector<LayerGraph::Value> outputs) {
    graph_.set_outputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  LayerGraph::Value value_of(const Symbol& symbol) const { return {done_.at(&symbol.use()).node, symbol.index()}; }

  /// Puts the first input that is missing onto the path; if none is, adds the use and returns false.
  bool wait_for_inputs(const Symbol::Use& use, std::vector<const Symbol::Use*>& path) {
    if (use.inputs.empty())
      fail(ErrorCode::invalid_argument, "an output depends on input '", use.layer->name(),
           "', which is no input of the model; add it to the inputs");
    std::vector<LayerGraph::Value> arguments;
    for (const Symbol& input : use.inputs) {
      if (!done_.count(&input.use())) return path.push_back(&input.use()), true;
      arguments.push_back(value_of(input));
    }
    done_.emplace(&use, graph_.add(use.layer, std::move(arguments), use.results));
    return false;
  }

  LayerGraph graph_;
  std::map<const Symbol::Use*, LayerGraph::Value> done_;
};

}  // namespace

const OpenSpec& Symbol::spec() const { return use_->results[result_]; }

Symbol Symbol::result(std::size_t index) const {
  if (index >= use_->results.size())
    fail(ErrorCode::invalid_argument, "layer '", use_->layer->name(), "' has ", use_->results.size(), " results; ",
         index, " was asked for");
  return {use_, index};
}

LayerGraph graph_between(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs) {
  if (inputs.empty() || outputs.empty())
    fail(ErrorCode::invalid_argument, "a model needs inputs and outputs, got ", inputs.size(), " and ", outputs.size());
  Drawing drawing(inputs);
  std::vector<LayerGraph::Value> ends;
  for (const Symbol& output : outputs) ends.push_back(drawing.add(output));
  return drawing.finish(std::move(ends));
}

Symbol LayerPtr::operator()(const std::vector<Symbol>& inputs) const {
  std::vector<OpenSpec> specs;
  for (const Symbol& input : inputs) specs.push_back(input.spec());
  auto results = results_of(**this, specs);
  return {std::make_shared<Symbol::Use>(Symbol::Use{*this, inputs, std::move(results)}), 0};
}

Symbol LayerPtr::operator()(const Symbol& x) const { return (*this)(std::vector<Symbol>{x}); }

Symbol Input(std::vector<std::int64_t> shape, InputOptions options) {
  shape.insert(shape.begin(), -1);
  const Json arguments{{"batch_shape", open_shape_json(shape)},
                       {"dtype", dtype_name(options.dtype)},
                       {"name", options.name.empty() ? "input_layer" : options.name}};
  const LayerPtr layer =
      make_layer(LayerConfig("InputLayer", std::make_shared<LayerConfig::Json>(LayerConfig::Json{arguments})));
  return {std::make_shared<Symbol::Use>(Symbol::Use{layer, {}, {OpenSpec{options.dtype, shape}}}), 0};
}

}  // namespace tandem
