// Running with a placement lock: functions run where it says, and drift is reported.
#include "tandem/runtime/placement_lock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tandem/graph/fingerprint.h"
#include "tandem/tandem.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

class PlacementLocks : public testing::Test {
 protected:
  void TearDown() override { config::set_placement_lock(""); }

  const WithMachine figures_{cpu_and_gpu(20)};

  /// The plan of `f` with all ops on `device`, in force.
  void lock(const GraphFunction& function, const Tensors& inputs, const std::string& device) {
    const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
    LockedFunction now = locked(function, explain(function, refs));
    for (LockedOp& op : now.ops) op.device = device;
    PlacementLock lock;
    lock.put(now);
    write_lock(lock, path_);
    config::set_placement_lock(path_);
  }

  static bool reported(const std::string& part) {
    return std::ranges::any_of(config::placement_drift(),
                               [&](const std::string& s) { return s.find(part) != std::string::npos; });
  }

  std::string path_ = (std::filesystem::path(testing::TempDir()) / "placement.json").string();
  Tensor x_ = ones({256, 256}) * 0.01f;
};

TEST_F(PlacementLocks, AFunctionRunsWhereTheLockSaysAndNowhereElse) {
  auto f = function([](Tensor x) { return matmul(matmul(x, x), x); });
  EXPECT_EQ(explain(f(x_)).device, "/GPU:0");
  lock(*f.concrete({x_}), {x_}, "/CPU:0");
  const Tensor y = f(x_);
  EXPECT_EQ(explain(y).device, "/CPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::requested);
  for (const OpRecord& op : explain(f, {x_}).ops) EXPECT_EQ(op.chosen, "/CPU:0");
  EXPECT_TRUE(reported("is locked to /CPU:0; now /GPU:0 would be chosen"));
  EXPECT_EQ(config::get_placement_lock(), path_);
  config::set_placement_lock("");
  EXPECT_EQ(explain(f(x_)).device, "/GPU:0");
}

TEST_F(PlacementLocks, TheLockStandsAboveAScope) {
  auto f = function([](Tensor x) {
    const DeviceScope scope("/GPU:0");
    return matmul(x, x);
  });
  lock(*f.concrete({x_}), {x_}, "/CPU:0");
  EXPECT_EQ(explain(f(x_)).device, "/CPU:0");
}

TEST_F(PlacementLocks, ThePlanThatWasLockedDoesNotDrift) {
  auto f = function([](Tensor x) { return matmul(x, x); });
  lock(*f.concrete({x_}), {x_}, "/GPU:0");
  EXPECT_EQ(explain(f(x_)).device, "/GPU:0");
  EXPECT_TRUE(config::placement_drift().empty()) << config::placement_drift()[0];
}

TEST_F(PlacementLocks, ADeviceThatIsNotHereIsReportedAndItsOpsStillRun) {
  auto f = function([](Tensor x) { return matmul(x, x); });
  lock(*f.concrete({x_}), {x_}, "/GPU:7");
  EXPECT_NEAR(f(x_).to_vector<float>()[0], 256 * 1e-4, 1e-5);
  EXPECT_TRUE(reported("/GPU:7 does not exist here"));
}

TEST_F(PlacementLocks, AFunctionOfTheSameNameWithAnotherGraphIsReportedAndPlacedFreely) {
  auto f = function([](Tensor x) { return matmul(x, x); }, {.name = "step"});
  auto g = function([](Tensor x) { return matmul(matmul(x, x), x); }, {.name = "step"});
  lock(*f.concrete({x_}), {x_}, "/CPU:0");
  EXPECT_EQ(explain(g(x_)).device, "/GPU:0");
  EXPECT_TRUE(reported("its graph is another"));
}

TEST_F(PlacementLocks, AFileThatIsNoneIsRefusedAndTheOldLockStays) {
  auto f = function([](Tensor x) { return matmul(x, x); });
  lock(*f.concrete({x_}), {x_}, "/CPU:0");
  EXPECT_THROW(config::set_placement_lock("no such file.json"), Error);
  EXPECT_EQ(config::get_placement_lock(), path_);
}

TEST(Fingerprint, ChangesWithShapesAttributesAndEdgesOnly) {
  const auto of = [](const auto& f, const Shape& shape) {
    return fingerprint(function(f).concrete({zeros(shape)})->graph());
  };
  const auto sum = [](Tensor x) { return reduce_sum(x, {0}) + 1.0f; };
  EXPECT_EQ(of(sum, {2, 3}), of(sum, {2, 3}));
  EXPECT_NE(of(sum, {2, 3}), of(sum, {3, 3}));
  EXPECT_NE(of(sum, {3, 3}), of([](Tensor x) { return reduce_sum(x, {1}) + 1.0f; }, {3, 3}));
  EXPECT_NE(of([](Tensor x) { return x - x * 2.0f; }, {3}), of([](Tensor x) { return x * 2.0f - x; }, {3}));
}

TEST(Suggestions, AScopeThatCostsTimeAndFloat64AreNamedWithTheirGain) {
  default_runtime().devices();
  const Machine machine = cpu_and_gpu(20);
  const Tensor x = ones({512, 512});
  auto scoped = function([](Tensor a) {
    const DeviceScope scope("/CPU:0");
    return matmul(matmul(a, a), a);
  });
  const TensorRef input(x);
  const auto list = suggest(*scoped.concrete({x}), {&input, 1}, {.machine = machine});
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list[0].kind, Suggestion::Kind::placement);
  EXPECT_NE(list[0].text.find("ask for no device: 2 ops move to /GPU:0"), std::string::npos) << list[0].text;
  EXPECT_GT(list[0].gain_us, 1000);
  for (const OpRecord& op : list[0].then.ops) EXPECT_EQ(op.chosen, "/GPU:0");

  const Tensor wide = cast(x, DType::f64);
  auto f64 = function([](Tensor a) { return matmul(a, a); });
  Machine single = machine;
  single.devices[1].peak_gflops[DType::f64] = 1;
  const TensorRef wide_input(wide);
  const auto casts = suggest(*f64.concrete({wide}), {&wide_input, 1}, {.machine = single});
  ASSERT_FALSE(casts.empty());
  EXPECT_EQ(casts[0].kind, Suggestion::Kind::cast);
  EXPECT_GT(casts[0].gain_us, 0);
}

}  // namespace
}  // namespace tandem
