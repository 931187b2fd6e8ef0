#include "tandem/dist/distributed_dataset.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

using Rows = std::vector<std::int64_t>;

/// The numbers that each replica gets, for every step of a pass.
std::vector<std::vector<Rows>> numbers(const DistributedDataset& dataset) {
  std::vector<std::vector<Rows>> out;
  auto pass = dataset.iterate();
  while (auto step = pass.next()) {
    out.emplace_back();
    for (const Tensors& one : *step) {
      Rows rows;
      if (!one.empty()) rows.assign(one[0].data<std::int64_t>().begin(), one[0].data<std::int64_t>().end());
      out.back().push_back(rows);
    }
  }
  return out;
}

TEST(DistributedDataset, GlobalBatchesAreDividedBySpeed) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  strategy.set_speeds({1, 3});
  const auto batches = strategy.experimental_distribute_dataset(Dataset::range(7).batch(4));
  EXPECT_EQ(batches.cardinality(), 2);
  const std::vector<std::vector<Rows>> expected{{{0}, {1, 2, 3}}, {{4}, {5, 6}}};
  EXPECT_EQ(numbers(batches), expected);
  EXPECT_EQ(numbers(batches), expected) << "a second pass";
}

TEST(DistributedDataset, ShardsAreEvenWhateverWasMeasuredUnlessSpeedsAreSet) {
  const MirroredStrategy strategy({"/CPU:0", "/GPU:0"});
  strategy.division()->take_measured({900, 100});
  EXPECT_EQ(strategy.shard_rows(20), (std::vector<std::int64_t>{18, 2}));
  const auto rows = [&] {
    const PerReplica parts = strategy.distribute({zeros({20, 3})});
    return std::pair(parts[0][0].shape()[0], parts[1][0].shape()[0]);
  };
  EXPECT_EQ(rows(), (std::pair<std::int64_t, std::int64_t>(10, 10)));
  strategy.set_speeds({3, 1});
  EXPECT_EQ(rows(), (std::pair<std::int64_t, std::int64_t>(15, 5)));
}

TEST(DistributedDataset, EveryReplicaTakesTheNextBatchOfItsOwn) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  const auto batches = strategy.distribute_datasets_from_function(
      [](const InputContext& context) { return Dataset::range(5).batch(context.get_per_replica_batch_size(4)); });
  EXPECT_EQ(batches.cardinality(), 2);
  EXPECT_EQ(numbers(batches), (std::vector<std::vector<Rows>>{{{0, 1}, {2, 3}}, {{4}, {}}}));

  int ran = 0;
  auto pass = batches.iterate();
  pass.next();
  const PerReplica last = *pass.next();
  const PerReplica results = strategy.run([&](const Tensors& in) { return ++ran, Tensors{reduce_sum(in[0])}; }, last);
  EXPECT_EQ(ran, 1) << "a replica without rows does not run";
  EXPECT_EQ(strategy.experimental_local_results(results).size(), 1u);
  EXPECT_EQ(strategy.reduce(ReduceOp::sum, results).item<std::int64_t>(), 4);
}

TEST(DistributedDataset, ABatchThatCannotBeDividedIsTold) {
  EXPECT_THROW((InputContext{.num_replicas_in_sync = 3}.get_per_replica_batch_size(4)), Error);
  EXPECT_EQ((InputContext{.num_replicas_in_sync = 2}.get_per_replica_batch_size(4)), 2);
}

}  // namespace
}  // namespace tandem
