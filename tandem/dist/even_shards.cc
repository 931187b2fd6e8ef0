#include "tandem/dist/even_shards.h"

#include <algorithm>

namespace tandem {
namespace {

std::vector<double> by_replica(const Shards::State& shards, const std::vector<std::string>& devices) {
  std::vector<double> speeds;
  for (const std::string& device : devices) {
    const auto at = static_cast<std::size_t>(std::ranges::find(shards.devices, device) - shards.devices.begin());
    speeds.push_back(shards.speeds.at(at) / static_cast<double>(std::ranges::count(devices, device)));
  }
  return speeds;
}

}  // namespace

std::vector<std::int64_t> even_rows(const MirroredStrategy& strategy, std::int64_t rows) {
  // In this order: a device that leaves in between is among the first and not among the second.
  if (const Shards::State now = strategy.division()->now(); now.fixed)
    return shard_sizes(rows, by_replica(now, strategy.replica_devices()));
  const std::int64_t count = strategy.num_replicas_in_sync();
  std::vector<std::int64_t> out(static_cast<std::size_t>(count), rows / count);
  for (std::int64_t i = 0; i < rows % count; ++i) ++out[static_cast<std::size_t>(i)];
  return out;
}

std::vector<Shard> shards_of(const std::vector<std::string>& devices, const std::vector<std::int64_t>& sizes) {
  std::vector<Shard> out;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++])
    if (sizes[i] > 0) out.push_back({devices[i], begin, sizes[i], static_cast<int>(i)});
  std::ranges::stable_partition(out, works_alone, &Shard::device);
  return out;
}

}  // namespace tandem
