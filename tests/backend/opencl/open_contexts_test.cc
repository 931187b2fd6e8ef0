// What concerns all opened devices: the end of the process while they still compile and compute, and when all of them
// rest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tandem/backend/opencl/open_contexts.h"
#include "tandem/tandem.h"
#include "tests/exec/small_gpu.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

/// Ends the process right behind a launch. It takes its time after the driver's static objects are gone, as one does on
/// a busy machine, so that a thread that still needs them meets their end.
[[noreturn]] void end_behind_a_launch(const std::string& folder) {
  static const auto& compiled = *new std::string(folder);
  std::atexit([] {
    usleep(500'000);
    std::filesystem::remove_all(compiled);
  });
  setenv("TANDEM_PROGRAM_CACHE", "0", 1);
  setenv("POCL_CACHE_DIR", folder.c_str(), 1);  // nothing is compiled yet
  const DeviceScope scope("/GPU:0");
  const Tensor x = random_normal({256, 256});
  matmul(x, x);
  erf(x);
  std::exit(0);
}

TEST(OpenContexts, AreWaitedForBeforeTheProcessEnds) {
  const TemporaryFolder folder;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_behind_a_launch(folder.path("")), ::testing::ExitedWithCode(0), "");
}

/// Ends the process while the device computes, with something to tear down that was made since the launch: as a
/// driver's thread leaves it that compiles what it was given.
[[noreturn]] void end_with_later_statics() {
  const DeviceScope scope("/GPU:0");
  Tensor x = random_normal({1024, 1024}, 0, 0.03);
  matmul(x, x).to_vector<float>();
  for (int i = 0; i < 20; ++i) x = matmul(x, x);
  std::atexit([] {
    if (!opencl::while_all_rest([] {})) _exit(1);
  });
  std::exit(0);
}

TEST(OpenContexts, AreWaitedForBeforeAnythingThatTheDriversThreadsMadeIsTornDown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_with_later_statics(), ::testing::ExitedWithCode(0), "");
}

/// Earlier tests may have left work to devices that nobody waited for.
bool come_to_rest() {
  for (int i = 0; i < 500; ++i, usleep(10'000))
    if (opencl::while_all_rest([] {})) return true;
  return false;
}

TEST(OpenContexts, RestOnlyWhenNoneOfThemHasWork) {
  SmallGpu gpus(std::vector<SmallGpu::Memory>{{.memory_limit = 64 << 20}, {.memory_limit = 64 << 20}});
  EXPECT_TRUE(come_to_rest());
  const DeviceScope scope("/GPU:1");
  Tensor x = random_normal({1024, 1024}, 0, 0.03);
  for (int i = 0; i < 20; ++i) x = matmul(x, x);
  EXPECT_FALSE(opencl::while_all_rest([] { FAIL() << "the second device has work"; }));
  gpus.device(1).synchronize();
  bool called = false;
  EXPECT_TRUE(opencl::while_all_rest([&] { called = true; }) && called);
}

}  // namespace
}  // namespace tandem
