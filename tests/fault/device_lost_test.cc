// A device that disappears, in a process of its own: it does not come back.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

/// Ends the process with the line number as a message when `condition` does not hold.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(1);
}

template <class F>
std::string error_of(F body, ErrorCode code) {
  try {
    body();
  } catch (const Error& error) {
    require(error.code() == code, error.what());
    return error.what();
  }
  return "no error";
}

[[noreturn]] void lose_a_device() {
  set_log_level(LogLevel::off);
  const Tensor host = Tensor::from(std::vector<float>(8, 2.f), {8});
  Tensor only_there, on_both;
  {
    DeviceScope scope("/GPU:0");
    only_there = host * host;
    on_both = host + host;
    on_both.raw_data();
    set_faults("opencl.lost:1");
    const std::string lost = error_of([&] { (host * only_there).raw_data(); }, ErrorCode::device_lost);
    require(lost.find("multiply") != lost.npos && lost.find("/GPU:0") != lost.npos, lost.c_str());
    set_faults("");
    // It stays lost, and says so; the next op runs on the host.
    const Tensor next = on_both + on_both;
    require(explain(next).device == "/CPU:0" && explain(next).reason == ReasonCode::device_lost,
            explain(next).text().c_str());
    require(next.to_vector<float>() == std::vector<float>(8, 8.f), "the values that were left are right");
  }
  {
    // A traced function is laid out anew for the devices that are left.
    DeviceScope scope("/GPU:0");
    auto doubled = function([](const Tensor& x) { return tanh(x) + x; });
    require(doubled(host).to_vector<float>() == (tanh(host) + host).to_vector<float>(), "a function runs");
  }
  const std::string gone = error_of([&] { only_there.raw_data(); }, ErrorCode::device_lost);
  require(gone.find("/GPU:0") != gone.npos, gone.c_str());
  const std::string op = error_of([&] { relu(only_there).raw_data(); }, ErrorCode::device_lost);
  require(op.find("relu") != op.npos, op.c_str());
  for (const Device* device : default_runtime().devices())
    require(device->name().kind != "GPU", "it is no longer listed");
  require((host + host).to_vector<float>() == std::vector<float>(8, 4.f), "the host works");
  std::fprintf(stderr, "all as it should be\n");
  std::_Exit(0);
}

TEST(DeviceLost, IsAnErrorOnceThenOpsRunElsewhereAndValuesThatHaveACopyStay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_a_device(), ::testing::ExitedWithCode(0), "all as it should be");
}

}  // namespace
}  // namespace tandem
