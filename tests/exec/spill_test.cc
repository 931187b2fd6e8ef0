// What happens when a device's memory runs short: the least recently used goes to the host, and comes back.
#include "tandem/core/spill.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tandem/core/host_loans.h"
#include "tandem/core/link.h"
#include "tests/exec/small_gpu.h"

namespace tandem {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

class Spill : public ::testing::Test {
 protected:
  void SetUp() override {
    if (default_runtime().devices().size() < 2) GTEST_SKIP() << "no OpenCL driver";
  }
  void TearDown() override { set_spill(true); }
};

/// Of 64 KiB, every value `value`.
Tensor block(double value) { return fill({128, 128}, value); }
bool holds(const Tensor& tensor, float value) {
  const auto values = tensor.data<float>();
  return std::ranges::all_of(values, [&](float v) { return v == value; });
}

TEST_F(Spill, TensorsOfFourTimesTheLimitKeepTheirValues) {
  SmallGpu gpu(kMegabyte);
  DeviceScope scope("/GPU:0");
  std::vector<Tensor> kept;
  for (int i = 0; i < 64; ++i) kept.push_back(block(i) + 1);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(explain(kept[static_cast<std::size_t>(i)]).device, "/GPU:0");
  for (int round = 0; round < 2; ++round)
    for (int i = 63; i >= 0; --i) {
      Tensor& x = kept[static_cast<std::size_t>(i)];
      x = x * 2;
      EXPECT_EQ(explain(x).device, "/GPU:0");
    }
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(holds(kept[static_cast<std::size_t>(i)], static_cast<float>(4 * (i + 1)))) << i;
  EXPECT_LE(gpu.memory().peak, kMegabyte);
}

TEST_F(Spill, ACopyThatTheHostHasIsDroppedAndNotWrittenBack) {
  SmallGpu gpu(kMegabyte);
  const Tensor on_host = block(3);
  DeviceScope scope("/GPU:0");
  Tensor first = on_host * 2;
  first.raw_data();
  const SpillStats before = spill_stats();
  const TransferStats moved = transfer_stats();
  std::vector<Tensor> more;
  for (int i = 0; i < 16; ++i) more.push_back(block(i));
  const SpillStats after = spill_stats();
  EXPECT_EQ(after.evictions - before.evictions, 2u);
  EXPECT_EQ(after.written_back, before.written_back);
  EXPECT_EQ(transfer_stats().to_host.bytes, moved.to_host.bytes);
  EXPECT_TRUE(holds(first + on_host, 9));  // both come back
}

TEST_F(Spill, TheLeastRecentlyUsedGoesFirst) {
  SmallGpu gpu(kMegabyte);
  DeviceScope scope("/GPU:0");
  const Tensor old = block(1), used = block(2);
  std::vector<Tensor> more;
  for (int i = 0; i < 15; ++i) more.push_back(used * used);  // keeps `used` recent
  const TransferStats before = transfer_stats();
  used* used;
  EXPECT_EQ(transfer_stats().to_device.bytes, before.to_device.bytes);
  old* old;
  EXPECT_EQ(transfer_stats().to_device.bytes, before.to_device.bytes + 128 * 128 * 4);
}

TEST_F(Spill, AnOpThatCannotFitRunsOnTheHostAndSaysSo) {
  SmallGpu gpu(kMegabyte);
  DeviceScope scope("/GPU:0");
  const Tensor kept = block(5);
  const Tensor large = random_normal({1024, 1024});
  EXPECT_EQ(explain(large).device, "/CPU:0");
  EXPECT_EQ(explain(large).requested, "/GPU:0");
  EXPECT_EQ(explain(large).reason, ReasonCode::memory);
  EXPECT_EQ(explain(kept + 1).device, "/GPU:0");
}

TEST_F(Spill, SwitchedOffItIsAnErrorThatListsWhatLiesThere) {
  SmallGpu gpu(kMegabyte);
  DeviceScope scope("/GPU:0");
  set_spill(false);
  std::vector<Tensor> kept{fill({256, 256}, 7.0)};
  try {
    for (int i = 0; i < 20; ++i) kept.push_back(block(i));
    FAIL() << "1.5 MB fit into a megabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    const std::string message = error.what();
    for (const char* part : {"/GPU:0", "65536 bytes", "1.0 MB", "float32 [256, 256] from fill", "TANDEM_SPILL"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }
  EXPECT_THROW(random_normal({1024, 1024}), Error);
  EXPECT_TRUE(holds(kept[0], 7));
  kept.clear();
  EXPECT_TRUE(holds(block(1) + 1, 2));
}

TEST_F(Spill, EveryEvictionIsADecision) {
  SmallGpu gpu(kMegabyte);
  DeviceScope scope("/GPU:0");
  std::vector<Tensor> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(block(i));
  bool seen = false;
  for (const Decision* decision : last_decisions(64))
    seen |= decision->op == "spill" && decision->device == "/GPU:0" && decision->reason == ReasonCode::memory;
  EXPECT_TRUE(seen);
}

/// So much more than now for the host and all devices that use its memory.
class TightHost {
 public:
  explicit TightHost(std::size_t more) {
    call_in_loans();
    host().trim();
    limit_ = taken() + more;
    taken_away_ = host().stats().limit + lent_host_memory() - limit_;
    host().set_limit(host().stats().limit - taken_away_);
  }
  ~TightHost() { host().set_limit(host().stats().limit + taken_away_); }
  bool is_kept() const { return taken() <= limit_; }

 private:
  static HostPool& host() { return default_runtime().host_pool(); }
  static std::size_t taken() { return host().stats().bytes_from_system + lent_host_memory(); }
  std::size_t limit_, taken_away_;
};

TEST_F(Spill, ADeviceInTheHostsMemoryAndTheHostTogetherStayWithinTheHostsLimit) {
  SmallGpu gpu(64 * kMegabyte);
  const TightHost tight(32 * kMegabyte);
  DeviceScope scope("/GPU:0");
  std::vector<Tensor> kept;
  try {
    for (int i = 0; i < 16; ++i) kept.push_back(fill({1024, 1024}, i));
    FAIL() << "64 MB fit into 32";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
  }
  EXPECT_TRUE(tight.is_kept());
  EXPECT_GE(kept.size(), 7u);
  kept.resize(4);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(holds(kept[i], static_cast<float>(i)));
  EXPECT_TRUE(tight.is_kept());
  kept.clear();
  EXPECT_TRUE(holds(fill({1024, 1024}, 1) + 1, 2));  // what devices keep and nobody uses goes
}

TEST_F(Spill, WhereTheHostIsFullCopiesOfWhatItHasGo) {
  SmallGpu gpu(64 * kMegabyte);
  std::vector<Tensor> there;
  for (int i = 0; i < 4; ++i) there.push_back(fill({1024, 1024}, i));
  const TightHost tight(20 * kMegabyte);
  DeviceScope scope("/GPU:0");
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < there.size(); ++i)
      EXPECT_EQ(reduce_max(there[i] + there[i]).item<float>(), 2.f * static_cast<float>(i));
  EXPECT_TRUE(tight.is_kept());
}

TEST_F(Spill, SeveralThreadsMaySpillAtOnce) {
  SmallGpu gpu(kMegabyte);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const SmallGpu::OnThread here(gpu);
      DeviceScope scope("/GPU:0");
      std::vector<Tensor> kept;
      for (int i = 0; i < 12; ++i) kept.push_back(block(t) + i);
      for (int i = 0; i < 12; ++i)
        wrong += !holds(kept[static_cast<std::size_t>(i)] * 2, static_cast<float>(2 * (t + i)));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Spill, AValueGoesFromOneDeviceToAnotherByWayOfTheHost) {
  SmallGpu gpus(std::vector<SmallGpu::Memory>{{.memory_limit = kMegabyte}, {.memory_limit = 2 * kMegabyte}});
  EXPECT_EQ(gpus.device(0).memory().info().limit, kMegabyte);
  EXPECT_EQ(gpus.device(1).memory().info().limit, 2 * kMegabyte);
  Tensor x;
  {
    DeviceScope scope("/GPU:0");
    x = block(3) * 2;
  }
  DeviceScope scope("/GPU:1");
  EXPECT_TRUE(holds(x + 1, 7));
}

TEST_F(Spill, ALinkDelaysCopiesByItsLatencyAndBandwidth) {
  SmallGpu gpu(16 * kMegabyte);
  const Tensor x = ones({1 << 20});  // 4.2 MB: 42 ms at 0.1 GB/s
  auto seconds = [](auto body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  set_links("/CPU:0>/GPU:0:gb_per_s=0.1;/GPU:0>/CPU:0:latency_us=30000");
  Tensor y;
  {
    DeviceScope scope("/GPU:0");
    EXPECT_GE(seconds([&] { y = x * x; }), 0.04);
  }
  EXPECT_GE(seconds([&] { y.raw_data(); }), 0.03);
  set_links("");
  EXPECT_TRUE(holds(y, 1));
}

TEST(Links, AreRefusedWithTheReasonWhenTheyMakeNoSense) {
  for (const char* text : {"gb_per_s=1", "/CPU:0>/GPU:0", "/CPU:0>/GPU:0:speed=1", "/CPU:0>/GPU:0:gb_per_s=fast",
                           "/CPU:0>/GPU:0:gb_per_s=0", "/CPU:0>/CPU:0:gb_per_s=1", "/CPU:0>nowhere:0:gb_per_s=1"}) {
    try {
      set_links(text);
      FAIL() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unknown_device)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tandem
