// Work that a device times by its own clock.
#include <gtest/gtest.h>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/base/fault.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

Device& gpu() { return *default_runtime().devices()[1]; }

Tensor product(std::int64_t size) {
  const DeviceScope scope("/GPU:0");
  const Tensor x = fill({size, size}, 1.0 / static_cast<double>(size), DType::f32);
  return matmul(x, x);
}

double total(const opencl::DeviceTiming& timing) {
  double us = 0;
  for (const auto& [op, each] : timing.ops) us += each;
  return us;
}

TEST(OpenclTiming, SaysWhatEachOpTookAndTheResultsAreRight) {
  const std::uint64_t number = opencl::start_timing(gpu());
  ASSERT_GT(number, 0u);
  EXPECT_EQ(opencl::start_timing(gpu()), 0u);  // one at a time
  const Tensor y = product(256);
  opencl::stop_timing(gpu());
  const Tensor z = product(8);  // not part of it
  gpu().synchronize();
  const auto timing = opencl::take_timing(gpu(), number);
  ASSERT_TRUE(timing);
  ASSERT_FALSE(timing->ops.empty());
  bool matmul_seen = false;
  for (const auto& [op, us] : timing->ops) matmul_seen |= op && op->op == "matmul" && us > 0;
  EXPECT_TRUE(matmul_seen);
  EXPECT_GE(timing->span_us * 1.001, total(*timing));
  EXPECT_NEAR(y.to_vector<float>()[0], 1.0 / 256, 1e-6);
  EXPECT_NEAR(z.to_vector<float>()[0], 1.0 / 8, 1e-6);
}

TEST(OpenclTiming, ACopyThatBreaksOffBehindATimingNamesTheOpThatWasTimed) {
  ASSERT_GT(opencl::start_timing(gpu()), 0u);
  const Tensor y = product(8);
  opencl::stop_timing(gpu());
  try {
    const FaultScope faults("opencl.transfer:1");
    y.raw_data();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("to the host after matmul failed"), std::string::npos) << error.what();
  }
  EXPECT_NEAR(y.to_vector<float>()[0], 1.0 / 8, 1e-6);
}

TEST(OpenclTiming, WhoForgetsToFetchOneStopsNobodyElse) {
  const std::uint64_t forgotten = opencl::start_timing(gpu());
  product(16);
  opencl::stop_timing(gpu());
  gpu().synchronize();
  const std::uint64_t number = opencl::start_timing(gpu());
  ASSERT_GT(number, forgotten);
  product(16);
  opencl::stop_timing(gpu());
  gpu().synchronize();
  EXPECT_FALSE(opencl::take_timing(gpu(), number)->ops.empty());
  EXPECT_FALSE(opencl::take_timing(gpu(), forgotten)->ops.empty());
  EXPECT_TRUE(opencl::take_timing(gpu(), forgotten)->ops.empty());  // once only
}

TEST(OpenclTiming, LargerWorkTakesLonger) {
  const auto us = [](std::int64_t size) {
    product(size);
    const std::uint64_t number = opencl::start_timing(gpu());
    product(size);
    opencl::stop_timing(gpu());
    gpu().synchronize();
    return total(*opencl::take_timing(gpu(), number));
  };
  EXPECT_GT(us(768), 4 * us(96));
}

}  // namespace
}  // namespace tandem
