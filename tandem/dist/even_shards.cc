#include "tandem/dist/even_shards.h"

#include <algorithm>

namespace tandem {

std::vector<std::int64_t> even_rows(const MirroredStrategy& strategy, std::int64_t rows) {
  if (strategy.division()->fixed()) return strategy.shard_rows(rows);
  const std::int64_t count = strategy.num_replicas_in_sync();
  std::vector<std::int64_t> out(static_cast<std::size_t>(count), rows / count);
  for (std::int64_t i = 0; i < rows % count; ++i) ++out[static_cast<std::size_t>(i)];
  return out;
}

std::vector<Shard> shards_of(const MirroredStrategy& strategy, const std::vector<std::int64_t>& sizes) {
  std::vector<Shard> out;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++])
    if (sizes[i] > 0) out.push_back({strategy.devices()[i], begin, sizes[i], static_cast<int>(i)});
  std::ranges::stable_partition(out, works_alone, &Shard::device);
  return out;
}

}  // namespace tandem
