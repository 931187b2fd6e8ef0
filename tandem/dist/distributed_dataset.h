// Datasets whose elements are divided among the replicas of a strategy.
//
//   for (auto pass = strategy.experimental_distribute_dataset(dataset).iterate(); auto batch = pass.next();)
//     strategy.run(step, *batch);
#pragma once
#include <optional>

#include "tandem/data/dataset.h"
#include "tandem/dist/mirrored.h"

namespace tandem {

/// For whom a dataset is made.
struct InputContext {
  int num_input_pipelines = 1, input_pipeline_id = 0, num_replicas_in_sync = 1;
  /// Throws when the batch cannot be divided evenly.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

/// Re-iterable. The tensors of an element are those of its leaves, from left to right.
class DistributedDataset {
 public:
  enum class Kind {
    global_batches,  // every element is cut along its first axis
    own_batches,     // every replica takes the next element
  };
  DistributedDataset(Dataset dataset, MirroredStrategy strategy, Kind kind)
      : dataset_(std::move(dataset)),
        strategy_(std::move(strategy)),
        kind_(kind) {}

  class Pass {
   public:
    /// What each replica gets next; nothing at the end.
    std::optional<PerReplica> next();

   private:
    friend class DistributedDataset;
    Pass(DatasetIterator elements, MirroredStrategy strategy, Kind kind)
        : elements_(std::move(elements)),
          strategy_(std::move(strategy)),
          kind_(kind) {}

    DatasetIterator elements_;
    MirroredStrategy strategy_;
    Kind kind_;
  };
  Pass iterate() const { return {dataset_.iterate(), strategy_, kind_}; }
  /// Steps of a pass; -1: infinite, -2: unknown.
  std::int64_t cardinality() const;

 private:
  Dataset dataset_;
  MirroredStrategy strategy_;
  Kind kind_;
};

}  // namespace tandem
