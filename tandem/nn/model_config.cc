#include "tandem/nn/model_config.h"

#include <array>
#include <deque>
#include <map>

#include "tandem/nn/op_layers.h"

namespace tandem {
namespace {

/// The names by which Keras' files call a value: layer, use of it, result of the use.
struct History {
  std::string layer;
  std::size_t use = 0, result = 0;
  bool operator<(const History& other) const { return std::tie(layer, use) < std::tie(other.layer, other.use); }
};

class ModelReader {
 public:
  static constexpr int kMostNesting = 16;
  ModelReader(const LayerMakers& custom, const std::string& file) : custom_(custom), file_(file) {}

  DescribedModel read(const Json& description) {
    const std::string class_name = text_at(description, "class_name", "the model");
    const Json& config = at(description, "config", class_name);
    DescribedModel model{.class_name = class_name, .name = config.value("name", snake_case(class_name))};
    if (class_name == "Sequential") read_sequential(description, config, model);
    else if (class_name == "Functional" || class_name == "Model") read_functional(config, model);
    else
      refuse("the model is of class ", class_name,
             "; Sequential and Functional can be loaded. A subclassed model has no description of its layers: build it "
             "in code and load its weights");
    return model;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::bad_file, file_, ": ", parts...);
  }

  const Json& at(const Json& object, const char* key, const std::string& whose) const {
    if (!object.is_object() || !object.contains(key)) refuse(whose, " has no '", key, "'");
    return object[key];
  }
  std::string text_at(const Json& object, const char* key, const std::string& whose) const {
    const Json& value = at(object, key, whose);
    if (!value.is_string()) refuse("'", key, "' of ", whose, " must be a string, got ", shown(value));
    return value.get<std::string>();
  }
  const Json& list_at(const Json& object, const char* key, const std::string& whose) const {
    const Json& value = at(object, key, whose);
    if (!value.is_array()) refuse("'", key, "' of ", whose, " must be a list, got ", shown(value));
    return value;
  }

  // --- Layers ---

  /// A shape such as [null, 28, 28, 1]; empty when it is none.
  static std::vector<std::int64_t> shape_of(const Json& value) {
    std::vector<std::int64_t> shape;
    if (!value.is_array() || value.size() > kMaxRank) return {};
    for (const Json& size : value) {
      if (!size.is_null() && !size.is_number_integer()) return {};
      shape.push_back(size.is_null() ? -1 : size.get<std::int64_t>());
    }
    return shape;
  }

  LayerPtr read_layer(const Json& described, DescribedModel& model) {
    const std::string class_name = text_at(described, "class_name", "a layer");
    const Json& arguments = at(described, "config", "a layer of class " + class_name);
    if (!arguments.is_object())
      refuse("the config of a layer of class ", class_name, " must be an object, got ", shown(arguments));
    if (is_op(described) && !custom_.count(class_name)) return read_op(described, class_name, arguments);
    if (!custom_.count(class_name) && is_model_class(class_name)) return read_nested(described, class_name, model);
    Json copy = arguments;
    if (!copy.contains("name") && described.contains("name")) copy["name"] = described["name"];
    LayerConfig config(class_name, std::make_shared<LayerConfig::Json>(LayerConfig::Json{std::move(copy)}));
    note_call_flags(described, config);
    LayerPtr layer = make_layer(config, custom_);
    if (described.contains("build_config") && described["build_config"].is_object() &&
        described["build_config"].contains("input_shape"))
      if (auto shape = shape_of(described["build_config"]["input_shape"]); !shape.empty())
        model.built_for.emplace_back(layer, std::move(shape));
    return layer;
  }

  LayerPtr read_nested(const Json& described, const std::string& class_name, DescribedModel& model) {
    if (++nesting_ > kMostNesting) refuse("models are nested more than ", kMostNesting, " deep");
    DescribedModel inner = read(described);
    --nesting_;
    for (auto& item : inner.built_for) model.built_for.push_back(std::move(item));
    return std::make_shared<NestedModel>(LayerConfig(class_name, inner.name), std::move(inner.graph));
  }

  /// Functions such as x + y in a functional model are written as classes of keras.ops.
  static bool is_op(const Json& described) {
    const auto module = described.find("module");
    return module != described.end() && module->is_string() &&
           module->get<std::string>().find(".ops") != std::string::npos;
  }

  LayerPtr read_op(const Json& described, const std::string& class_name, const Json& arguments) const {
    const Json& nodes = list_at(described, "inbound_nodes", class_name);
    if (nodes.size() != 1 || !nodes[0].is_object())
      refuse("keras.ops.", class_name, " must be called once, got ", shown(nodes));
    Json config = arguments;
    const Json named =
        nodes[0].contains("kwargs") && nodes[0]["kwargs"].is_object() ? nodes[0]["kwargs"] : Json::object();
    config.update(named);
    return make_op_layer(
        LayerConfig(class_name, std::make_shared<LayerConfig::Json>(LayerConfig::Json{std::move(config)})),
        list_at(nodes[0], "args", class_name), named);
  }

  void note_input(const LayerConfig& config, DescribedModel& model) const {
    const Json& json = config.json().value;
    std::vector<std::int64_t> shape;
    for (const char* key : {"batch_shape", "batch_input_shape"})
      if (json.contains(key) && shape.empty()) shape = shape_of(json[key]);
    if (shape.empty() && json.contains("shape")) {
      shape = shape_of(json["shape"]);
      shape.insert(shape.begin(), -1);
    }
    model.input_shapes.push_back(std::move(shape));
    model.input_dtypes.push_back(parse_dtype(config.activation("dtype", "float32")).value_or(DType::f32));
  }

  // --- Sequential ---

  void read_sequential(const Json& description, const Json& config, DescribedModel& model) {
    std::vector<LayerPtr> stored;
    std::optional<LayerGraph::Value> value;
    for (const Json& described : list_at(config, "layers", "the model " + model.name)) {
      const LayerPtr layer = read_layer(described, model);
      const bool input = layer->config().class_name() == "InputLayer";
      if (input && value) refuse("the InputLayer '", layer->name(), "' of a Sequential must be the first layer");
      if (input) {
        value = model.graph.add_input(layer);
        note_input(layer->config(), model);
        continue;
      }
      if (!value) {
        value = model.graph.add_input();
        note_input(layer->config(), model);  // batch_input_shape of the first layer, as Keras 2 has it
      }
      value = model.graph.add(layer, {*value});
      stored.push_back(layer);
    }
    if (stored.empty()) refuse("the model ", model.name, " has no layers");
    model.graph.set_outputs({*value});
    model.graph.set_layers(std::move(stored));
    if (!model.input_shapes[0].empty()) return;
    if (config.contains("build_input_shape")) model.input_shapes[0] = shape_of(config["build_input_shape"]);
    else if (description.contains("build_config") && description["build_config"].is_object() &&
             description["build_config"].contains("input_shape"))
      model.input_shapes[0] = shape_of(description["build_config"]["input_shape"]);
  }

  // --- Functional ---

  /// One call of a layer; the last of its inputs are masks, of these inputs.
  struct Call {
    std::vector<History> inputs;
    std::vector<std::size_t> masks = {};
  };
  struct Use {
    LayerPtr layer;
    Call call;
  };

  History history_of(const Json& list, const std::string& whose) const {
    if (!list.is_array() || list.size() < 3 || !list[0].is_string() || !list[1].is_number_unsigned() ||
        !list[2].is_number_unsigned())
      refuse("an input of ", whose, " must be [layer, use, result], got ", shown(list));
    return {list[0].get<std::string>(), list[1].get<std::size_t>(), list[2].get<std::size_t>()};
  }

  /// Every tensor mentioned in `value`, in order.
  void collect(const Json& value, const std::string& whose, std::vector<History>& out) const {
    if (value.is_object() && value.value("class_name", Json()) == "__keras_tensor__") {
      out.push_back(history_of(at(at(value, "config", whose), "keras_history", whose), whose));
    } else if (value.is_structured()) {
      for (const Json& item : value) collect(item, whose, out);
    }
  }

  /// Keras 3: {"args": […], "kwargs": {…}}.
  Call read_call(const Json& node, const std::string& whose, bool of_op) const {
    Call call;
    collect(list_at(node, "args", whose), whose, call.inputs);
    if (!node.contains("kwargs")) return call;
    const Json& named = node["kwargs"];
    if (of_op) {  // which have operands by name, in the order of the file, and no masks
      collect(named, whose, call.inputs);
      return call;
    }
    for (const char* name : {"inputs", "query", "value", "key", "initial_state", "count_weights"})
      if (named.contains(name)) collect(named[name], whose, call.inputs);
    const std::size_t inputs = call.inputs.size();
    const auto note_mask = [&](const Json& value, std::size_t input) {
      const std::size_t before = call.inputs.size();
      collect(value, whose, call.inputs);
      for (std::size_t i = before; i < call.inputs.size(); ++i) call.masks.push_back(input + i - before);
    };
    if (named.contains("mask")) {
      const Json& mask = named["mask"];
      for (std::size_t i = 0; mask.is_array() && i < mask.size(); ++i) note_mask(mask[i], i);
      if (!mask.is_array()) note_mask(mask, 0);
    }
    constexpr std::array<const char*, 3> kOfInputs{"query_mask", "value_mask", "key_mask"};
    for (std::size_t i = 0; i < kOfInputs.size(); ++i)
      if (named.contains(kOfInputs[i])) note_mask(named[kOfInputs[i]], i);
    if (named.contains("attention_mask")) note_mask(named["attention_mask"], inputs);
    return call;
  }

  std::vector<Call> read_calls(const Json& described, const std::string& whose) const {
    std::vector<Call> calls;
    if (!described.contains("inbound_nodes")) return calls;
    for (const Json& node : list_at(described, "inbound_nodes", whose)) {
      if (node.is_object()) {
        calls.push_back(read_call(node, whose, is_op(described)));
        continue;
      }
      // Keras 2: a list of [layer, use, result, arguments].
      if (!node.is_array()) refuse("inbound_nodes of ", whose, " must be lists or objects, got ", shown(node));
      calls.emplace_back();
      for (const Json& one : node) calls.back().inputs.push_back(history_of(one, whose));
    }
    return calls;
  }

  /// One value, a list of them, or an object of them.
  std::vector<History> read_ends(const Json& config, const char* key, const std::string& name) const {
    const Json& value = at(config, key, "the model " + name);
    if (value.is_array() && value.size() == 3 && value[0].is_string()) return {history_of(value, key)};
    std::vector<History> out;
    if (value.is_structured())
      for (const Json& one : value) out.push_back(history_of(one, key));
    if (out.empty()) refuse("'", key, "' of the model ", name, " names nothing");
    return out;
  }

  /// What the calls of a layer ask for, as if it were among its arguments.
  static void note_call_flags(const Json& described, LayerConfig& config) {
    if (!described.contains("inbound_nodes") || !described["inbound_nodes"].is_array()) return;
    for (const Json& node : described["inbound_nodes"])
      for (const char* flag : kCallFlags)
        if (node.is_object() && node.contains("kwargs") && node["kwargs"].is_object() &&
            node["kwargs"].value(flag, Json()) == true)
          config.set(flag, true);
  }

  void read_functional(const Json& config, DescribedModel& model) {
    std::map<History, Use> uses;
    std::vector<LayerPtr> layers;
    for (const Json& described : list_at(config, "layers", "the model " + model.name)) {
      const LayerPtr layer = read_layer(described, model);
      const std::string name = described.contains("name") && described["name"].is_string()
                                   ? described["name"].get<std::string>()
                                   : layer->name();
      layers.push_back(layer);
      auto calls = read_calls(described, "layer '" + name + "'");
      if (calls.empty()) calls.emplace_back();  // an input
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (!uses.emplace(History{name, i, 0}, Use{layer, std::move(calls[i])}).second)
          refuse("two layers are named '", name, "'");
    }
    for (auto& [key, use] : uses)
      for (History& input : use.call.inputs) input = counted_from_zero(input, uses, false);
    const auto values = put_in_order(uses, read_ends(config, "input_layers", model.name), model);
    std::vector<LayerGraph::Value> outputs;
    for (const History& output : read_ends(config, "output_layers", model.name))
      outputs.push_back(value_of(values, counted_from_zero(output, uses, true), "output_layers"));
    model.graph.set_outputs(std::move(outputs));
    model.graph.set_layers(std::move(layers));
  }

  /// The ends of a model, and Keras 2 everywhere, count the uses of a model inside it from one: its own making was the
  /// first.
  static History counted_from_zero(History value, const std::map<History, Use>& uses, bool is_end) {
    const auto first = uses.find(History{value.layer, 0, 0});
    const bool model = first != uses.end() && first->second.layer->config().class_name() == "Functional";
    if (model && value.use > 0 && (is_end || !uses.count(value))) --value.use;
    return value;
  }

  LayerGraph::Value value_of(const std::map<History, LayerGraph::Value>& values, const History& wanted,
                             const std::string& whose) const {
    const auto found = values.find(wanted);
    if (found == values.end())
      refuse(whose, " refers to use ", wanted.use, " of layer '", wanted.layer,
             "', which does not exist or depends on itself");
    return {found->second.node, wanted.result};
  }

  /// Adds the inputs, then every use whose inputs are there, until none is left.
  std::map<History, LayerGraph::Value> put_in_order(const std::map<History, Use>& uses,
                                                    const std::vector<History>& inputs, DescribedModel& model) const {
    std::map<History, LayerGraph::Value> values;
    std::map<History, std::size_t> missing;  // inputs that are not there yet
    std::map<History, std::vector<History>> readers;  // of each value
    std::deque<History> ready;
    for (const auto& [key, use] : uses) {
      missing[key] = use.call.inputs.size();
      for (const History& input : use.call.inputs) readers[input].push_back(key);
    }
    for (const History& input : inputs) {
      const auto use = uses.find(input);
      if (use == uses.end() || !use->second.call.inputs.empty())
        refuse("input_layers refers to layer '", input.layer, "', which is no input");
      if (!values.emplace(input, model.graph.add_input(use->second.layer)).second)
        refuse("input_layers names '", input.layer, "' twice");
      note_input(use->second.layer->config(), model);
      ready.push_back(input);
    }
    while (!ready.empty()) {
      const History done = ready.front();
      ready.pop_front();
      for (const History& reader : readers[done]) {
        if (--missing[reader] > 0) continue;
        const Use& use = uses.at(reader);
        std::vector<LayerGraph::Value> arguments;
        for (const History& input : use.call.inputs)
          arguments.push_back(value_of(values, input, "layer '" + reader.layer + "'"));
        const std::vector<LayerGraph::Value> masks(arguments.end() - static_cast<std::ptrdiff_t>(use.call.masks.size()),
                                                   arguments.end());
        arguments.resize(arguments.size() - masks.size());
        if (arguments.empty()) refuse("layer '", reader.layer, "' is called with masks alone");
        const LayerGraph::Value made = model.graph.add(use.layer, std::move(arguments));
        for (std::size_t i = 0; i < masks.size(); ++i) model.graph.set_mask(made, use.call.masks[i], masks[i]);
        values.emplace(reader, made);
        ready.push_back(reader);
      }
    }
    return values;
  }

  const LayerMakers& custom_;
  const std::string& file_;
  int nesting_ = 0;
};

}  // namespace

DescribedModel read_model(const Json& description, const LayerMakers& custom, const std::string& file) {
  return ModelReader(custom, file).read(description);
}

LayerPtr read_nested_model(const LayerConfig& config, const LayerMakers& custom) {
  thread_local int nesting = 0;
  if (nesting >= ModelReader::kMostNesting)
    fail(ErrorCode::bad_file, "models are nested more than ", ModelReader::kMostNesting, " deep");
  const Json description{{"class_name", config.class_name()}, {"config", config.json().value}};
  struct Deeper {
    Deeper() { ++nesting; }
    ~Deeper() { --nesting; }
  } deeper;
  DescribedModel inner = read_model(description, custom, "model '" + config.name() + "'");
  return std::make_shared<NestedModel>(LayerConfig(config.class_name(), inner.name), std::move(inner.graph));
}

}  // namespace tandem
