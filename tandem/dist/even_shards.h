// Shards for code that somebody else has written: it may average over its rows, and then counts on shards of one size.
#pragma once
#include "tandem/dist/mirrored.h"

namespace tandem {

/// As set by hand, else even; whatever is measured.
std::vector<std::int64_t> even_rows(const MirroredStrategy& strategy, std::int64_t rows);
/// Shards of these sizes that have rows, in the order in which replicas begin: the CPU last.
std::vector<Shard> shards_of(const MirroredStrategy& strategy, const std::vector<std::int64_t>& sizes);

}  // namespace tandem
