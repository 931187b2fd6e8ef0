#include "tandem/exec/planned_steps.h"

#include <atomic>

namespace tandem {
namespace {

std::atomic<PlannedStep> on_planned_step = nullptr;

}  // namespace

void set_on_planned_step(PlannedStep told) { on_planned_step = told; }

void note_planned_step(const Graph& graph, const DeviceGroup& group, const GraphPlacement& placement) {
  if (const PlannedStep told = on_planned_step.load()) told(graph, group, placement);
}

}  // namespace tandem
