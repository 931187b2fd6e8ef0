// Placement with several devices at work on one op: where that ends sooner, rows of a batch are shared out among them.
#pragma once
#include <optional>

#include "tandem/exec/graph_placement.h"

namespace tandem {

/// `traced` with the rows of a region shared out, where that is predicted to end clearly sooner than `whole`, the
/// placement of the same graph after its passes; else nothing. The answer has a graph of its own.
std::optional<GraphPlacement> place_split(const Graph& traced, const GraphPlacement& whole,
                                          const GraphSetting& setting);

}  // namespace tandem
