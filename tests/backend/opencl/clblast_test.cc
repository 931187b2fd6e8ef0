// The matrix products of GPUs, tried on the device there is.
#include "tandem/backend/opencl/clblast.h"

#include <gtest/gtest.h>

#include "tests/exec/small_gpu.h"

namespace tandem {
namespace {

class OpenClClblast : public ::testing::Test {
 protected:
  OpenClClblast() : gpu_({.clblast = true}, {{.memory_limit = 64 << 20}}) {}
  void SetUp() override {
    ASSERT_NE(opencl::Clblast::find(), nullptr) << "libclblast is not installed; run scripts/setup";
  }

  /// The product on both devices.
  static void compare(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false) {
    Tensor there;
    {
      DeviceScope scope("/GPU:0");
      there = matmul(a, b, transpose_a, transpose_b);
    }
    ASSERT_EQ(explain(there).kernel, "opencl CLBlast") << explain(there).text();
    DeviceScope scope("/CPU:0");
    const Tensor here = matmul(a, b, transpose_a, transpose_b);
    ASSERT_EQ(there.shape(), here.shape());
    EXPECT_LT(reduce_max(abs(there - here)).item<float>(), 1e-4) << a.shape() << " x " << b.shape();
  }
  SmallGpu gpu_;
};

// Each combination of transposes is a program of its own, which takes PoCL seconds to compile the first time.
TEST_F(OpenClClblast, MultipliesMatricesPlainAndTransposed) {
  compare(random_normal({17, 33}), random_normal({33, 9}));
  compare(random_normal({1, 5}), random_normal({5, 1}));
  compare(random_normal({33, 17}), random_normal({9, 33}), true, true);
}

TEST_F(OpenClClblast, RowsOfABatchAreRowsOfOneProduct) { compare(random_normal({3, 2, 5}), random_normal({5, 6})); }

TEST_F(OpenClClblast, WhatItCannotDoGoesToOurOwnTiles) {
  DeviceScope scope("/GPU:0");
  const Tensor whole = fill({4, 4}, 2, DType::i32);
  EXPECT_EQ(explain(matmul(whole, whole)).kernel, "opencl direct");
  EXPECT_EQ(explain(matmul(fill({3, 0}, 1), fill({0, 2}, 1))).kernel, "opencl direct");
  EXPECT_EQ(explain(matmul(fill({3, 2, 2}, 1), fill({3, 2, 2}, 1))).kernel, "opencl direct");
}

TEST(OpenClGemmFamily, IsChosenByWhatTheDeviceIs) {
  SmallGpu gpu(std::size_t{64} << 20);
  DeviceScope scope("/GPU:0");
  const Tensor product = matmul(fill({4, 4}, 2), fill({4, 4}, 2));
  EXPECT_EQ(explain(product).kernel, "opencl direct");
  EXPECT_EQ(explain(product).candidates.front().refusal, "CLBlast is for GPUs");
}

}  // namespace
}  // namespace tandem
