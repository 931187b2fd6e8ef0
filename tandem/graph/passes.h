// What makes a graph smaller and faster before it runs: passes with a name, a timer, an off switch and a check after.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/graph/graph.h"

namespace tandem {

struct Pass {
  std::string_view name;
  std::string_view doc;
  void (*run)(
      Graph& graph);  // null: leaves the graph as it is, and is done when that is lowered (exec/stages.h, bundles.h)
};

/// In the order in which they run.
std::span<const Pass> pass_list();

/// What one pass did.
struct PassReport {
  std::string_view name;
  bool enabled = true;
  std::size_t nodes_before = 0, nodes_after = 0;  // ops
  double microseconds = 0;
};

/// Which passes run: all, but for TANDEM_PASSES=-fuse,-cse and set_pass_enabled.
bool pass_enabled(std::string_view name);
void set_pass_enabled(std::string_view name, bool on);

/// Runs the enabled passes; `reports` gets one entry a pass.
Graph optimize(const Graph& graph, std::vector<PassReport>* reports = nullptr);

}  // namespace tandem
