// A graph that was traced with open sizes, and the graphs that it becomes when they are known.
#pragma once
#include <string>

#include "tandem/graph/graph.h"
#include "tandem/op/open_size.h"

namespace tandem {

/// Ops that are made of graphs (branches, loops, gradients given by hand) have sizes inside. Who makes such ops says
/// how they are known.
struct SizesInside {
  bool (*may_be_open)(const OpDef& op);
  /// The op with the sizes put in; null where they do not fit, and `why` says why.
  std::shared_ptr<const OpDef> (*at)(const std::shared_ptr<const OpDef>& op, std::span<const std::int64_t> sizes,
                                     std::string& why);
  /// Whether two ops are made of the same.
  bool (*same)(const OpDef& a, const OpDef& b);
};

struct OpenGraph {
  Graph graph = {};
  SizeNotes notes = {};  // sizes for which a condition is not true need another trace
};

/// The graph for these sizes: every shape rule is run again, and must give what the trace says. When one does not,
/// nothing, and `why` says which.
std::optional<Graph> graph_at(const OpenGraph& open, std::span<const std::int64_t> sizes, const SizesInside& inside,
                              std::string& why);

/// Whether two traces of one function are the same: ops, attributes, shapes, constants. `why` says where not.
bool is_same_graph(const Graph& a, const Graph& b, const SizesInside& inside, std::string& why);

}  // namespace tandem
