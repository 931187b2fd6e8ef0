// Splitting by rows: the nodes of a region made once for every part of its rows, so that several devices can share the
// work.
#pragma once
#include <span>

#include "tandem/graph/rows.h"

namespace tandem {

/// A part of the rows.
struct RowShare {
  std::int64_t first = 0, count = 0, of = 0;
  bool operator==(const RowShare&) const = default;
};

/// The graph with every node of the region once a part; `parts` add up to its rows. What others read of the region, or
/// what leaves the graph, is joined.
Graph split_rows(const Graph& graph, const RowRegion& region, std::span<const std::int64_t> parts);

/// The rows that a node cuts out of its input, when it was made by split_rows for that; else null.
const RowShare* rows_taken(const Node& node);

/// Bytes before the rows that such a node takes; 0 for other nodes.
std::size_t offset_of_rows(const Graph& graph, const Node& node);

/// Rows are read and written where they lie when they begin at a multiple of so many bytes, which kernels may count on.
inline constexpr std::size_t kRowAlignment = 64;

/// Was the node made by split_rows to put parts together?
bool joins_rows(const Node& node);

/// By node: the part of the rows it works on; nothing where rows are whole. Holds after passes too.
std::vector<std::optional<RowShare>> row_shares(const Graph& graph);

}  // namespace tandem
