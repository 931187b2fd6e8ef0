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

#include "tandem/core/tensor.h"
#include "tandem/dist/communicator.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/shared_draws.h"

namespace tandem {

class Dataset;
class DistributedDataset;
struct InputContext;

/// Rows for each replica, their sum `rows`: by speed, so that the last finishes as early as it can.
std::vector<std::int64_t> shard_sizes(std::int64_t rows, std::span<const double> speeds);

/// A device that computes by itself while the calling thread goes on.
bool works_alone(std::string_view device);

/// The rows [begin, begin + rows) of a batch, and where they are computed.
struct Shard {
  std::string device;
  std::int64_t begin = 0, rows = 0;
};
/// These rows of an array, on the host; undefined of what is undefined.
Tensor rows_of(const Tensor& array, const Shard& shard);

/// What each replica has, in the order of the devices; nothing for one without rows.
using PerReplica = std::vector<Tensors>;

/// The replica whose function runs on this thread: its number, its rows and those of the whole batch.
struct ReplicaContext {
  int replica = 0;
  std::int64_t rows = 0, total = 0;
};
/// Null outside of replicas.
const ReplicaContext* get_replica_context();

/// The sum of the losses of the examples, divided by the rows of the whole batch: what one replica contributes.
Tensor compute_average_loss(const Tensor& per_example_loss);
/// The part of a loss of the variables that one replica contributes.
Tensor scale_regularization_loss(const Tensor& loss);

/// While it lives, ops of this thread are those of one replica: on its device, with its random numbers.
class ReplicaScope {
 public:
  ReplicaScope(SharedDraws& all, const Shard& shard, std::int64_t total, int replica = 0);
  ~ReplicaScope();
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

 private:
  DeviceScope on_;
  ReplicaContext context_;
  ReplicaDraws draws_;
  ReplicaDraws* before_;
};

/// Copies share what was measured.
class MirroredStrategy {
 public:
  /// Throws for devices that do not exist and for one that is given twice.
  explicit MirroredStrategy(std::vector<std::string> devices = {});

  int num_replicas_in_sync() const { return static_cast<int>(devices().size()); }
  const std::vector<std::string>& devices() const;
  /// Where gradients are added up and variables updated: the host, or the only device.
  std::string home() const { return devices().size() > 1 ? "/CPU:0" : devices()[0]; }
  /// Divides batches by these speeds from now on (rows a second, one a device).
  void set_speeds(std::vector<double> speeds) const;
  /// How many rows of a batch each device gets.
  std::vector<std::int64_t> shard_rows(std::int64_t rows) const;
  /// Shards that have rows; devices that work on their own first, the CPU, which works on the calling thread, last.
  std::vector<Shard> shards(std::int64_t rows) const;
  /// How batches are divided, and why.
  std::string explain() const;

  /// The rows of a global batch, divided: one list a replica, in the order of the devices; empty tensors where one gets none.
  PerReplica distribute(const Tensors& batch) const;
  /// The same for every element of a dataset, or the next element for every replica (tandem/dist/distributed_dataset.h).
  DistributedDataset experimental_distribute_dataset(const Dataset& dataset) const;
  DistributedDataset distribute_datasets_from_function(const std::function<Dataset(const InputContext&)>& make) const;
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
  struct State;
  std::shared_ptr<State> state_;
};

/// Everything on one device.
class OneDeviceStrategy : public MirroredStrategy {
 public:
  explicit OneDeviceStrategy(std::string device) : MirroredStrategy(std::vector{std::move(device)}) {}
};

/// The strategy whose scope this is; null: none.
inline const MirroredStrategy* get_strategy() { return MirroredStrategy::current(); }

}  // namespace tandem
