// Bundles: small ops of the host that need nothing of each other, side by side in a plan, so that the cores share them out.
#pragma once
#include "tandem/exec/step_list.h"

namespace tandem {

/// Puts such steps next to each other and sets `together`. Plans with work for other devices keep their order, which was
/// chosen so that those begin early.
void bundle_steps(const Graph& graph, StepList& list);

}  // namespace tandem
