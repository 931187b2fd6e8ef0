// The same model on several devices, each with its part of every batch.
//
//   MirroredStrategy strategy;                 // all GPUs; the CPU where there is none
//   const auto scope = strategy.scope();
//   Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
//   model.compile({.loss = "sparse_categorical_crossentropy"});
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/core/tensor.h"
#include "tandem/dist/communicator.h"
#include "tandem/dist/replica.h"
#include "tandem/dist/replica_devices.h"
#include "tandem/dist/shards.h"

namespace tandem {

class Dataset;
class DistributedDataset;
struct InputContext;

struct MirroredOptions {
  /// A device that fails in the middle leaves the group and the step is done again by the others; or the error ends it.
  enum class OnFailure { leave, stop };
  OnFailure on_failure = OnFailure::leave;
  /// Each variable and its optimizer state live on one device; the others borrow it while they compute with it.
  bool sharded = false;
  /// Where gradients are added up and variables updated; empty: the host.
  std::string reduce_to = "";
};

/// Copies share what was measured.
class MirroredStrategy {
 public:
  /// Throws for devices that do not exist and for one that is given twice.
  explicit MirroredStrategy(std::vector<std::string> devices = {}, const MirroredOptions& options = {});

  /// As many as there were devices, also when one has left.
  int num_replicas_in_sync() const { return static_cast<int>(replicas_->count()); }
  /// The group: without those that have left.
  std::vector<std::string> devices() const { return shards_->devices(); }
  /// One a replica: its own, or the one that stands in for it.
  std::vector<std::string> replica_devices() const { return replicas_->names(); }
  /// Where gradients are added up and variables updated: the host, where they survive the loss of a GPU, unless the
  /// options say otherwise; or the only device.
  std::string home() const { return replicas_->home(); }
  /// Where each of some variables of these sizes is updated; one name holds for all.
  std::vector<std::string> homes(std::span<const std::size_t> bytes) const;

  /// Divides batches by these speeds from now on (rows a second, one a device), whatever is measured.
  void set_speeds(std::vector<double> speeds) const { shards_->fix(std::move(speeds)); }
  /// Whether shards follow what is measured: neither set by hand nor, since another division rounds sums differently,
  /// where ops must be deterministic.
  bool adapts() const;
  const std::shared_ptr<Shards>& division() const { return shards_; }
  /// Those that a step is divided among, and whether it goes on without one that fails; null: there is one replica.
  std::shared_ptr<DeviceGroup> device_group() const;
  /// How many rows of a batch each device gets.
  std::vector<std::int64_t> shard_rows(std::int64_t rows) const { return shards_->sizes(rows); }
  /// Shards that have rows; devices that work on their own first, the CPU, which works on the calling thread, last.
  std::vector<Shard> shards(std::int64_t rows) const;
  /// How batches are divided, and why.
  std::string explain() const { return shards_->reason(); }

  /// The rows of a global batch, divided: one list a replica, in the order of the devices; empty tensors where one gets
  /// none.
  PerReplica distribute(const Tensors& batch) const;
  /// The same for every element of a dataset, or the next element for every replica
  /// (tandem/dist/distributed_dataset.h).
  DistributedDataset experimental_distribute_dataset(const Dataset& dataset) const;
  DistributedDataset distribute_datasets_from_function(const std::function<Dataset(const InputContext&)>& make) const;
  /// make(context) for each replica, in their order.
  PerReplica experimental_distribute_values_from_function(
      const std::function<Tensors(const ReplicaContext&)>& make) const;
  /// function(its tensors) in each replica that has rows; what each returns. Traced or not.
  PerReplica run(const std::function<Tensors(const Tensors&)>& function, const PerReplica& inputs) const;
  /// One value of those at place `k` of all replicas, element by element or along an axis too.
  Tensor reduce(ReduceOp op, const PerReplica& values, std::size_t k = 0, std::optional<int> axis = {}) const;
  /// They as they are; and one after another along an axis.
  Tensors experimental_local_results(const PerReplica& values, std::size_t k = 0) const;
  Tensor gather(const PerReplica& values, int axis, std::size_t k = 0) const;
  /// The sums of what the replicas have at each place: gradients for an optimizer.
  Tensors sum(const PerReplica& values) const;

  /// While it lives, models that this thread compiles are mirrored.
  class Scope {
   public:
    explicit Scope(const MirroredStrategy& strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  [[nodiscard]] Scope scope() const { return Scope(*this); }
  /// The strategy whose scope this is; null: none.
  static const MirroredStrategy* current();

 private:
  std::shared_ptr<Shards> shards_;
  MirroredOptions options_;
  std::shared_ptr<ReplicaDevices> replicas_;
};

/// Everything on one device.
class OneDeviceStrategy : public MirroredStrategy {
 public:
  explicit OneDeviceStrategy(std::string device) : MirroredStrategy(std::vector{std::move(device)}) {}
};

/// The strategy whose scope this is; null: none.
inline const MirroredStrategy* get_strategy() { return MirroredStrategy::current(); }

}  // namespace tandem
