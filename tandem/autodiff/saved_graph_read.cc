#include <cstring>
#include <limits>

#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/saved_graph.h"

namespace tandem {
namespace {

using placer::JsonValue;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::vector<std::int64_t> integers(const JsonValue& json, std::int64_t least = kLeast) {
  std::vector<std::int64_t> list;
  for (const JsonValue& value : json.elements()) list.push_back(value.integer(least));
  return list;
}

DType read_dtype(const JsonValue& json) {
  const auto dtype = parse_dtype(json.string());
  if (!dtype) json.complain(text("\"", json.string(), "\" is no dtype"));
  return *dtype;
}

TensorSpec read_spec(const JsonValue& json) {
  return {read_dtype(json.at("dtype")), Shape(std::span<const std::int64_t>(integers(json.at("shape"), 0)))};
}

double read_real(const JsonValue& json) {
  if (!json.is_string()) return json.number(std::numeric_limits<double>::lowest());
  const std::string word = json.string();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  json.complain(text("needs a number, got \"", word, "\""));
}

void read_attr(const AttrDef& def, const JsonValue& json, AttrWriter& writer) {
  switch (def.kind) {
    case AttrKind::integer: writer.put(json.integer(kLeast)); break;
    case AttrKind::real: writer.put(read_real(json)); break;
    case AttrKind::boolean: writer.put(json.boolean()); break;
    case AttrKind::dtype: writer.put(read_dtype(json)); break;
    case AttrKind::ints: writer.put(integers(json)); break;
    case AttrKind::choice: writer.put(std::string_view(json.string())); break;
  }
}

/// A number that the file does not name: ops are given more attributes as versions go by, and these then mean what was
/// before.
void read_attr_or_default(const AttrDef& def, const JsonValue& attrs, AttrWriter& writer) {
  if (def.kind == AttrKind::integer && !def.default_value.empty() && !attrs.find(def.name))
    writer.put(static_cast<std::int64_t>(std::stoll(std::string(def.default_value))));
  else read_attr(def, attrs.at(def.name), writer);
}

template <class T>
Tensor tensor_of(const TensorSpec& spec, const std::vector<std::int64_t>& values, const JsonValue& json) {
  std::vector<T> out;
  for (const std::int64_t value : values) {
    if (value != static_cast<T>(value)) json.complain(text(value, " is no ", spec.dtype()));
    out.push_back(static_cast<T>(value));
  }
  return Tensor::from_bytes(out.data(), out.size(), spec);
}

/// The graphs of one function, each made of those before it.
class FunctionReader {
 public:
  FunctionReader(const SavedValues& values) : values_(values) {}

  std::shared_ptr<const GraphFunction> read(const JsonValue& json) {
    const JsonValue list = json.at("graphs");
    for (const JsonValue& graph : list.elements()) functions_.push_back(read_graph(graph));
    if (functions_.empty()) list.complain("a function needs a graph");
    return functions_.back();
  }

 private:
  std::shared_ptr<const GraphFunction> read_graph(const JsonValue& json) {
    graph_ = {};
    const JsonValue nodes = json.at("nodes");
    const auto all = nodes.elements();
    if ((count_ += all.size()) > kMostSavedNodes) nodes.complain(text("more than ", kMostSavedNodes, " nodes"));
    for (const JsonValue& node : all) {
      try {
        graph_.nodes.push_back(read_node(node));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::bad_file) throw;
        node.complain(std::string(error.message()));  // what a shape rule or an attribute refuses
      }
    }
    for (const JsonValue& value : json.at("parameters").elements()) graph_.parameters.push_back(read_parameter(value));
    for (const JsonValue& value : json.at("results").elements()) graph_.results.push_back(read_value(value));
    for (const JsonValue& write : json.at("writes").elements()) graph_.writes.push_back(read_write(write));
    check_parameters(json);
    return GraphFunction::make(std::move(graph_), json.at("name").string());
  }

  std::int32_t read_parameter(const JsonValue& json) const {
    const GraphValue value = read_value(json);
    if (graph_.node(value).op != &parameter_op) json.complain(text("node ", value.node, " is no parameter"));
    return value.node;
  }

  /// Each parameter is one argument.
  void check_parameters(const JsonValue& json) const {
    std::vector<bool> listed(graph_.nodes.size());
    for (const std::int32_t node : graph_.parameters) {
      if (listed[static_cast<std::size_t>(node)])
        json.at("parameters").complain(text("node ", node, " is listed twice"));
      listed[static_cast<std::size_t>(node)] = true;
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (graph_.nodes[n].op == &parameter_op && !listed[n])
        json.at("parameters").complain(text("node ", n, " is a parameter and not listed"));
  }

  GraphValue read_value(const JsonValue& json) const {
    GraphValue value;
    const auto checked = [](const JsonValue& number, std::size_t end, std::string_view what) {
      const std::int64_t index = number.integer(0);
      if (index >= static_cast<std::int64_t>(end))
        number.complain(text("there is no ", what, " ", index, " before it; there are ", end));
      return static_cast<std::int32_t>(index);
    };
    if (!json.is_array()) {
      value.node = checked(json, graph_.nodes.size(), "node");
    } else {
      const auto pair = json.elements();
      if (pair.size() != 2) json.complain("a value is a node, or [node, output]");
      value.node = checked(pair[0], graph_.nodes.size(), "node");
      value.output = checked(pair[1], graph_.node(value).outputs.size(), "output");
    }
    if (graph_.node(value).outputs.empty()) json.complain(text("node ", value.node, " gives nothing"));
    return value;
  }

  Graph::Write read_write(const JsonValue& json) const {
    const Graph::Write write{read_cell(json.at("variable")), read_value(json.at("value"))};
    if (graph_.spec(write.value) != write.cell->spec())
      json.complain(text("variable '", write.cell->name(), "' is ", write.cell->spec(), " and would be given ",
                         graph_.spec(write.value)));
    return write;
  }

  const Ref<Cell>& read_cell(const JsonValue& json) const {
    const std::int64_t number = json.integer(0);
    if (number >= static_cast<std::int64_t>(values_.cells.size()))
      json.complain(text("there is no variable ", number, "; there are ", values_.cells.size()));
    return values_.cells[static_cast<std::size_t>(number)];
  }

  // --- Nodes ---

  Node read_node(const JsonValue& json) {
    if (const auto made = json.find("made")) return read_made(json, made->string());
    const std::string name = json.at("op").string();
    if (name == "parameter") return {.op = &parameter_op, .outputs = {read_spec(json.at("spec"))}};
    if (name == "constant") return read_constant(json);
    if (name == "variable") {
      const Ref<Cell>& cell = read_cell(json.at("variable"));
      return {.op = &variable_op, .outputs = {cell->spec()}, .cell = cell};
    }
    const OpDef* op = find_op(name);
    if (!op || op->data_dependent_shape)
      json.at("op").complain(text("there is no op '", name, "' here; a newer version may know it"));
    Node node{.op = op};
    AttrWriter writer(*op);
    for (const AttrDef& def : op->attrs) read_attr_or_default(def, json.at("attrs"), writer);
    node.attrs = writer.done();
    return complete(std::move(node), json);
  }

  Node complete(Node node, const JsonValue& json) const {
    std::vector<const TensorSpec*> specs;
    for (const JsonValue& value : json.at("inputs").elements()) {
      node.inputs.push_back(read_value(value));
      specs.push_back(&graph_.spec(node.inputs.back()));
    }
    if (const auto device = json.find("device")) node.requested = DeviceName::parse(device->string());
    node.outputs = infer(*node.op, specs, node.attrs);
    return node;
  }

  Node read_constant(const JsonValue& json) const {
    Tensor constant;
    if (const auto name = json.find("tensor")) {
      const auto found = values_.tensors.find(name->string());
      if (found == values_.tensors.end()) name->complain(text("there is no tensor '", name->string(), "'"));
      constant = found->second;
    } else {
      const TensorSpec spec = read_spec(json.at("spec"));
      const JsonValue list = json.at("values");
      const auto values = integers(list);
      if (spec.dtype() == DType::i32) constant = tensor_of<std::int32_t>(spec, values, list);
      else if (spec.dtype() == DType::i64) constant = tensor_of<std::int64_t>(spec, values, list);
      else list.complain(text("numbers in place are int32 or int64, not ", spec.dtype()));
    }
    return {.op = &constant_op, .outputs = {constant.spec()}, .constant = constant};
  }

  Node read_made(const JsonValue& json, const std::string& kind) const {
    OpParts parts{.kind = kind, .numbers = integers(json.at("numbers"))};
    for (const JsonValue& value : json.at("graphs").elements()) {
      const std::int64_t index = value.integer(0);
      if (index >= static_cast<std::int64_t>(functions_.size()))
        value.complain(text("there is no graph ", index, " before it; there are ", functions_.size()));
      parts.functions.push_back(functions_[static_cast<std::size_t>(index)]);
    }
    MadeOp made = make_op(parts);
    const JsonValue inputs = json.at("inputs");
    const auto given = inputs.elements();
    if (given.size() != made.inputs.size())
      inputs.complain(text(kind, " takes ", made.inputs.size(), " tensors, got ", given.size()));
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const TensorSpec& spec = graph_.spec(read_value(given[i])); made.inputs[i] && *made.inputs[i] != spec)
        given[i].complain(text(kind, " takes ", *made.inputs[i], " as tensor ", i, ", got ", spec));
    const OpDef* op = made.op.get();
    return complete({.op = op, .owner = std::move(made.op)}, json);
  }

  const SavedValues& values_;
  std::vector<std::shared_ptr<const GraphFunction>> functions_;
  Graph graph_;
  std::size_t count_ = 0;
};

}  // namespace

std::shared_ptr<const GraphFunction> read_graphs(const JsonValue& json, const SavedValues& values) {
  return FunctionReader(values).read(json);
}

}  // namespace tandem
