// Bundles: ops that need nothing of each other, side by side in a plan: small ones of the host, which the cores share
// out, and updates of variables that a device does in one launch.
#pragma once
#include "tandem/exec/step_list.h"

namespace tandem {

/// Most members of a bundle.
inline constexpr std::size_t kMostTogether = 64;

/// Puts such steps next to each other and sets `together`. What comes before the updates keeps its order in plans with
/// work for other devices: it was chosen so that those begin early.
void bundle_steps(const Graph& graph, StepList& list);

}  // namespace tandem
