#include "tandem/autodiff/loop_turns.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

/// The one number that a constant has.
std::optional<double> number(const Graph& graph, GraphValue value) {
  const Node& node = graph.node(value);
  if (node.op != &constant_op || node.constant.size() != 1 || node.constant.dtype() == DType::string)
    return std::nullopt;
  return node.constant.item<double>();
}

/// Which of the graph's parameters it is.
std::optional<std::size_t> parameter(const Graph& graph, GraphValue value) {
  const auto found = std::ranges::find(graph.parameters, value.node);
  if (found == graph.parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - graph.parameters.begin());
}

/// What a turn adds to the value.
std::optional<double> step_of(const Graph& body, std::size_t value) {
  if (value >= body.results.size()) return std::nullopt;
  const Node& node = body.node(body.results[value]);
  if (node.op->name != "add") return std::nullopt;
  for (const std::size_t i : {0U, 1U})
    if (parameter(body, node.inputs[i]) == value) return number(body, node.inputs[1 - i]);
  return std::nullopt;
}

/// Where several must hold, the first that ends the loop counts.
std::optional<double> turns_while(const Graph& condition, GraphValue holds, const Graph& body) {
  const Node& node = condition.node(holds);
  if (node.op->name == "logical_and") {
    const auto a = turns_while(condition, node.inputs[0], body), b = turns_while(condition, node.inputs[1], body);
    return a && b ? std::min(a, b) : a ? a : b;
  }
  const bool or_equal = node.op->name == "less_equal";
  if (node.op->name != "less" && !or_equal) return std::nullopt;
  const auto value = parameter(condition, node.inputs[0]);
  const auto end = number(condition, node.inputs[1]);
  const auto step = value ? step_of(body, *value) : std::nullopt;
  if (!end || !step || !(*step > 0) || !std::isfinite(*end)) return std::nullopt;
  const double turns = or_equal ? std::floor(*end / *step) + 1 : std::ceil(*end / *step);
  return std::max(turns, 0.0);
}

}  // namespace

std::optional<double> counted_turns(const Graph& condition, const Graph& body) {
  return turns_while(condition, condition.results[0], body);
}

}  // namespace tandem
