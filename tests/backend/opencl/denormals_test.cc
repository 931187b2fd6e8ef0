// Averages of optimizers that decay while gradients stay 0 end as denormal numbers, for which a processor takes many
// times as long: updates of variables compute with 0 instead, on an OpenCL device as on the CPU (ADR 0122). Other ops
// keep such numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tandem/op/records.h"
#include "tandem/op/training.h"
#include "tests/backend/opencl/call.h"
#include "tests/backend/opencl/own_folder.h"

namespace tandem::opencl {
namespace {

/// 1e-30 down to the smallest denormal number.
Tensor small_numbers(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::ldexp(1.25f, -100 - static_cast<int>(i % 50));
  return Tensor::from(values, shape);
}

/// A step of Adam whose gradient is 0.
Tensors quiet_step(Device& device, const Kernel& kernel) {
  const Shape shape{331};
  const auto scalar = [](float value) { return Tensor::scalar(value, DType::f32); };
  const Call call(
      apply_adam_op, {},
      {random_f32(shape), small_numbers(shape), small_numbers(shape), Tensor::from(std::vector<float>(331), shape),
       scalar(0.001f), scalar(0.9f), scalar(0.999f), scalar(1e-7f)});
  EXPECT_TRUE(call.runs_with(kernel, device)) << kernel.name;
  return call.run(device, kernel);
}

void expect_flushed(const Tensors& results, const std::string& where) {
  for (const Tensor& result : results)
    for (std::int64_t i = 0; i < result.shape().elements(); ++i)
      EXPECT_NE(std::fpclassify(result.data<float>()[i]), FP_SUBNORMAL) << where << ", element " << i;
}

TEST(OpenClDenormals, UpdatesFlushThemAndHaveTheBitsOfTheCpu) {
  const auto made = devices({.cpu_as_gpu = 1});
  if (made.empty()) GTEST_SKIP() << "no OpenCL driver";
  Device& cpu = *default_runtime().devices()[0];
  const Tensors expected = quiet_step(cpu, cpu.kernels().of(apply_adam_op)[0]);
  const Tensors got = quiet_step(*made[0], made[0]->kernels().of(apply_adam_op)[0]);
  expect_flushed(expected, "on the CPU");
  expect_flushed(got, "on the OpenCL device");
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_EQ(std::memcmp(got[k].raw_data(), expected[k].raw_data(), got[k].spec().bytes()), 0) << "result " << k;
}

TEST(OpenClDenormals, ProgramsFromTheDiskFlushThemToo) {
  const OwnFolder folder;
  for (const char* run : {"compiled", "from the disk"}) {
    const auto made = devices({.cpu_as_gpu = 1});
    if (made.empty()) GTEST_SKIP() << "no OpenCL driver";
    expect_flushed(quiet_step(*made[0], made[0]->kernels().of(apply_adam_op)[0]), run);
  }
  EXPECT_EQ(folder.programs().size(), 2u);  // the proof of the device, and the step
}

TEST(OpenClDenormals, OtherOpsKeepThemAfterAnUpdate) {
  const auto made = devices({.cpu_as_gpu = 1});
  if (made.empty()) GTEST_SKIP() << "no OpenCL driver";
  quiet_step(*made[0], made[0]->kernels().of(apply_adam_op)[0]);
  const Tensor x = small_numbers({400}), one = Tensor::from(std::vector<float>(400, 1.0f), {400});
  const Tensor product = Call(*find_op("multiply"), {}, {x, one}).run(*made[0]);
  EXPECT_EQ(std::memcmp(product.raw_data(), x.raw_data(), x.spec().bytes()), 0);
}

}  // namespace
}  // namespace tandem::opencl
