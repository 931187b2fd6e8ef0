// config in C++: what it lists, and what it refuses once the devices are in use. tests/python/test_config.py tries the
// rest in processes of their own.
#include "tandem/runtime/config.h"

#include <gtest/gtest.h>

#include "tandem/base/error.h"
#include "tandem/base/text.h"
#include "tandem/tandem.h"

namespace tandem::config {
namespace {

template <class F>
std::string refusal(F call, ErrorCode expected) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    return std::string(error.message());
  }
  return "no error";
}

class Config : public ::testing::Test {
 protected:
  void SetUp() override { default_runtime(); }
};

TEST_F(Config, DevicesPrintAsTensorFlows) {
  EXPECT_EQ(text(list_physical_devices("CPU")[0]), "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')");
  EXPECT_EQ(text(list_logical_devices("GPU")[0]), "LogicalDevice(name='/device:GPU:0', device_type='GPU')");
  EXPECT_TRUE(list_physical_devices("TPU").empty());
}

TEST_F(Config, TheDevicesCannotBeChangedOnceTheyAreInUse) {
  const PhysicalDevice gpu = list_physical_devices("GPU")[0];
  EXPECT_TRUE(initialized());
  EXPECT_EQ(refusal([] { set_visible_devices({}, "GPU"); }, ErrorCode::too_late),
            "Visible devices cannot be modified after being initialized");
  EXPECT_EQ(refusal([&] { set_logical_device_configuration(gpu, {{.memory_limit = 64}}); }, ErrorCode::too_late),
            "Virtual devices cannot be modified after being initialized");
  EXPECT_EQ(refusal([&] { set_memory_growth(gpu, false); }, ErrorCode::too_late),
            "Physical devices cannot be modified after being initialized");
  const char* opencl = "OpenCL devices cannot be modified after being initialized";
  EXPECT_EQ(refusal([] { set_opencl_cpu_as_gpu(get_opencl_cpu_as_gpu() + 1); }, ErrorCode::too_late), opencl);
  EXPECT_EQ(refusal([] { set_opencl_hide_fp64(!get_opencl_hide_fp64()); }, ErrorCode::too_late), opencl);
  EXPECT_EQ(refusal([] { set_opencl_shared_memory(!get_opencl_shared_memory()); }, ErrorCode::too_late), opencl);
}

TEST_F(Config, SpillAndLinksMayChangeAtAnyTime) {
  const bool spill = get_spill();
  set_spill(!spill);
  EXPECT_EQ(get_spill(), !spill);
  set_spill(spill);
  const std::string links = get_links();
  set_links("/CPU:0>/GPU:0:latency_us=1");
  EXPECT_EQ(get_links(), "/CPU:0>/GPU:0:latency_us=1");
  refusal([] { set_links("/CPU:0>/GPU:0:speed=1"); }, ErrorCode::invalid_argument);
  EXPECT_EQ(get_links(), "/CPU:0>/GPU:0:latency_us=1");
  set_links(links);
}

TEST_F(Config, WhatChangesNothingIsNeverTooLate) {
  set_visible_devices(get_visible_devices());
  set_opencl_cpu_as_gpu(get_opencl_cpu_as_gpu());
  set_dedicated_cores(get_dedicated_cores());
  set_opencl_shared_memory(get_opencl_shared_memory());
}

TEST_F(Config, MemoryOfAGpuIsCounted) {
  const MemoryUse before = get_memory_info("GPU:0");
  DeviceScope scope("/GPU:0");
  const Tensor kept = zeros({1 << 20}) + 1;
  EXPECT_GE(get_memory_info("GPU:0").current, before.current + (4u << 20));
  reset_memory_stats("GPU:0");
  EXPECT_EQ(get_memory_info("/device:GPU:0").peak, get_memory_info("GPU:0").current);
}

TEST_F(Config, SynchronousExecutionIsOnAtFirstAndGivenBackAsItWasSet) {
  EXPECT_TRUE(get_synchronous_execution());
  set_synchronous_execution(false);
  EXPECT_FALSE(get_synchronous_execution());
  set_synchronous_execution(true);
}

TEST_F(Config, SoftPlacementMayChangeAtAnyTime) {
  DeviceScope scope("/GPU:8");
  const Tensor x = zeros({3});
  set_soft_device_placement(false);
  EXPECT_FALSE(get_soft_device_placement());
  EXPECT_THROW(x + x, Error);
  set_soft_device_placement(true);
  EXPECT_EQ(explain(x + x).reason, ReasonCode::device_missing);
}

TEST_F(Config, SeveralRuntimesMayDivideTheSameDeviceDifferently) {
  Settings settings{.cpus = 2};
  settings.gpus[0].limits = {8 << 20, 4 << 20};
  Runtime divided(settings);
  std::vector<std::string> names;
  for (const Device* device : divided.devices()) names.push_back(device->name().short_name());
  EXPECT_EQ(names, (std::vector<std::string>{"/CPU:0", "/CPU:1", "/GPU:0", "/GPU:1"}));
  EXPECT_EQ(divided.devices()[3]->properties().memory_bytes, std::size_t{4} << 20);
  Runtime hidden(Settings{.visible_gpus = std::vector<int>{}});
  EXPECT_EQ(hidden.devices().size(), 1u);
}

}  // namespace
}  // namespace tandem::config
