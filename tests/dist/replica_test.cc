#include "tandem/dist/replica.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"
#include "tests/error_of.h"

namespace tandem {
namespace {

using Numbers = std::vector<float>;

const ReplicaContext& context() { return *get_replica_context(); }

/// [1, 0] in the first replica, [2, 10] in the second.
Tensor own_values() {
  const auto me = static_cast<float>(context().replica);
  return Tensor::from({1 + me, 10 * me}, {2});
}

/// What body() gives in each of two replicas, eagerly and traced.
void check(const std::function<Tensor()>& body, const std::vector<Numbers>& expected) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  const auto run = [&] { return strategy.run([&](const Tensors&) { return Tensors{body()}; }, PerReplica(2)); };
  const PerReplica eager = run();
  const auto traced = function([&](const Tensors&) {
    const PerReplica results = run();
    return Tensors{results[0][0], results[1][0]};
  });
  const Tensors graph = traced(Tensors{});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(eager[i][0].to_vector<float>(), expected[i]) << "replica " << i;
    EXPECT_EQ(graph[i].to_vector<float>(), expected[i]) << "replica " << i << ", traced";
  }
}

TEST(Replicas, ReduceGatherAndMergeWhatTheyBring) {
  check([] { return context().all_reduce(ReduceOp::sum, own_values()); }, {{3, 10}, {3, 10}});
  check([] { return context().all_reduce(ReduceOp::mean, own_values()); }, {{1.5, 5}, {1.5, 5}});
  check([] { return context().all_gather(own_values(), 0); }, {{1, 0, 2, 10}, {1, 0, 2, 10}});
  check(
      [] {
        return context().merge_call(
            [](const PerReplica& all) -> Tensors {
              EXPECT_EQ(get_replica_context(), nullptr) << "a merge is for all replicas";
              return {all[1][0] - all[0][0]};
            },
            {own_values()})[0];
      },
      {{1, 10}, {1, 10}});
}

TEST(Replicas, GradientsGoThroughWhatTheyReduceAndGather) {
  check(
      [] {
        const Tensor x = own_values();
        GradientTape tape;
        tape.watch(x);
        const Tensor total = context().all_reduce(ReduceOp::sum, x * x);
        const Tensor loss = reduce_sum(total * Tensor::from({1.f, 2.f}, {2})) * (1.0 + context().replica);
        return tape.gradient(loss, x);
      },
      {{6, 0}, {12, 120}});  // the sum of the losses is 3 * (x0^2 + x1^2) . [1, 2]
  check(
      [] {
        const Tensor x = own_values();
        GradientTape tape;
        tape.watch(x);
        const Tensor loss = reduce_sum(context().all_gather(x, 0) * Tensor::from({1.f, 1.f, 5.f, 5.f}, {4}));
        return tape.gradient(loss, x);
      },
      {{2, 2}, {10, 10}});
}

TEST(Replicas, ThatDoNotMeetAreToldAndNothingHangs) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  const auto told = [&](const std::function<Tensor()>& body) {
    return error_of([&] { strategy.run([&](const Tensors&) { return Tensors{body()}; }, PerReplica(2)); });
  };
  EXPECT_NE(told([] {
              return context().replica == 0 ? context().all_reduce(ReduceOp::sum, ones({1})) : ones({1});
            }).find("one is at all_reduce, another at the end"),
            std::string::npos);
  EXPECT_NE(told([] {
              return context().replica == 0 ? context().all_reduce(ReduceOp::sum, ones({1}))
                                            : context().all_gather(ones({1}), 0);
            }).find("another at all_gather"),
            std::string::npos);
  EXPECT_NE(told([]() -> Tensor {
              if (context().replica == 1) fail(ErrorCode::invalid_argument, "mine");
              return context().all_reduce(ReduceOp::sum, ones({1}));
            }).find("mine"),
            std::string::npos);
  EXPECT_NE(told([] { return context().all_gather(ones({1}), 3); }).find("axis 3"), std::string::npos);
  std::optional<ReplicaContext> kept;
  strategy.run([&](const Tensors&) { return kept = context(), Tensors{}; }, PerReplica(2));
  EXPECT_NE(error_of([&] { kept->all_reduce(ReduceOp::sum, ones({1})); }).find("the replica has ended"),
            std::string::npos);
  EXPECT_EQ(told([] { return ones({1}); }), "no error");  // and the next run is as if nothing had been
}

TEST(Replicas, EachMakesItsOwnValues) {
  const MirroredStrategy strategy({"/GPU:0", "/CPU:0"});
  const PerReplica values = strategy.experimental_distribute_values_from_function(
      [](const ReplicaContext& one) { return Tensors{fill({2}, one.replica + 1.0)}; });
  const PerReplica doubled = strategy.run([](const Tensors& in) { return Tensors{in[0] * 2.0}; }, values);
  EXPECT_EQ(strategy.reduce(ReduceOp::sum, doubled).to_vector<float>(), (Numbers{6, 6}));
}

}  // namespace
}  // namespace tandem
