// Stages: several ops between two meetings of the cores. Each core takes its rows of a batch through all ops of a
// stage, or does small ones whole, and reads nothing of what another core makes in the same stage.
#pragma once
#include "tandem/exec/step_list.h"

namespace tandem {

/// Cores that a stage is cut for at most.
inline constexpr int kMostParts = 8;

/// Puts steps of the host that are too small to be shared out by themselves into stages, in plans that update no
/// variables, where that is predicted to be faster; sets their order, `together`, `parts` and `share`. Returns whether
/// it did.
bool stage_steps(const Graph& graph, StepList& list);

}  // namespace tandem
