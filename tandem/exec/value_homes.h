// Where the values of a graph live while its plan runs.
#pragma once
#include "tandem/exec/step_list.h"

namespace tandem {

/// All that lowering knows of a value, views resolved to what they view.
struct Home {
  MemorySpace* space = nullptr;           // where it is made; null for what comes from outside
  std::int32_t made = -1, last_use = -1;  // steps
  bool stored = false;                    // a tensor of the frame, not a place in an arena
  bool leaves = false;                    // a result or a variable's new value
  bool copied = false;                    // to its variable, out of an arena
  int uses = 0;                           // by steps
  const Home* whole = nullptr;  // a part of what a join makes, where it lies there: `offset` bytes from its first
  std::uint32_t lane = 0;  // that makes it
  bool read_by_host = false;  // made elsewhere, and read there
  bool crosses = false;  // between lanes
  std::uint32_t slot = 0;  // when stored
  std::uint32_t arena = 0;
  std::size_t offset = 0;
};

class ValueHomes {
 public:
  ValueHomes(const Graph& graph, const StepList& list);
  Home& of(GraphValue value);
  /// Of the outputs of a node.
  std::vector<Home>& made_by(std::int32_t node) { return homes_[static_cast<std::size_t>(node)]; }

 private:
  void note_writes(const Graph& graph);
  void join_in_place(const Graph& graph, const Step& join);

  const StepList& list_;
  std::vector<std::vector<Home>> homes_;
};

}  // namespace tandem
