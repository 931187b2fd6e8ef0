// What a model looks like: Keras' table, and a picture for Graphviz.
#include <algorithm>
#include <set>

#include "tandem/nn/graph_shapes.h"
#include "tandem/nn/model.h"

namespace tandem {
namespace {

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string shape_text(const std::vector<OpenSpec>& results) {
  if (results.empty()) return "?";
  std::string out;
  for (const OpenSpec& result : results) {
    out += out.empty() ? "(" : ", (";
    for (std::size_t i = 0; i < result.shape.size(); ++i)
      out += (i ? ", " : "") + (result.shape[i] < 0 ? "None" : std::to_string(result.shape[i]));
    out += ")";
  }
  return results.size() > 1 ? "[" + out + "]" : out;
}

/// Bytes as people read them.
std::string size_text(double bytes) {
  const char* unit = "B";
  for (const char* next : {"KB", "MB", "GB", "TB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = next;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f %s", bytes, unit);
  return buffer;
}

std::string total_line(const char* title, const std::vector<Variable>& variables) {
  std::int64_t count = 0;
  double bytes = 0;
  for (const Variable& variable : variables) {
    count += variable.shape().elements();
    bytes += static_cast<double>(variable.spec().bytes());
  }
  return text(" ", title, " params: ", with_commas(count), " (", size_text(bytes), ")\n");
}

struct Row {
  std::string layer, shape, parameters, connections;
};

/// Lines of boxes, as wide as Keras draws them.
class Table {
 public:
  explicit Table(std::vector<std::size_t> widths) : widths_(std::move(widths)) {}

  std::string rule(const char* left, const char* line, const char* between, const char* right) const {
    std::string out = left;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      for (std::size_t k = 0; k < widths_[i]; ++k) out += line;
      out += i + 1 < widths_.size() ? between : right;
    }
    return out + "\n";
  }

  std::string row(const std::vector<std::string>& cells, const char* edge) const {
    std::string out = edge;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const std::size_t inside = widths_[i] - 2;
      std::string cell = cells[i].size() > inside ? cells[i].substr(0, inside - 1) + "…" : cells[i];
      const std::size_t shown = cells[i].size() > inside ? inside : cell.size();
      const std::string blank(inside - shown, ' ');
      out += " " + (i == 2 ? blank + cell : cell + blank) + " " + edge;
    }
    return out + "\n";
  }

 private:
  std::vector<std::size_t> widths_;
};

bool is_chain(const LayerGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const LayerGraph::Node& node = graph.nodes()[i];
    if (node.inputs.size() > 1 || (node.inputs.size() == 1 && node.inputs[0].node + 1 != i)) return false;
  }
  return graph.outputs().size() == 1 && graph.layers().size() + 1 >= graph.nodes().size();
}

}  // namespace

std::string Model::summary() const {
  const auto shapes = shapes_in(graph_);
  const std::vector<std::string> names = unique_names(graph_);
  const bool chain = is_chain(graph_);
  std::map<const Layer*, Row> rows;
  const auto name_of = [&](const LayerPtr& layer) {
    return names[static_cast<std::size_t>(std::find(layers().begin(), layers().end(), layer) - layers().begin())];
  };
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
    const LayerGraph::Node& node = graph_.nodes()[i];
    if (!node.layer) continue;
    Row& row = rows[node.layer.get()];
    row.layer = text(name_of(node.layer), " (", node.layer->config().class_name(), ")");
    row.shape = shape_text(shapes[i]);
    row.parameters =
        node.layer->built() || node.inputs.empty() ? with_commas(node.layer->count_params()) : "0 (unbuilt)";
    for (const LayerGraph::Value& input : node.inputs)
      if (const LayerPtr& from = graph_.nodes()[input.node].layer)
        row.connections += text(row.connections.empty() ? "" : ", ", name_of(from), "[0][", input.result, "]");
    if (row.connections.empty()) row.connections = "-";
  }
  // Keras' columns, for a line of 76 characters.
  const Table table(chain ? std::vector<std::size_t>{33, 24, 15} : std::vector<std::size_t>{21, 18, 12, 19});
  const auto cells = [&](const Row& row) {
    return chain ? std::vector<std::string>{row.layer, row.shape, row.parameters}
                 : std::vector<std::string>{row.layer, row.shape, row.parameters, row.connections};
  };
  std::string out = text("Model: \"", name_, "\"\n") + table.rule("┏", "━", "┳", "┓") +
                    table.row(cells({"Layer (type)", "Output Shape", "Param #", "Connected to"}), "┃") +
                    table.rule("┡", "━", "╇", "┩");
  for (const LayerPtr& layer : layers())
    out += (layer == layers()[0] ? "" : table.rule("├", "─", "┼", "┤")) + table.row(cells(rows[layer.get()]), "│");
  std::vector<Variable> frozen;
  std::set<std::uint64_t> learning;
  for (const Variable& variable : trainable_variables()) learning.insert(variable.id());
  for (const Variable& variable : variables())
    if (!learning.contains(variable.id())) frozen.push_back(variable);
  return out + table.rule("└", "─", "┴", "┘") + total_line("Total", variables()) +
         total_line("Trainable", trainable_variables()) + total_line("Non-trainable", frozen);
}

std::string Model::to_dot() const {
  const auto shapes = shapes_in(graph_);
  std::string out = "digraph model {\n  node [shape=record, fontname=\"sans-serif\"];\n";
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
    const LayerGraph::Node& node = graph_.nodes()[i];
    out +=
        text("  n", i, " [label=\"{",
             node.layer ? text(node.layer->name(), " (", node.layer->config().class_name(), ")") : std::string("input"),
             "|", shape_text(shapes[i]), "}\"];\n");
    for (const LayerGraph::Value& input : node.inputs) out += text("  n", input.node, " -> n", i, ";\n");
  }
  return out + "}\n";
}

}  // namespace tandem
