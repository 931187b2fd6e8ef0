// What runs in the replicas of a strategy, and what becomes of their results.
#include <algorithm>

#include "tandem/dist/mirrored.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

thread_local const ReplicaContext* current_context = nullptr;

/// What the replicas that have something have at place k.
Tensors column(const PerReplica& values, std::size_t k, const char* who) {
  Tensors found;
  for (const Tensors& one : values) {
    if (one.empty()) continue;
    if (k >= one.size()) fail(ErrorCode::invalid_argument, who, ": place ", k, " of ", one.size(), " values");
    found.push_back(one[k]);
  }
  if (found.empty()) fail(ErrorCode::invalid_argument, who, ": no replica has a value");
  return found;
}

Tensor divided(const Tensor& total, std::int64_t count) { return total / static_cast<double>(count); }

}  // namespace

Tensor rows_of(const Tensor& array, const Shard& shard) {
  if (!array.defined()) return array;
  const DeviceScope on_host("/CPU:0");
  Ints begin(static_cast<std::size_t>(array.rank()), 0), size(array.shape().begin(), array.shape().end());
  begin[0] = shard.begin;
  size[0] = shard.rows;
  return slice(array, begin, size);
}

const ReplicaContext* get_replica_context() { return current_context; }

ReplicaScope::ReplicaScope(SharedDraws& all, const Shard& shard, std::int64_t total, int replica)
    : on_(shard.device),
      context_{replica, shard.rows, total},
      draws_(all, shard.begin, shard.rows, total),
      before_(ReplicaDraws::exchange(&draws_)) {
  if (current_context) {
    ReplicaDraws::exchange(before_);
    fail(ErrorCode::invalid_argument, "a replica was begun inside a replica; call run outside, once for all");
  }
  current_context = &context_;
}

ReplicaScope::~ReplicaScope() {
  ReplicaDraws::exchange(before_);
  current_context = nullptr;
}

PerReplica MirroredStrategy::distribute(const Tensors& batch) const {
  if (batch.empty() || batch[0].rank() < 1) fail(ErrorCode::invalid_argument, "distribute: needs tensors with a first axis of samples");
  PerReplica out;
  Shard shard;
  for (const std::int64_t rows : shard_rows(batch[0].shape()[0])) {
    shard.rows = rows;
    out.emplace_back();
    for (const Tensor& tensor : batch) out.back().push_back(rows_of(tensor, shard));
    shard.begin += rows;
  }
  return out;
}

PerReplica MirroredStrategy::run(const std::function<Tensors(const Tensors&)>& function, const PerReplica& inputs) const {
  if (inputs.size() != devices().size())
    fail(ErrorCode::wrong_arity, "run: there are ", devices().size(), " replicas, inputs for ", inputs.size());
  std::vector<Shard> shards;
  std::int64_t total = 0;
  const bool tells = std::any_of(inputs.begin(), inputs.end(), [](const Tensors& one) { return !one.empty(); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tells && inputs[i].empty()) {
      shards.push_back({devices()[i], total, 0});
      continue;
    }
    const bool has_rows = !inputs[i].empty() && inputs[i][0].rank() > 0;
    shards.push_back({devices()[i], total, has_rows ? inputs[i][0].shape()[0] : 1});
    total += shards.back().rows;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (shards[i].rows > 0) order.push_back(i);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return works_alone(shards[i].device); });
  PerReplica results(inputs.size());
  SharedDraws draws;
  for (std::size_t i : order) {
    const ReplicaScope scope(draws, shards[i], total, static_cast<int>(i));
    results[i] = function(inputs[i]);
  }
  return results;
}

Tensor MirroredStrategy::reduce(ReduceOp op, const PerReplica& values, std::size_t k, std::optional<int> axis) const {
  const DeviceScope at_home(home());
  const Tensors parts = column(values, k, "reduce");
  if (!axis) return op == ReduceOp::sum ? sum_of(parts) : divided(sum_of(parts), static_cast<std::int64_t>(parts.size()));
  Tensors sums;
  std::int64_t count = 0;
  for (const Tensor& part : parts) {
    sums.push_back(reduce_sum(part, {*axis}));
    count += part.shape()[*axis < 0 ? *axis + part.rank() : *axis];
  }
  return op == ReduceOp::sum ? sum_of(sums) : divided(sum_of(sums), count);
}

Tensors MirroredStrategy::experimental_local_results(const PerReplica& values, std::size_t k) const {
  return column(values, k, "experimental_local_results");
}

Tensor MirroredStrategy::gather(const PerReplica& values, int axis, std::size_t k) const {
  const DeviceScope at_home(home());
  const Tensors parts = column(values, k, "gather");
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Tensors MirroredStrategy::sum(const PerReplica& values) const {
  PerReplica brought;
  std::vector<std::string> from;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    brought.push_back(values[i]);
    from.push_back(devices()[i]);
  }
  return LocalCommunicator(from, {home()}).all_reduce(brought, ReduceOp::sum);
}

Tensor compute_average_loss(const Tensor& per_example_loss) {
  const ReplicaContext* context = current_context;
  const std::int64_t own = per_example_loss.rank() ? per_example_loss.shape()[0] : 1;
  return divided(reduce_sum(per_example_loss), context && context->rows == own ? context->total : own);
}

Tensor scale_regularization_loss(const Tensor& loss) {
  const ReplicaContext* context = current_context;
  if (!context || context->total == 0) return loss;
  return loss * (static_cast<double>(context->rows) / static_cast<double>(context->total));
}

}  // namespace tandem
