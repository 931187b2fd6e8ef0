#include "tandem/dist/distributed_dataset.h"

namespace tandem {
namespace {

Tensors tensors_of(const Value& element) {
  Tensors out;
  for (const Leaf& leaf : element.leaves()) {
    if (leaf.dataset) fail(ErrorCode::invalid_argument, "a dataset of datasets cannot be distributed; batch it first");
    out.push_back(leaf.tensor);
  }
  return out;
}

}  // namespace

std::int64_t InputContext::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  if (global_batch_size % num_replicas_in_sync)
    fail(ErrorCode::invalid_argument, "get_per_replica_batch_size: the global batch size ", global_batch_size,
         " is not divisible by the ", num_replicas_in_sync, " replicas");
  return global_batch_size / num_replicas_in_sync;
}

std::optional<PerReplica> DistributedDataset::Pass::next() {
  std::optional<Value> element = elements_.next();
  if (!element) return std::nullopt;
  if (kind_ == Kind::global_batches) return strategy_.distribute(tensors_of(*element));
  PerReplica out(static_cast<std::size_t>(strategy_.num_replicas_in_sync()));
  for (std::size_t i = 0; i < out.size() && element; ++i) {
    out[i] = tensors_of(*element);
    if (i + 1 < out.size()) element = elements_.next();
  }
  return out;
}

std::int64_t DistributedDataset::cardinality() const {
  const std::int64_t elements = dataset_.cardinality();
  if (elements < 0 || kind_ == Kind::global_batches) return elements;
  const std::int64_t replicas = strategy_.num_replicas_in_sync();
  return (elements + replicas - 1) / replicas;
}

DistributedDataset MirroredStrategy::experimental_distribute_dataset(const Dataset& dataset) const {
  return {dataset, *this, DistributedDataset::Kind::global_batches};
}

DistributedDataset MirroredStrategy::distribute_datasets_from_function(
    const std::function<Dataset(const InputContext&)>& make) const {
  return {make({.num_replicas_in_sync = num_replicas_in_sync()}), *this, DistributedDataset::Kind::own_batches};
}

}  // namespace tandem
