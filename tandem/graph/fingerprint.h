// A name for what a graph computes and how: the same in every process, another when an op, a shape or an edge changes.
#pragma once
#include <string>

#include "tandem/graph/graph.h"

namespace tandem {

/// Sixteen hexadecimal digits. Values of constants and names of variables do not count.
std::string fingerprint(const Graph& graph);

}  // namespace tandem
