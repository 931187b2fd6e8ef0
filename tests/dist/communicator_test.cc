#include "tandem/dist/communicator.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

using Buckets = std::vector<std::vector<std::size_t>>;

std::vector<float> values(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

TEST(Communicator, ReducesAndGathersWhatTheReplicasBring) {
  LocalCommunicator group({"/CPU:0", "/GPU:0"}, {"/CPU:0"});
  EXPECT_EQ(group.size(), 2);
  const std::vector<Tensors> brought{{Tensor::from({1.f, 2.f}, {2}), Tensor::from({5.f}, {1}), Tensor()},
                                     {Tensor::from({3.f, 5.f}, {2}), Tensor(), Tensor()}};
  const Tensors sums = group.all_reduce(brought, ReduceOp::sum), means = group.all_reduce(brought, ReduceOp::mean);
  EXPECT_EQ(values(sums[0]), (std::vector<float>{4, 7}));
  EXPECT_EQ(values(means[0]), (std::vector<float>{2, 3.5}));
  EXPECT_EQ(values(sums[1]), (std::vector<float>{5}));  // who has nothing brings nothing
  EXPECT_FALSE(sums[2].defined());
  EXPECT_EQ(values(group.all_gather(brought, 0)[0]), (std::vector<float>{1, 2, 3, 5}));
  EXPECT_EQ(values(group.broadcast(brought[1], 1)[0]), (std::vector<float>{3, 5}));
  EXPECT_THROW(group.broadcast(brought[1], 2), Error);
  EXPECT_THROW(group.all_reduce(std::span(brought).first(1), ReduceOp::sum), Error);
}

TEST(Communicator, TensorsOfDifferentShapesAreNotStretchedToBeAddedUp) {
  LocalCommunicator group({"/CPU:0", "/GPU:0"}, {"/CPU:0"});
  const std::vector<Tensors> brought{{Tensor::from({1.f}, {1})}, {Tensor::from({3.f, 5.f}, {2})}};
  EXPECT_EQ(error_of([&] { group.all_reduce(brought, ReduceOp::sum); }),
            "E0102 replicas add up tensors of one shape, got [1] and [2] (replica 1); gather puts tensors of different "
            "sizes one after another");
}

TEST(Communicator, SmallGradientsCrossInBucketsLastLayerFirst) {
  const Tensors one{ones({100}), ones({100, 100}), ones({1000, 100}), ones({10}), ones({5})};
  const std::vector<Tensors> brought{one, one};
  EXPECT_EQ(LocalCommunicator({"/CPU:0", "/GPU:0"}, {"/CPU:0"}).buckets(brought), (Buckets{{4, 3}, {2}, {1, 0}}));
  // Nothing crosses between devices on the host.
  EXPECT_EQ(LocalCommunicator({"/CPU:0", "/CPU:1"}, {"/CPU:0"}).buckets(brought), (Buckets{{4}, {3}, {2}, {1}, {0}}));
  // What is reduced in different places crosses apart.
  EXPECT_EQ(
      LocalCommunicator({"/GPU:0", "/GPU:1"}, {"/GPU:0", "/GPU:0", "/GPU:1", "/GPU:1", "/GPU:0"}).buckets(brought),
      (Buckets{{4}, {3}, {2}, {1, 0}}));
}

TEST(Communicator, ABucketGivesEveryTensorItsSum) {
  set_seed(3);
  std::vector<Tensors> brought(2);
  for (Tensors& one : brought)
    for (const Shape& shape : {Shape{3, 4}, Shape{7}, Shape{2, 2, 2}}) one.push_back(random_normal(shape));
  const Tensors sums = LocalCommunicator({"/CPU:0", "/GPU:0"}, {"/CPU:0"}).all_reduce(brought, ReduceOp::sum);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    ASSERT_EQ(sums[k].shape(), brought[0][k].shape());
    EXPECT_EQ(values(sums[k]), values(brought[0][k] + brought[1][k]));
  }
}

TEST(Communicator, VariablesAreSpreadByTheirBytes) {
  const std::vector<std::size_t> bytes{10, 100, 60, 50};
  EXPECT_EQ(spread(bytes, {"/GPU:0", "/GPU:1"}), (std::vector<std::string>{"/GPU:0", "/GPU:0", "/GPU:1", "/GPU:1"}));
}

}  // namespace
}  // namespace tandem
