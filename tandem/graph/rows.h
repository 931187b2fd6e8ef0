// Rows: which nodes of a graph compute row i (along the first axis) of what they make from row i of what they read.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/graph/graph.h"

namespace tandem {

/// Nodes that hand rows to each other and keep them apart.
struct RowRegion {
  std::int64_t rows = 0;
  std::vector<std::int32_t> nodes;  // in the order of the graph
};

/// The connected ones of a graph. Nodes that ask for a device, have effects or draw random numbers are in none.
std::vector<RowRegion> row_regions(const Graph& graph);

/// By input of a node: is it read row by row? The others are read whole.
using RowInputs = std::vector<char>;

/// Nothing when a row of a result depends on other rows, as far as is known.
std::optional<RowInputs> row_inputs(const Graph& graph, const Node& node, std::int64_t rows);

}  // namespace tandem
