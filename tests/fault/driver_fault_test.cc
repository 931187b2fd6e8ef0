// What happens when a driver, the disk or the memory fails: an error that says which device and which op, nothing else
// is lost, and everything works afterwards.
#include <gtest/gtest.h>

#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

class DriverFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    level_ = log_level();
    set_log_level(LogLevel::off);  // fallbacks are what these tests are about
    kept_on_gpu_ = doubled();
    doubled().raw_data();  // compiles what the tests need, so that faults hit what they are meant to
  }
  void TearDown() override {
    set_faults("");
    // Whatever failed: values from before are as they were, and the device still works.
    EXPECT_EQ(kept_on_gpu_.to_vector<float>(), std::vector<float>(64, 2.f));
    EXPECT_EQ(doubled().to_vector<float>(), std::vector<float>(64, 2.f));
    EXPECT_EQ(explain(doubled()).device, "/GPU:0");
    set_log_level(level_);
  }

  static Tensor doubled() {
    DeviceScope scope("/GPU:0");
    const Tensor x = fill({64}, 1);
    return x + x;
  }

 private:
  LogLevel level_;
  Tensor kept_on_gpu_;
};

/// The error that comes out of `body`, which must name the device and the op.
template <class F>
void expect_error(F body, ErrorCode code, const char* op) {
  try {
    body();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find("/GPU:0"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(op), std::string::npos) << error.what();
  }
}

TEST_F(DriverFaults, AKernelThatDoesNotStartIsAnErrorOfThatOp) {
  FaultScope faults("opencl.launch:2");
  expect_error([] { doubled().raw_data(); }, ErrorCode::device_failed, "add");
}

TEST_F(DriverFaults, AProgramThatDoesNotCompileIsAnErrorOfThatOp) {
  FaultScope faults("cache.read:*; opencl.build:*");
  DeviceScope scope("/GPU:0");
  const Tensor x = Tensor::from({1.0, 2.0, 3.0}, {3});
  for (int round = 0; round < 2; ++round)  // it is not taken for built the second time
    expect_error([&] { gelu(atan2(x, x)).raw_data(); }, ErrorCode::device_failed, "atan2");
}

TEST_F(DriverFaults, ACopyToTheDeviceThatFailsIsAnErrorOfTheOpThatNeededIt) {
  const Tensor x = Tensor::from(std::vector<float>(64, 3.f), {64});
  {
    FaultScope faults("opencl.copy:1");
    DeviceScope scope("/GPU:0");
    expect_error([&] { (x * x).raw_data(); }, ErrorCode::device_failed, "multiply");
  }
  EXPECT_EQ((x * x).to_vector<float>(), std::vector<float>(64, 9.f));
}

TEST_F(DriverFaults, ACopyBackThatFailsMayBeTriedAgain) {
  const Tensor y = doubled();
  {
    FaultScope faults("opencl.copy:1");
    EXPECT_THROW(y.raw_data(), Error);
  }
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 2.f));
}

TEST_F(DriverFaults, AKernelThatBreaksOffIsToldToWhoDependsOnItAndNobodyElse) {
  const Tensor before = doubled();
  sync();
  Tensor broken;
  {
    FaultScope faults("opencl.run:2");  // the fill comes first
    broken = doubled();
    expect_error([&] { broken.raw_data(); }, ErrorCode::device_failed, "add failed on /GPU:0");
  }
  const Tensor after = doubled();
  for (int reader = 0; reader < 2; ++reader) {
    expect_error([&] { broken.raw_data(); }, ErrorCode::device_failed, "add failed on /GPU:0");
    expect_error([&] { (broken * 2).raw_data(); }, ErrorCode::device_failed, "add failed on /GPU:0");
  }
  for (const Tensor& whole : {before, after}) EXPECT_EQ(whole.to_vector<float>(), std::vector<float>(64, 2.f));
}

TEST_F(DriverFaults, ACopyThatBreaksOffOnItsWayBackMayBeTriedAgain) {
  const Tensor y = doubled();
  {
    FaultScope faults("opencl.transfer:1");
    expect_error([&] { y.raw_data(); }, ErrorCode::device_failed, "a copy from /GPU:0 to the host after add failed");
  }
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 2.f));
}

TEST_F(DriverFaults, ACopyThatBreaksOffOnItsWayThereIsToldToWhoUsedItAndTheDeviceGoesOn) {
  const Tensor x = Tensor::from(std::vector<float>(64, 3.f), {64});
  Tensor used;
  {
    FaultScope faults("opencl.transfer:1");
    DeviceScope scope("/GPU:0");
    used = x * x;
    expect_error([&] { used.raw_data(); }, ErrorCode::device_failed,
                 "a copy from the host to /GPU:0 before multiply failed");
    expect_error([&] { (x + x).raw_data(); }, ErrorCode::device_failed, "add: a copy from the host");
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(64, 3.f));
  DeviceScope scope("/GPU:0");
  const Tensor again = x + x;  // the host's copy is whole, and is sent again
  EXPECT_EQ(again.to_vector<float>(), std::vector<float>(64, 6.f));
  EXPECT_EQ(explain(again).device, "/GPU:0");
  const Tensor fresh = Tensor::from(std::vector<float>(64, 3.f), {64});
  EXPECT_EQ((fresh * fresh).to_vector<float>(), std::vector<float>(64, 9.f));
}

TEST_F(DriverFaults, InATracedFunctionTheOpIsNamedAndVariablesStayAsTheyWere) {
  const Variable total(fill({64}, 1), "total");
  auto step = function([&](const Tensor& x) {
    const Tensor y = tanh(matmul(reshape(x, Shape{8, 8}), reshape(total.value(), Shape{8, 8})));
    total.assign(reshape(y, Shape{64}));
    return y;
  });
  const Tensor x = Tensor::from(std::vector<float>(64, 0.5f), {64});
  DeviceScope scope("/GPU:0");
  const std::vector<float> first = step(x).to_vector<float>(), kept = total.value().to_vector<float>();
  {
    FaultScope faults("opencl.launch:1");
    expect_error([&] { step(x); }, ErrorCode::device_failed, "fused(matmul, tanh): /GPU:0: starting a kernel failed");
  }
  EXPECT_EQ(total.value().to_vector<float>(), kept);
  EXPECT_NE(step(x).to_vector<float>(), first);
}

/// Two variables that every step halves and adds to.
struct TwoVariables {
  Variable first{fill({64}, 1), true, "first"}, second{fill({8, 8}, 2), true, "second"};
  std::function<Tensor(const Tensor&)> step = function([this](const Tensor& x) {
    first.assign(first.value() * 0.5f + x);
    second.assign(matmul(second.value(), reshape(x, Shape{8, 8})));
    return reduce_sum(first.value());
  });
  std::vector<float> values() const {
    std::vector<float> all = first.value().to_vector<float>();
    std::ranges::copy(second.value().to_vector<float>(), std::back_inserter(all));
    return all;
  }
};

TEST_F(DriverFaults, VariablesThatAFailureReachesOnlyLaterAreTogetherAgainWhatTheyWereBefore) {
  const Tensor x = Tensor::from(std::vector<float>(64, 0.5f), {64});
  DeviceScope scope("/GPU:0");
  std::vector<std::vector<float>> history;  // without a failure
  for (const TwoVariables model; history.size() < 10; model.step(x)) history.push_back(model.values());
  const auto place = [&](const std::vector<float>& values) {
    return std::ranges::find(history, values) - history.begin();
  };
  for (int site = 1; site <= 4; ++site) {
    const TwoVariables model;
    for (int i = 0; i < 3; ++i) model.step(x).raw_data();
    {
      FaultScope faults(text("opencl.run:", site));
      const Tensor sum = model.step(x);
      model.step(x);  // overwrites what the failing one has made
      EXPECT_THROW((sync(), sum.raw_data(), model.step(x).raw_data()), Error);
    }
    const auto now = place(model.values());
    EXPECT_LT(now, 6) << "a mixture, after a failure at " << site;
    model.step(x).raw_data();
    EXPECT_EQ(place(model.values()), now + 1);
  }
}

TEST_F(DriverFaults, AVariableAssignedByItselfIsLostWithItsValueAndWellWhenItIsAssignedAgain) {
  DeviceScope scope("/GPU:0");
  const Variable total(fill({64}, 1), true, "total");
  sync();
  {
    FaultScope faults("opencl.run:1");
    total.assign_add(fill({64}, 1));
    EXPECT_THROW(total.value().raw_data(), Error);
  }
  EXPECT_THROW(total.value().raw_data(), Error);
  total.assign(fill({64}, 3));
  EXPECT_EQ(total.value().to_vector<float>(), std::vector<float>(64, 3.f));
  total.assign_add(fill({64}, 1));
  EXPECT_EQ(total.value().to_vector<float>(), std::vector<float>(64, 4.f));
}

TEST_F(DriverFaults, WhatAProgramAssignsIsNotTakenBackByALaterFailure) {
  const TwoVariables model;
  const Tensor x = Tensor::from(std::vector<float>(64, 0.5f), {64});
  DeviceScope scope("/GPU:0");
  model.step(x).raw_data();
  model.first.assign(fill({64}, 7));
  model.second.assign(fill({8, 8}, 7));
  const std::vector<float> assigned = model.values();
  {
    FaultScope faults("opencl.run:1");
    EXPECT_THROW((model.step(x), sync(), model.step(x).raw_data()), Error);
  }
  EXPECT_EQ(model.values(), assigned);
}

TEST_F(DriverFaults, AFullDeviceLetsTheOpRunOnTheHost) {
  FaultScope faults("opencl.alloc:*");
  DeviceScope scope("/GPU:0");
  const Tensor y = fill({1 << 22}, 3);
  EXPECT_EQ(explain(y).device, "/CPU:0");
  EXPECT_EQ(explain(y).reason, ReasonCode::memory);
  EXPECT_EQ(y.data<float>()[12345], 3.f);
}

TEST_F(DriverFaults, WithoutSoftPlacementAFullDeviceIsAnError) {
  default_runtime().set_soft_device_placement(false);
  {
    FaultScope faults("opencl.alloc:*");
    DeviceScope scope("/GPU:0");
    EXPECT_THROW(fill({1 << 22}, 3), Error);
  }
  default_runtime().set_soft_device_placement(true);
}

TEST_F(DriverFaults, ADriverThatFailsNowAndThenNeverHangsAndNeverGivesWrongValues) {
  FaultScope faults(
      "opencl.launch:p=0.03,seed=1; opencl.copy:p=0.03,seed=2; opencl.run:p=0.03,seed=3; "
      "opencl.transfer:p=0.03,seed=5; "
      "opencl.alloc:p=0.03,seed=4");
  int failed = 0, right = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      DeviceScope scope("/GPU:0");
      const Tensor x = Tensor::from(std::vector<float>(100, static_cast<float>(i)), {100});
      right += (x * x + x).to_vector<float>() == std::vector<float>(100, static_cast<float>(i * i + i));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device_failed) << error.what();
      ++failed;
    }
  }
  EXPECT_EQ(failed + right, 200);
  EXPECT_GT(failed, 5);
  EXPECT_GT(right, 100);
}

TEST(HostFaults, WithoutMemoryOnTheHostTheOpFailsAndTheNextOneWorks) {
  const std::int64_t odd_size = 12'345'678;  // so that no freed block fits
  {
    FaultScope faults("host.alloc:*");
    try {
      fill({odd_size}, 1);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
    }
  }
  EXPECT_EQ(fill({odd_size}, 1).data<float>()[odd_size - 1], 1.f);
}

}  // namespace
}  // namespace tandem
