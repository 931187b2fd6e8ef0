// What a device scope asks for, in every spelling.
#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

/// What an op under the scopes of this thread asks for; "" for nothing.
std::string requested() { return explain(ones({2}) + 1).requested; }

TEST(Scopes, EverySpellingOfTensorFlowNamesTheSameDevice) {
  for (const char* name :
       {"/GPU:0", "GPU:0", "gpu:0", "/gpu:0", "GPU", "/device:GPU:0", "device:gpu:0", "/device:GPU:*", "GPU:*",
        "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/device:GPU:0", "/task:0/GPU:0",
        "/job:*/replica:*/task:*/device:GPU:0", "/GPU:00000000000", "/GPU: 0\n"}) {
    DeviceScope scope(name);
    EXPECT_EQ(requested(), "/GPU:0") << name;
  }
}

TEST(Scopes, AKindThatIsNotHereMayBeAskedFor) {
  DeviceScope tpu("/TPU:0");
  EXPECT_EQ(requested(), "/TPU:0");
  DeviceScope other("/device:XPU:1");
  const Tensor sum = ones({2}) + 1;
  EXPECT_EQ(explain(sum).requested, "/XPU:1");
  EXPECT_EQ(explain(sum).device, "/CPU:0");
  EXPECT_EQ(explain(sum).reason, ReasonCode::device_missing);
}

TEST(Scopes, ANumberThatNoDeviceHasMayBeAskedFor) {
  for (const char* name : {"/GPU:99999999", "/GPU:123456789012345678901234567890"}) {
    DeviceScope scope(name);
    EXPECT_EQ(explain(ones({2}) + 1).reason, ReasonCode::device_missing) << name;
  }
}

TEST(Scopes, WhatNamesNoDeviceIsRefused) {
  for (const char* name : {"/foo", "/GPU:", "/GPU:-1", "/GPU:1:2", "/CPU:0/GPU:0", "/device:", "/device::0",
                           "/job:worker/GPU:0", "/task:1/GPU:0", "/G PU:0", "/GPU:x", "/device:*:0/GPU:0"})
    EXPECT_THROW(DeviceScope scope(name), Error) << name;
  EXPECT_EQ(requested(), "");  // nothing stays behind
}

TEST(Scopes, ANameWithoutADeviceLeavesTheOuterScopeAlone) {
  EXPECT_EQ((DeviceScope("/job:localhost"), requested()), "");
  DeviceScope outer("/GPU:0");
  for (const char* name : {"", "/job:localhost", "/job:localhost/replica:0/task:0", "/device:*:*", "/device:*:0"}) {
    DeviceScope inner(name);
    EXPECT_EQ(requested(), "/GPU:0") << name;
  }
}

TEST(Scopes, NullHidesTheOuterScopes) {
  DeviceScope outer("/GPU:0");
  {
    DeviceScope none(nullptr);
    EXPECT_EQ(requested(), "");
    DeviceScope inner("/CPU:0");
    EXPECT_EQ(requested(), "/CPU:0");
  }
  EXPECT_EQ(requested(), "/GPU:0");
}

}  // namespace
}  // namespace tandem
