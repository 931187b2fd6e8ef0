#include "tandem/core/working_set.h"

#include <gtest/gtest.h>

#include "tandem/core/lent_memory.h"
#include "tests/exec/small_gpu.h"

namespace tandem {
namespace {

TEST(WorkingSet, WhatWasReadOnADeviceMayBeWrittenOnTheHost) {
  SmallGpu gpu(1 << 20);
  MemorySpace& there = gpu.device().memory();
  const Tensor value = fill({64}, 3, DType::f32);
  WorkingSet set;
  set.read(value.storage(), there);
  auto* here = static_cast<float*>(set.write(value.storage(), host_memory()));
  here[0] = 7;
  EXPECT_FALSE(value.storage().is_in(there));
  EXPECT_NE(set.read(value.storage(), there), nullptr);  // a new copy, which the set holds like any other
  set.clear();
  EXPECT_EQ(value.to_vector<float>()[0], 7);
}

TEST(WorkingSet, WhatWasReadOnTwoDevicesMayBeWrittenOnOne) {
  SmallGpu gpus(std::vector<SmallGpu::Memory>{{.memory_limit = 1 << 20}, {.memory_limit = 1 << 20}});
  MemorySpace &first = gpus.device(0).memory(), &second = gpus.device(1).memory();
  Tensor value;
  {
    DeviceScope scope("/GPU:0");
    value = fill({64}, 3, DType::f32) + 1;
  }
  WorkingSet set;
  set.read(value.storage(), first);
  set.read(value.storage(), second);
  set.write(value.storage(), first);
  EXPECT_TRUE(value.storage().is_in(first));
  EXPECT_FALSE(value.storage().is_in(second));
  EXPECT_FALSE(value.storage().is_in(host_memory()));
}

TEST(WorkingSet, CopiesBesideTheHostsAreGivenUpUnlessTheyAreHeldOrTheOnlyOnes) {
  SmallGpu gpu(1 << 20);
  MemorySpace& there = gpu.device().memory();
  const Tensor value = fill({64}, 3, DType::f32);
  WorkingSet set;
  set.read(value.storage(), there);
  WorkingSet::give_up_beside_host(value.storage());
  EXPECT_TRUE(value.storage().is_in(there)) << "it is held";
  set.clear();
  WorkingSet::give_up_beside_host(value.storage());
  EXPECT_FALSE(value.storage().is_in(there));
  EXPECT_EQ(value.to_vector<float>()[0], 3);

  DeviceScope scope("/GPU:0");
  const Tensor only = value + 1;
  WorkingSet::give_up_beside_host(only.storage());
  EXPECT_TRUE(only.storage().is_in(there)) << "the host has none";
  EXPECT_EQ(only.to_vector<float>()[0], 4);
}

TEST(WorkingSet, AValueOfADeviceComesToItsPlaceInATensorOfTheHost) {
  SmallGpu gpu(1 << 20);
  Tensor part;
  {
    DeviceScope scope("/GPU:0");
    part = fill({64}, 3, DType::f32) + 1;
  }
  Tensor whole = fill({128}, 0, DType::f32);
  const auto* const bytes = static_cast<const float*>(whole.raw_data());
  WorkingSet::start_to_host(part.storage(), whole, 64 * sizeof(float));
  EXPECT_EQ(part.raw_data(), bytes + 64);
  EXPECT_EQ(bytes[63], 0);
  EXPECT_EQ(bytes[64], 4);
  EXPECT_EQ(bytes[127], 4);
  whole = {};
  EXPECT_EQ(part.to_vector<float>()[63], 4) << "the part keeps the whole";
}

TEST(WorkingSet, APartMayHoldTheLastOfATensorThatWasCopiedToADevice) {
  SmallGpu gpu(1 << 20);
  MemorySpace& there = gpu.device().memory();
  Tensor whole = fill({128}, 5, DType::f32);
  WorkingSet().read(whole.storage(), there);
  Tensor part = lent_part(whole, {DType::f32, {64}}, 64 * sizeof(float));
  WorkingSet().read(part.storage(), there);
  whole = {};
  EXPECT_EQ(part.to_vector<float>()[0], 5);
  part = {};  // both leave the device, one when the other has left
}

TEST(WorkingSet, ACopyThatAnotherHoldsIsNotGivenUp) {
  SmallGpu gpu(1 << 20);
  const Tensor value = fill({64}, 3, DType::f32);
  WorkingSet reads, writes;
  reads.read(value.storage(), gpu.device().memory());
  EXPECT_THROW(writes.write(value.storage(), host_memory()), std::exception);
}

}  // namespace
}  // namespace tandem
