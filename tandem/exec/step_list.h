// The first half of lowering: which kernels a graph runs, in what order, and on which thread.
#pragma once

#include <map>

#include "tandem/exec/plan.h"
#include "tandem/exec/stage_kernel.h"

namespace tandem {

/// A node that runs, in its place in the order.
struct Step {
  std::int32_t node;
  std::shared_ptr<const PreparedCall> call;  // null: the op runs by itself
  bool commits = false;                      // writes variables over their old values
  MemorySpace* space = nullptr;
  std::uint32_t lane = 0;                    // which thread runs it
  std::uint32_t together = 1;  // steps from here on that cores may run at once; 0: one of those before does
  std::uint32_t parts = 0;  // cores that share them; 0: a device does them in one launch
  StageShare share = {};  // which core does this one
};

/// Steps in order, those that write variables in place last.
struct StepList {
  std::vector<Step> steps;
  std::vector<std::vector<GraphValue>> roots;  // of every output of every node: what a view views, else itself
  std::vector<std::size_t> offsets;  // by node: bytes from the first of its root, of rows read where they are
  std::vector<char> lent;  // by node: rows of an argument or constant, as a tensor that lies there; it has no step
  std::vector<Device*> devices;  // that a node runs on; null for the host's own and for sources
  std::map<const Cell*, GraphValue> in_place;  // variables that are written over, and by what
  std::vector<std::shared_ptr<const PreparedCall>> calls;  // each once
  std::vector<Device*> own_memory;  // devices that work by themselves
  std::size_t lanes = 0;  // 0: one thread runs everything

  GraphValue root(GraphValue value) const {
    return roots[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
};

StepList list_steps(const Graph& graph, const LowerOptions& options);

/// Ops that change some elements of their first input: on the host they leave the others as they are when it is the
/// output too.
bool changes_some(const Node& node);

/// Has somebody said where the node runs? Then `rules` get it.
bool is_placed(const LowerOptions& options, std::size_t node, PlacementRules& rules);

}  // namespace tandem
