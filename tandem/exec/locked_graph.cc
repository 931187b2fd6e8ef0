#include "tandem/exec/locked_graph.h"

namespace tandem {

Graph with_lock(const Graph& graph, const LockedFunction& function) {
  Graph out = graph;
  for (const LockedOp& locked : function.ops) {
    const auto at = static_cast<std::size_t>(locked.node);
    if (at >= out.nodes.size() || out.nodes[at].op->name != locked.op)
      fail(ErrorCode::invalid_argument, "the placement lock says that node ", locked.node, " of ", function.name,
           " is ", locked.op, ", it is ", at < out.nodes.size() ? out.nodes[at].op->name : "not there",
           "; write the lock anew");
    out.nodes[at].requested = DeviceName::parse(locked.device);
  }
  return out;
}

Graph without_requests(const Graph& graph) {
  Graph out = graph;
  for (Node& node : out.nodes) node.requested.reset();
  return out;
}

}  // namespace tandem
