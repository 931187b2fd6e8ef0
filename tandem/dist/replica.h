// What a function is in one replica of a strategy: its rows, its random numbers, and how it meets the other replicas.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/dist/communicator.h"
#include "tandem/graph/device_group.h"

namespace tandem {

/// A device that computes by itself while the calling thread goes on.
bool works_alone(std::string_view device);

/// The rows [begin, begin + rows) of a batch, where they are computed, and by which replica.
struct Shard {
  std::string device;
  std::int64_t begin = 0, rows = 0;
  int replica = 0;
};
/// These rows of an array, on the host; undefined of what is undefined.
Tensor rows_of(const Tensor& array, const Shard& shard);

/// What each replica has, in the order of the devices; nothing for one without rows.
using PerReplica = std::vector<Tensors>;

class ReplicaThread;
struct ReplicaGroup;

/// The replica whose function runs on this thread: its number, its rows and those of the whole batch. Replicas run one
/// at a time, each giving its device work to do; at the calls below they wait for one another. They are for the
/// replica's thread, while it runs. Those without rows bring nothing.
struct ReplicaContext {
  int replica = 0;
  std::int64_t begin = 0, rows = 0, total = 0;

  /// The sums or means of what all replicas bring; differentiable: gradients are reduced in the same way.
  Tensors all_reduce(ReduceOp op, const Tensors& values) const;
  Tensor all_reduce(ReduceOp op, const Tensor& value) const { return all_reduce(op, Tensors{value})[0]; }
  /// What all replicas bring, one after another along an axis; differentiable.
  Tensor all_gather(const Tensor& value, int axis) const;
  /// merge(what each replica brings) once for all; every replica gets its result.
  Tensors merge_call(const std::function<Tensors(const PerReplica&)>& merge, const Tensors& values) const;
  /// update(the averages of what the replicas bring, weighted by their rows) once for all.
  void update_together(const std::function<void(const Tensors&)>& update, const Tensors& values) const;

  std::shared_ptr<ReplicaThread> thread = nullptr;  // null: it is the only one
  std::shared_ptr<const ReplicaGroup> group = nullptr;
};
/// Null outside of replicas.
const ReplicaContext* get_replica_context();

/// The sum of the losses of the examples, each times its weight, divided by the rows of the whole batch: what one
/// replica contributes. Nothing of nothing is 0.
Tensor compute_average_loss(const Tensor& per_example_loss, const Tensor& sample_weight = {},
                            std::optional<std::int64_t> global_batch_size = {});
/// The part of a loss of the variables that one replica contributes.
Tensor scale_regularization_loss(const Tensor& loss);

/// The replicas of one run that have rows, in the order in which they begin, and where they reduce what they bring.
struct ReplicaGroup {
  std::vector<Shard> shards;
  std::int64_t total = 0;
  std::string home;
  std::shared_ptr<DeviceGroup> device_group = {};  // null: there is one replica

  std::vector<std::string> devices() const;
};
/// function() in each replica, on its device and with its random numbers; what each returns, in the group's order.
/// Throws what the first one to fail throws, and an error where some come to a meeting and others do not. When a device
/// of the device group fails, all replicas run again, another device in its place, with the variables and the random
/// numbers that they began with.
std::vector<Tensors> run_replicas(ReplicaGroup group, const std::function<Tensors(const Shard&)>& function);

/// While ops run at once: what lies on a device other than its home gets a copy on the host, and survives that device.
void bring_home(std::span<const Tensor> tensors, std::string_view home);

}  // namespace tandem
