// Shards for code that somebody else has written: it may average over its rows, and then counts on shards of one size.
#pragma once
#include "tandem/dist/mirrored.h"

namespace tandem {

/// By replica: as set by hand, else even; whatever is measured. Replicas for which one device computes share what it
/// would get.
std::vector<std::int64_t> even_rows(const MirroredStrategy& strategy, std::int64_t rows);
/// Shards of these sizes, one a device, that have rows, in the order in which replicas begin: the CPU last.
std::vector<Shard> shards_of(const std::vector<std::string>& devices, const std::vector<std::int64_t>& sizes);

}  // namespace tandem
