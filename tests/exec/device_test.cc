// CPU and GPU together: scopes, transfers, fallback, and results that agree.
#include <gtest/gtest.h>

#include <thread>

#include "tandem/tandem.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

const Device* gpu() {
  for (const Device* device : default_runtime().devices())
    if (device->name().kind == "GPU") return device;
  return nullptr;
}

class Devices : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(gpu(), nullptr) << "no OpenCL device: is pocl-opencl-icd installed?"; }
};

/// Bytes moved to devices and back while `body` runs.
template <class F>
std::pair<std::uint64_t, std::uint64_t> moved_by(F body) {
  const TransferStats before = transfer_stats();
  body();
  const TransferStats after = transfer_stats();
  return {after.to_device.bytes - before.to_device.bytes, after.to_host.bytes - before.to_host.bytes};
}
using Moved = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(Devices, BytesMoveOnceAndOnlyWhenTheyAreNeeded) {
  const Tensor a = random_normal({1000, 1000}), b = random_normal({1000, 1000});
  Tensor c;
  auto product = [&] {
    DeviceScope scope("/GPU:0");
    c = matmul(a, b);
  };
  EXPECT_EQ(moved_by(product), Moved(8'000'000, 0));
  EXPECT_EQ(moved_by(product), Moved(0, 0));
  EXPECT_EQ(moved_by([&] { c.raw_data(); }), Moved(0, 4'000'000));
  EXPECT_EQ(moved_by([&] { c.raw_data(); }), Moved(0, 0));
}

TEST_F(Devices, ATensorNamesTheDeviceThatMadeIt) {
  DeviceScope outer("/GPU:0");
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const Tensor d = matmul(a, a);
  EXPECT_EQ(d.device(), "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(explain(d).reason, ReasonCode::requested);
  DeviceScope inner("/CPU:0");
  EXPECT_EQ((a + a).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_F(Devices, WithoutAScopeAnOpRunsWhereItsDataIs) {
  const WithMachine figures(cpu_and_gpu(2));
  Tensor x;
  {
    DeviceScope scope("/GPU:0");
    x = ones({64}) + 1;
  }
  const Tensor y = x * 3;
  EXPECT_EQ(explain(y).device, "/GPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::near_its_data);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 6.f));
}

/// The demo's classifier, a few steps on one device; returns the losses.
std::vector<double> train(const char* device) {
  set_seed(7);
  DeviceScope scope(device);
  const Tensor x = random_normal({32, 20}), y = random_uniform({32}, 0, 5, DType::i32);
  const Variable w1(random_normal({20, 16}, 0, 0.1)), b1(zeros({16})), w2(random_normal({16, 5}, 0, 0.1)),
      b2(zeros({5}));
  const std::vector<Variable> variables{w1, b1, w2, b2};
  Adam adam({.learning_rate = 0.01});
  std::vector<double> losses;
  for (int step = 0; step < 5; ++step) {
    GradientTape tape;
    const Tensor logits = bias_add(matmul(relu(bias_add(matmul(x, w1), b1)), w2), b2);
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(y, logits));
    adam.apply_gradients(variables, tape.gradient(loss, Tensors(variables.begin(), variables.end())));
    losses.push_back(loss.item<double>());
  }
  return losses;
}

TEST_F(Devices, TrainingGivesTheSameLossesOnEitherDevice) {
  const auto on_cpu = train("/CPU:0"), on_gpu = train("/GPU:0");
  for (std::size_t i = 0; i < on_cpu.size(); ++i) EXPECT_NEAR(on_gpu[i], on_cpu[i], 1e-4 * on_cpu[i]) << "step " << i;
  EXPECT_LT(on_gpu.back(), on_gpu.front());
}

TEST_F(Devices, ABadIndexIsReportedByWhoReadsTheResult) {
  DeviceScope scope("/GPU:0");
  try {
    gather(zeros({5, 2}), Tensor::from({1, 7}, {2})).raw_data();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::index_out_of_range) << error.what();
    EXPECT_NE(std::string(error.what()).find("gather"), std::string::npos) << error.what();
  }
  EXPECT_EQ((ones({2}) + 1).to_vector<float>(), (std::vector<float>{2, 2}));  // the device still works
}

TEST_F(Devices, MoreThanAnyDeviceHoldsIsAnErrorAndNothingElseIsLost) {
  DeviceScope scope("/GPU:0");
  const Tensor kept = ones({4}) + 1;
  EXPECT_THROW(zeros({std::int64_t{1} << 40}), Error);
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(4, 2.f));
}

TEST_F(Devices, SeveralThreadsMayUseBothDevices) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      DeviceScope scope(t % 2 ? "/GPU:0" : "/CPU:0");
      Tensor x = fill({32, 32}, t + 1);
      for (int i = 0; i < 20; ++i) x = relu(matmul(x, x) * 0.01 + 1.0);
      ASSERT_EQ(x.shape(), (Shape{32, 32}));
      ASSERT_GT(reduce_sum(x).item<float>(), 0);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tandem
