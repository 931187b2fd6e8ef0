// The nodes of a traced function as Python values: what exporters walk through.
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

nb::object attribute(const AttrView& view, const AttrDef& def) {
  switch (def.kind) {
    case AttrKind::integer: return nb::int_(view.integer(def.name));
    case AttrKind::real: return nb::float_(view.real(def.name));
    case AttrKind::boolean: return nb::bool_(view.boolean(def.name));
    case AttrKind::dtype: return nb::steal(dtype_object(view.dtype(def.name)));
    case AttrKind::choice: return nb::str(std::string(view.choice(def.name)).c_str());
    case AttrKind::ints: break;
  }
  nb::list values;
  for (const std::int64_t value : view.ints(def.name)) values.append(value);
  return values;
}

nb::dict node_dict(const Node& node) {
  nb::dict attributes, out;
  const AttrView view(*node.op, node.attrs);
  for (const AttrDef& def : node.op->attrs) attributes[std::string(def.name).c_str()] = attribute(view, def);
  nb::list inputs, outputs;
  for (const GraphValue& input : node.inputs) inputs.append(nb::make_tuple(input.node, input.output));
  for (const TensorSpec& spec : node.outputs)
    outputs.append(nb::make_tuple(nb::steal(shape_object(spec.shape())), nb::steal(dtype_object(spec.dtype()))));
  out["op"] = std::string(node.op->name).c_str();
  out["inputs"] = inputs;
  out["outputs"] = outputs;
  out["attributes"] = attributes;
  if (node.constant.defined()) out["value"] = to_object(node.constant);
  if (node.cell) {
    out["value"] = to_object(node.cell->read());
    out["name"] = std::string(node.cell->name()).c_str();
    out["cell"] = node.cell->id().number;  // as variable_id() of the variable
  }
  return out;
}

/// Nodes in order, the numbers of the parameters' nodes, and the results as pairs of node and output.
nb::tuple graph_nodes(const Concrete& concrete) {
  const Graph& graph = concrete.function->graph();
  nb::list nodes, parameters, results;
  for (const Node& node : graph.nodes) nodes.append(node_dict(node));
  for (const std::int32_t node : graph.parameters) parameters.append(node);
  for (const GraphValue& result : graph.results) results.append(nb::make_tuple(result.node, result.output));
  return nb::make_tuple(nodes, parameters, results);
}

/// What variables hold when the function has ended, as pairs of variable_id() and a pair of node and output.
nb::list graph_writes(const Concrete& concrete) {
  nb::list writes;
  for (const Graph::Write& write : concrete.function->graph().writes) {
    writes.append(nb::make_tuple(write.cell->id().number, nb::make_tuple(write.value.node, write.value.output)));
  }
  return writes;
}

}  // namespace

void add_graph_nodes(nb::module_& module) {
  module.def("graph_nodes", graph_nodes);
  module.def("graph_writes", graph_writes);
}

}  // namespace tandem::python
