// A graph that was traced with open sizes, and the graphs that it becomes when they are known.
#pragma once
#include <string>

#include "tandem/graph/graph.h"
#include "tandem/op/open_size.h"

namespace tandem {

struct OpenGraph {
  Graph graph = {};
  std::vector<SizeCondition> conditions = {};  // sizes for which one is not true need another trace
};

/// The graph for these sizes: every shape rule is run again, and must give what the trace says. When one does not, nothing,
/// and `why` says which.
std::optional<Graph> graph_at(const OpenGraph& open, std::span<const std::int64_t> sizes, std::string& why);

/// Whether two traces of one function are the same: ops, attributes, shapes, constants. `why` says where not.
bool is_same_graph(const Graph& a, const Graph& b, std::string& why);

}  // namespace tandem
