// Who wants to know of graphs that were planned for a group of devices: strategies, which can compare them with one
// device.
#pragma once
#include "tandem/exec/graph_placement.h"
#include "tandem/graph/graph.h"

namespace tandem {

/// Gets a graph after the passes, the group it is divided among, and where its ops were placed.
using PlannedStep = void (*)(const Graph& graph, const DeviceGroup& group, const GraphPlacement& placement);

/// null: nobody.
void set_on_planned_step(PlannedStep told);
void note_planned_step(const Graph& graph, const DeviceGroup& group, const GraphPlacement& placement);

}  // namespace tandem
