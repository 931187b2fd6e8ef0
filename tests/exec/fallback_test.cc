// What happens when a device cannot run an op: seen on devices that lack a kernel or have no memory left.
#include <gtest/gtest.h>

#include "tandem/exec/eager.h"
#include "tandem/op/records.h"
#include "tandem/tandem.h"
#include "tests/exec/device_list.h"

namespace tandem {
namespace {

/// Memory of which nothing is left.
class FullMemory final : public MemorySpace {
 public:
  std::string_view name() const override { return "full"; }
  void* allocate(std::size_t bytes) override { fail(ErrorCode::out_of_memory, "no room for ", bytes, " bytes"); }
  void free(void*, std::size_t) noexcept override {}
  Event copy_from_host(void*, const void*, std::size_t, bool) override { return {}; }
  Event copy_to_host(void*, const void*, std::size_t) override { return {}; }
};

/// A GPU with the given kernels, on which nothing fits.
class FakeGpu final : public Device {
 public:
  explicit FakeGpu(KernelTable kernels) : kernels_(std::move(kernels)) { properties_.name = {"GPU", 0}; }
  const DeviceProperties& properties() const override { return properties_; }
  MemorySpace& memory() override { return memory_; }
  const KernelTable& kernels() const override { return kernels_; }
  void synchronize() override {}

 private:
  DeviceProperties properties_;
  FullMemory memory_;
  KernelTable kernels_;
};

DeviceList with_cpu(Device& gpu) { return DeviceList({default_runtime().devices()[0], &gpu}); }

Tensor add_on_gpu(EagerDispatcher& dispatcher) {
  const Tensor a = ones({3});
  const DeviceName gpu{"GPU", 0};
  const TensorRef inputs[] = {a, a};
  Tensor sum;
  const Attrs attrs{};
  OpCall call{.op = add_op, .inputs = inputs, .attrs = attrs, .outputs = {&sum, 1}, .requested = &gpu};
  dispatcher.run(call);
  return sum;
}

KernelTable kernels_for_add() {
  KernelTable table;
  const auto kernels = default_runtime().devices()[0]->kernels().of(add_op);
  table.set(add_op, KernelList(kernels.begin(), kernels.end()));
  return table;
}

TEST(Fallback, WithoutAKernelTheOpRunsOnTheHostAndSaysWhy) {
  FakeGpu gpu({});
  DeviceList registry = with_cpu(gpu);
  EagerDispatcher dispatcher(registry);
  const Tensor sum = add_on_gpu(dispatcher);
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(explain(sum).device, "/CPU:0");
  EXPECT_EQ(explain(sum).requested, "/GPU:0");
  EXPECT_EQ(explain(sum).reason, ReasonCode::no_kernel);
  EXPECT_EQ(explain(sum).candidates.front().device, "/GPU:0");
}

TEST(Fallback, WithoutRoomTheOpRunsOnTheHostAndSaysWhy) {
  FakeGpu gpu(kernels_for_add());
  DeviceList registry = with_cpu(gpu);
  EagerDispatcher dispatcher(registry);
  for (int round = 0; round < 2; ++round) {
    const Tensor sum = add_on_gpu(dispatcher);
    EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{2, 2, 2}));
    EXPECT_EQ(explain(sum).device, "/CPU:0");
    EXPECT_EQ(explain(sum).reason, ReasonCode::memory);
  }
}

TEST(Fallback, WithoutSoftPlacementBothAreErrors) {
  FakeGpu bare({}), full(kernels_for_add());
  DeviceList bare_registry = with_cpu(bare), full_registry = with_cpu(full);
  EagerDispatcher without_kernel(bare_registry), without_room(full_registry);
  without_kernel.set_soft_placement(false);
  without_room.set_soft_placement(false);
  auto code_of = [](EagerDispatcher& dispatcher) {
    try {
      add_on_gpu(dispatcher);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of(without_kernel), ErrorCode::no_kernel);
  EXPECT_EQ(code_of(without_room), ErrorCode::out_of_memory);
}

TEST(Fallback, TheErrorNamesOpDtypesDeviceRefusalsAndWhatThereIs) {
  FakeGpu gpu({});
  DeviceList registry = with_cpu(gpu);
  EagerDispatcher dispatcher(registry);
  dispatcher.set_soft_placement(false);
  try {
    add_on_gpu(dispatcher);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part : {"Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'",
                             "enable_soft_placement=0", "Supported device types [CPU]",
                             "All available devices [/job:localhost/replica:0/task:0/device:CPU:0, "
                             "/job:localhost/replica:0/task:0/device:GPU:0]",
                             "add(float32, float32)", "there is none for this op", "[Op:add]"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
}

}  // namespace
}  // namespace tandem
