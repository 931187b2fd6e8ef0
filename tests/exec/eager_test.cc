#include "tandem/exec/eager.h"

#include <gtest/gtest.h>

#include <thread>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor matrix() { return Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}); }

TEST(Eager, AnOpsResultSaysHowItCameToBe) {
  const Tensor sum = matrix() + matrix();
  EXPECT_EQ(explain(sum).op, "add");
  EXPECT_EQ(explain(sum).device, "/CPU:0");
  EXPECT_TRUE(explain(sum).reason == ReasonCode::only_device || explain(sum).reason == ReasonCode::too_small);
  EXPECT_FALSE(explain(sum).kernel.empty());
  EXPECT_EQ(last_decisions(1).back(), &explain(sum));
  EXPECT_EQ(sum.device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(Eager, ARefusedKernelLeavesItsReason) {
  const Decision& d = explain(matmul(cast(matrix(), DType::i32), cast(matrix(), DType::i32)));
  ASSERT_GE(d.candidates.size(), 2u);
  EXPECT_FALSE(d.candidates[0].accepted);
  EXPECT_FALSE(d.candidates[0].refusal.empty());
}

TEST(Eager, ARequestedDeviceIsRecordedAndAMissingOneFallsBack) {
  {
    DeviceScope scope("/CPU:0");
    EXPECT_EQ(explain(matrix() + 1).reason, ReasonCode::requested);
  }
  DeviceScope outer("/GPU:7");
  const Tensor x = matrix() + 1;
  EXPECT_EQ(explain(x).reason, ReasonCode::device_missing);
  EXPECT_EQ(explain(x).requested, "/GPU:7");
  EXPECT_EQ(explain(x).device, "/CPU:0");
  DeviceScope inner("/CPU:0");
  EXPECT_EQ(explain(matrix() + 1).requested, "/CPU:0");
}

TEST(Eager, WithoutSoftPlacementAMissingDeviceIsAnError) {
  default_runtime().set_soft_device_placement(false);
  {
    DeviceScope scope("/GPU:8");
    try {
      matrix() + 1;
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device_unavailable);
      EXPECT_NE(std::string(error.what()).find("device:GPU:8"), std::string::npos);
    }
  }
  default_runtime().set_soft_device_placement(true);
  EXPECT_EQ((matrix() + 1).size(), 4);
}

TEST(Eager, ScalarsAndOffsetsDoNotFillTheCache) {
  const Tensor x = matrix();
  slice(x, {0, 0}, {1, 1});
  x * 1.5;
  fill({3}, 1.0);
  const auto before = default_runtime().dispatcher().cached_calls();
  for (int i = 0; i < 100; ++i) {
    x * (1.5 + i);
    slice(x, {i % 2, i % 2}, {1, 1});
    fill({3}, i);
  }
  EXPECT_EQ(default_runtime().dispatcher().cached_calls(), before);
}

TEST(Eager, TheCacheIsBounded) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(EagerDispatcher::kMostCalls) + 100; ++i) zeros({i % 5000, 1});
  EXPECT_LE(default_runtime().dispatcher().cached_calls(), EagerDispatcher::kMostCalls);
}

TEST(Eager, AReshapedTensorSharesItsBytes) {
  const Tensor x = matrix();
  EXPECT_EQ(reshape(x, Ints{-1}).raw_data(), x.raw_data());
  EXPECT_EQ(explain(reshape(x, Ints{4})).kernel, "view");
}

TEST(Eager, RowsThatFollowEachOtherAreNotCopied) {
  const Tensor x = reshape(range(0, 6 * 4096, 1, DType::f32), Ints{3, 2, 4096});
  const auto bytes_between = [&](const Tensor& part) {
    return static_cast<const char*>(part.raw_data()) - static_cast<const char*>(x.raw_data());
  };
  EXPECT_EQ(bytes_between(slice(x, {1, 0, 0}, {2, 2, 4096})), 4 * 2 * 4096);
  EXPECT_EQ(bytes_between(slice(x, {2, 1, 0}, {1, 1, 4096})), 4 * 5 * 4096);
  const Tensor apart = slice(x, {0, 1, 0}, {3, 1, 4096});  // rows with others between them
  EXPECT_EQ(apart.data<float>()[4096], 3 * 4096);
}

TEST(Eager, ALittleOfALargeTensorDoesNotKeepAllOfIt) {
  const Tensor x = zeros({1024, 1024});
  EXPECT_NE(slice(x, {0, 0}, {1, 1024}).raw_data(), x.raw_data());
}

TEST(Eager, RowsOfAVariableStayWhenItIsAssigned) {
  Variable v(zeros({4, 4096}));
  const Tensor before = slice(v.value(), {1, 0}, {2, 4096});
  v.assign(ones({4, 4096}));
  EXPECT_EQ(before.data<float>()[0], 0);
  EXPECT_EQ(v.value().data<float>()[4096], 1);
}

TEST(Eager, RowsOutsideATensorAreAnError) {
  const Tensor x = zeros({4, 4096});
  EXPECT_THROW(slice(x, {3, 0}, {2, 4096}), Error);
  EXPECT_THROW(slice(x, {-1, 0}, {2, 4096}), Error);
}

TEST(EagerThreads, AnyNumberOfThreadsMayRunOps) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      Tensor x = fill({64, 64}, t);
      for (int i = 0; i < 50; ++i) {
        const Tensor y = relu(matmul(x, x) * 0.001 + x);
        ASSERT_EQ(reduce_sum(y).shape(), Shape{});
        ASSERT_FLOAT_EQ(reduce_max(x + t).item<float>(), static_cast<float>(2 * t));
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(EagerThreads, ScopesBelongToTheirThread) {
  DeviceScope scope("/GPU:7");
  std::string requested = "unset";
  std::thread([&] { requested = explain(matrix() + 2).requested; }).join();
  EXPECT_EQ(requested, "");
}

}  // namespace
}  // namespace tandem
