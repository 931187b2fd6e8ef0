// A device that works on the host's own memory, as an integrated GPU does: nothing is copied.
#include <gtest/gtest.h>

#include <thread>

#include "tests/exec/small_gpu.h"

namespace tandem {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

class OpenClSharedMemory : public ::testing::Test {
 protected:
  OpenClSharedMemory()
      : gpu_({.shared_memory = true}, {{.memory_limit = 64 * kMegabyte}, {.memory_limit = 64 * kMegabyte}}) {}
  void SetUp() override { before_ = transfer_stats(); }
  void TearDown() override {
    const TransferStats after = transfer_stats();
    EXPECT_EQ(after.to_device.count, before_.to_device.count);
    EXPECT_EQ(after.to_host.count, before_.to_host.count);
  }
  SmallGpu gpu_;

 private:
  TransferStats before_;
};

TEST_F(OpenClSharedMemory, ValuesGoThereAndBackWithoutACopy) {
  const Tensor x = random_normal({300, 300}), y = random_normal({300, 300});
  Tensor product;
  {
    DeviceScope scope("/GPU:0");
    product = matmul(x, y) + x;
  }
  EXPECT_EQ(explain(product).device, "/GPU:0");
  const Tensor there = product * 2.0;  // back on the device, where its operand is
  DeviceScope scope("/CPU:0");
  const Tensor expected = matmul(x, y) + x;
  for (std::size_t i = 0; i < 90'000; ++i) {
    ASSERT_NEAR(product.data<float>()[i], expected.data<float>()[i], 1e-3);
    ASSERT_EQ(there.data<float>()[i], 2 * product.data<float>()[i]);
  }
}

TEST_F(OpenClSharedMemory, TheHostWaitsForWhatTheDeviceStillWrites) {
  DeviceScope scope("/GPU:0");
  Tensor x = fill({512, 512}, 1.0 / 512);
  for (int i = 0; i < 20; ++i) x = matmul(x, x) + 0.0;  // stays as it is
  for (float value : x.data<float>()) ASSERT_NEAR(value, 1.0 / 512, 1e-6);
}

TEST_F(OpenClSharedMemory, BytesMayBeFreedAndWrittenAnewWhileTheDeviceReadsThem) {
  for (int round = 0; round < 20; ++round) {
    Tensor result;
    {
      const Tensor x = fill({512, 512}, 1);
      DeviceScope scope("/GPU:0");
      result = matmul(x, x);
    }
    const Tensor other = fill({512, 512}, 7);  // gets the bytes of x when they are free
    ASSERT_EQ(result.data<float>()[1000], 512.f);
    ASSERT_EQ(other.data<float>()[1000], 7.f);
  }
}

TEST_F(OpenClSharedMemory, TwoSuchDevicesSeeEachOthersResults) {
  Tensor x = fill({256, 256}, 1);
  for (int i = 0; i < 10; ++i) {
    DeviceScope scope(i % 2 ? "/GPU:1" : "/GPU:0");
    x = x + 1.0;
  }
  EXPECT_EQ(x.data<float>()[77], 11.f);
}

TEST_F(OpenClSharedMemory, WhatTheDeviceMayUseIsLimitedAllTheSame) {
  DeviceScope scope("/GPU:0");
  std::vector<Tensor> kept;
  for (int i = 0; i < 40; ++i) kept.push_back(fill({1024, 1024}, i) + 1.0);  // 160 MiB under a limit of 64
  for (int i = 0; i < 40; ++i) ASSERT_EQ(kept[static_cast<std::size_t>(i)].data<float>()[5], static_cast<float>(i + 1));
  EXPECT_LE(gpu_.memory().peak, 64 * kMegabyte);
  const Tensor large = fill({5000, 5000}, 2) + 1.0;
  EXPECT_EQ(explain(large).device, "/CPU:0");
  EXPECT_EQ(explain(large).reason, ReasonCode::memory);
}

TEST_F(OpenClSharedMemory, SeveralThreadsMayUseTheSameValues) {
  const Tensor x = fill({128, 128}, 3);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const SmallGpu::OnThread here(gpu_);
      for (int i = 0; i < 30; ++i) {
        DeviceScope scope(t % 2 ? "/GPU:0" : "/CPU:0");
        wrong += ((x * x) + static_cast<double>(t)).data<float>()[9] != static_cast<float>(9 + t);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tandem
