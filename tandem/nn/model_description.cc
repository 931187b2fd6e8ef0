#include "tandem/nn/model_description.h"

#include <algorithm>
#include <map>

#include "tandem/nn/graph_shapes.h"
#include "tandem/nn/layers.h"
#include "tandem/nn/model_config.h"

namespace tandem {
namespace {

Json any_batch_json(const Shape& shape) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  if (!sizes.empty()) sizes[0] = -1;
  return open_shape_json(sizes);
}

bool reads_words(const Layer& layer) {
  const std::string& name = layer.config().class_name();
  return name == "TextVectorization" || (name == "StringLookup" && !layer.config().flag("invert", false));
}

class Describer {
 public:
  Describer(const LayerGraph& graph, const std::string& name)
      : graph_(graph),
        name_(name),
        unique_(unique_names(graph)) {
    for (std::size_t i = 0; i < unique_.size(); ++i) names_[graph.layers()[i].get()] = unique_[i];
  }

  Json sequential() const {
    Json layers = Json::array();
    for (const LayerPtr& layer : graph_.layers()) {
      Json one = described(*layer);
      one["build_config"] = {{"input_shape", any_batch_json(layer->built_for())}};
      if (layers.empty())
        layers.push_back(of_class("InputLayer",
                                  {{"batch_shape", any_batch_json(layer->built_for())},
                                   {"dtype", reads_words(*layer) ? "string" : "float32"},
                                   {"name", "input_layer"}},
                                  "keras.layers"));
      layers.push_back(std::move(one));
    }
    return of_class("Sequential", {{"name", name_}, {"layers", std::move(layers)}}, "keras");
  }

  Json functional() {
    const auto shapes = shapes_in(graph_);
    std::map<const Layer*, Json> calls;
    const std::vector<LayerGraph::Node>& nodes = graph_.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Json& of_layer = calls.try_emplace(nodes[i].layer.get(), Json::array()).first->second;
      use_.push_back(uses_of_[nodes[i].layer.get()]++);
      if (!nodes[i].inputs.empty()) of_layer.push_back(call(nodes[i], shapes));
    }
    Json layers = Json::array();
    for (const LayerPtr& layer : graph_.layers()) {
      Json one = described(*layer);
      one["name"] = names_.at(layer.get());
      one["inbound_nodes"] = calls[layer.get()];
      layers.push_back(std::move(one));
    }
    std::vector<LayerGraph::Value> inputs;
    for (const std::size_t node : graph_.inputs()) inputs.push_back({node, 0});
    Json out = of_class("Functional",
                        {{"name", name_},
                         {"trainable", true},
                         {"layers", std::move(layers)},
                         {"input_layers", ends(inputs)},
                         {"output_layers", ends(graph_.outputs())}},
                        "keras.src.models.functional");
    out["registered_name"] = "Functional";
    return out;
  }

 private:
  static Json of_class(const std::string& class_name, Json config, const char* module) {
    return {{"module", module ? Json(module) : Json()},
            {"class_name", class_name},
            {"config", std::move(config)},
            {"registered_name", module ? Json() : Json(class_name)}};
  }

  Json described(const Layer& layer) const {
    if (const auto* nested = dynamic_cast<const NestedModel*>(&layer))
      return describe_model(nested->graph(), names_.at(&layer));
    const std::string& class_name = layer.config().class_name();
    if (class_name.empty())
      fail(ErrorCode::invalid_argument, "save: layer '", layer.name(),
           "' has no class; make it from a LayerConfig(\"NameOfTheClass\")");
    const bool input = class_name == "InputLayer";
    if (!layer.built() && !input)
      fail(ErrorCode::invalid_argument, "save: layer '", layer.name(),
           "' was never built; call the model, or fit it, first");
    static const std::vector<std::string> known = known_layers();
    Json config = layer.config().json().value;
    config["name"] = names_.at(&layer);
    for (const char* flag : kCallFlags) config.erase(flag);
    Json one = of_class(class_name, std::move(config),
                        std::binary_search(known.begin(), known.end(), class_name) ? "keras.layers" : nullptr);
    return one;
  }

  Json history(const LayerGraph::Value& value) const {
    return {names_.at(graph_.nodes()[value.node].layer.get()), use_[value.node], value.result};
  }

  /// Values of one call: layers that merge get one list, attention its query, value and key one after another.
  Json call(const LayerGraph::Node& node, const std::vector<std::vector<OpenSpec>>& shapes) const {
    Json tensors = Json::array();
    for (const LayerGraph::Value& input : node.inputs) {
      const OpenSpec& spec = shapes[input.node].at(input.result);
      tensors.push_back({{"class_name", "__keras_tensor__"},
                         {"config",
                          {{"shape", open_shape_json(spec.shape)},
                           {"dtype", dtype_name(spec.dtype)},
                           {"keras_history", history(input)}}}});
    }
    const std::string& class_name = node.layer->config().class_name();
    const bool apart =
        node.inputs.size() == 1 || class_name == "MultiHeadAttention" || class_name == "GroupQueryAttention";
    Json named = Json::object();
    for (const char* flag : kCallFlags)
      if (node.layer->config().flag(flag, false)) named[flag] = true;
    return {{"args", apart ? tensors : Json::array({tensors})}, {"kwargs", std::move(named)}};
  }

  Json ends(const std::vector<LayerGraph::Value>& values) const {
    if (values.size() == 1) return history(values[0]);
    Json out = Json::array();
    for (const LayerGraph::Value& value : values) out.push_back(history(value));
    return out;
  }

  const LayerGraph& graph_;
  const std::string& name_;
  std::vector<std::string> unique_;
  std::map<const Layer*, std::string> names_;
  std::map<const Layer*, int> uses_of_;
  std::vector<int> use_;  // which use of its layer a node is
};

}  // namespace

Json describe_model(const LayerGraph& graph, const std::string& name) {
  Describer describer(graph, name);
  return graph.nodes()[graph.inputs()[0]].layer ? describer.functional() : describer.sequential();
}

}  // namespace tandem
