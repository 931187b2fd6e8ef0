// Graphs as text, for people and for Graphviz.
#include <sstream>

#include "tandem/graph/graph.h"

namespace tandem {
namespace {

/// "%3", or "%3.1" for the second output of a node that has several.
std::string name_of(const Graph& graph, GraphValue value) {
  std::string name = text("%", value.node);
  if (graph.node(value).outputs.size() > 1) name += text(".", value.output);
  return name;
}

std::string label(const Node& node) {
  std::string words{node.op->name};
  if (node.cell) words += " '" + node.cell->name() + "'";
  if (node.constant.defined() && node.constant.size() == 1 && node.constant.dtype() != DType::string)
    words += text(" ", node.constant.item<double>());
  const AttrView attrs(*node.op, node.attrs);
  if (const std::string values = attrs.to_string(); !values.empty()) words += "{" + values + "}";
  return words;
}

std::string specs_of(const Node& node) { return join(node.outputs); }

}  // namespace

std::string Graph::to_string() const {
  std::ostringstream out;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Node& node = nodes[at];
    out << '%' << at << " = " << label(node);
    if (!is_source(node)) {
      out << '(';
      for (std::size_t i = 0; i < node.inputs.size(); ++i) out << (i ? ", " : "") << name_of(*this, node.inputs[i]);
      out << ')';
    }
    out << " : " << specs_of(node);
    if (node.requested) out << " on " << node.requested->short_name();
    out << '\n';
  }
  for (const Write& write : writes)
    out << "variable '" << write.cell->name() << "' = " << name_of(*this, write.value) << '\n';
  out << "return";
  for (std::size_t i = 0; i < results.size(); ++i) out << (i ? ", " : " ") << name_of(*this, results[i]);
  out << '\n';
  return out.str();
}

std::string Graph::to_dot() const {
  std::ostringstream out;
  out << "digraph tandem {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n";
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Node& node = nodes[at];
    out << "  n" << at << " [label=\"" << label(node) << "\\n"
        << specs_of(node) << "\"" << (is_source(node) ? ", style=dashed" : "") << "];\n";
    for (GraphValue input : node.inputs) out << "  n" << input.node << " -> n" << at << ";\n";
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    out << "  r" << i << " [label=\"result " << i << "\", shape=ellipse];\n  n" << results[i].node << " -> r" << i
        << ";\n";
  for (std::size_t i = 0; i < writes.size(); ++i)
    out << "  w" << i << " [label=\"" << writes[i].cell->name() << "\", shape=ellipse];\n  n" << writes[i].value.node
        << " -> w" << i << ";\n";
  out << "}\n";
  return out.str();
}

}  // namespace tandem
