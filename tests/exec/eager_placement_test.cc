// Ops without a scope on two devices: they stay near their data until what that costs would have paid for moving it.
#include "tandem/exec/eager_placement.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

/// The GPU is twice as fast, behind a link of `gb_per_s`, for one test.
class TwiceAsFast : WithMachine {
 public:
  explicit TwiceAsFast(double gb_per_s) : WithMachine(cpu_and_gpu(2, gb_per_s)) {}
};

TEST(EagerPlacement, LargeProductsGoToTheFasterDeviceAndStayThere) {
  TwiceAsFast machine(10);
  const Tensor w = fill({256, 256}, 1.0 / 256, DType::f32);
  Tensor x = w;
  for (int i = 0; i < 3; ++i) x = matmul(x, w);
  EXPECT_EQ(explain(x).device, "/GPU:0");
  EXPECT_EQ(explain(x).reason, ReasonCode::cheaper_here);
  EXPECT_NEAR(x.to_vector<float>()[0], 1.0 / 256, 1e-6);
}

TEST(EagerPlacement, SmallOnesStayOnTheCpu) {
  TwiceAsFast machine(10);
  const Tensor x = ones({2, 2}), y = matmul(x, x);
  EXPECT_EQ(explain(y).device, "/CPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::too_small);
  EXPECT_EQ(explain(x).reason, ReasonCode::host_value);
}

TEST(EagerPlacement, ASlowLinkKeepsALargeSquareOnTheCpu) {
  const Tensor x = fill({1 << 20}, 2, DType::f32);
  {
    TwiceAsFast machine(0.1);
    EXPECT_EQ(explain(square(x)).device, "/CPU:0");
    EXPECT_EQ(explain(square(x)).reason, ReasonCode::near_its_data);
  }
  TwiceAsFast machine(1000);
  EXPECT_EQ(explain(square(x)).device, "/GPU:0");
}

TEST(EagerPlacement, WhatIsLostByStayingAddsUpAlongAChainUntilItMoves) {
  // A product of 256 × 256 takes 671 us here, 341 there; its operand 2.6 ms to copy.
  TwiceAsFast machine(0.1);
  const Tensor w = fill({256, 256}, 1.0 / 256, DType::f32);
  Tensor x = w;
  std::vector<std::string> devices;
  for (int i = 0; i < 20; ++i) {
    x = matmul(x, w);
    devices.push_back(explain(x).device);
  }
  EXPECT_EQ(devices.front(), "/CPU:0");
  EXPECT_EQ(devices.back(), "/GPU:0");
  EXPECT_EQ(std::count(devices.begin(), devices.end(), "/CPU:0"),
            std::ranges::find(devices, "/GPU:0") - devices.begin());
}

TEST(EagerPlacement, WhatTheHostMakesAnewEachTimeBringsItsConsumerBack) {
  // A sum of 4 MB takes less there, but each of its operands from the host 42 ms to copy.
  TwiceAsFast machine(0.1);
  Tensor x;
  {
    const DeviceScope scope("/GPU:0");
    x = fill({1 << 20}, 1, DType::f32);
  }
  for (int i = 0; i < 3; ++i) x = x + fill({1 << 20}, 1, DType::f32);
  EXPECT_EQ(explain(x).device, "/CPU:0");
  EXPECT_EQ(explain(x).reason, ReasonCode::near_its_data);
  EXPECT_EQ(x.to_vector<float>()[0], 4);
}

TEST(EagerPlacement, SmallValuesStayOnTheHostWhateverTheirDtypeUnlessAScopeSaysOtherwise) {
  TwiceAsFast machine(1000);
  for (const DType dtype : {DType::f32, DType::i32, DType::i64, DType::boolean, DType::f16}) {
    const Tensor x = cast(ones({4}), dtype), same = equal(x, x);
    EXPECT_EQ(explain(same).device, "/CPU:0") << dtype;
    EXPECT_EQ(explain(same).reason, ReasonCode::too_small) << dtype;
    const DeviceScope scope("/GPU:0");
    EXPECT_EQ(explain(equal(x, x)).device, "/GPU:0") << dtype;
  }
}

TEST(EagerPlacement, ASmallValueGoesToItsLargeConsumerNotTheConsumerToIt) {
  TwiceAsFast machine(1000);
  const Tensor w = fill({256, 256}, 1.0 / 256, DType::f32), large = matmul(matmul(w, w), w);
  ASSERT_EQ(explain(large).device, "/GPU:0");
  const Tensor factor = reduce_sum(ones({3})), scaled = large * factor;
  EXPECT_EQ(explain(factor).device, "/CPU:0");
  EXPECT_EQ(explain(scaled).device, "/GPU:0");
  EXPECT_EQ(&factor.storage().space(), &host_memory());
}

TEST(EagerPlacement, WhatHasNoOperandsStartsOnTheHost) {
  TwiceAsFast machine(1000);
  for (const Tensor& made : {ones({1 << 20}), random_normal({1 << 20})}) {
    EXPECT_EQ(explain(made).device, "/CPU:0");
    EXPECT_EQ(explain(made).reason, ReasonCode::host_value);
  }
}

TEST(EagerPlacement, AScopeDecidesWhateverTheFiguresSay) {
  TwiceAsFast machine(1000);
  const Tensor w = fill({256, 256}, 1, DType::f32);
  const DeviceScope scope("/CPU:0");
  EXPECT_EQ(explain(matmul(w, w)).device, "/CPU:0");
  EXPECT_EQ(explain(matmul(w, w)).reason, ReasonCode::requested);
}

}  // namespace
}  // namespace tandem
