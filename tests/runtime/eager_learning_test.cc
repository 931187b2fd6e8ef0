// What ops by themselves take goes into the machine's history.
#include <gtest/gtest.h>

#include "tandem/exec/eager.h"
#include "tandem/tandem.h"
#include "tests/temporary_folder.h"
#include "tests/with_machine.h"

namespace tandem {
namespace {

std::int64_t samples_of(const std::string& op, const std::string& device) {
  std::int64_t sum = 0;
  for (const auto& [key, measured] : default_runtime().machine()->measured.entries())
    if (key.op == op && key.device == device) sum += measured.samples;
  return sum;
}

/// Long enough to be more than a launch. In two rounds: what a device took is asked for when a later run is looked at,
/// and by then a slow one may not have begun.
void run_products(const char* device, int count) {
  const DeviceScope scope{std::string_view(device)};
  const Tensor x = fill({192, 192}, 0.01);
  for (int i = 0; i < count; ++i) {
    matmul(x, x);
    if (i == count / 2) sync();
  }
  sync();
}

/// The figures of the machine count from the first op on that is free to choose.
void weigh_something() { matmul(fill({256, 256}, 0.01), fill({256, 256}, 0.01)); }

TEST(EagerLearning, LongOpsOfEveryDeviceTeachTheHistoryNowAndThen) {
  if (default_runtime().devices().size() < 2) GTEST_SKIP() << "one device";
  weigh_something();
  for (const char* device : {"/CPU:0", "/GPU:0"}) {
    const std::int64_t before = samples_of("matmul", device);
    run_products(device, 400);
    const std::int64_t learnt = samples_of("matmul", device) - before;
    EXPECT_GE(learnt, 1) << device;
    EXPECT_LE(learnt, 120) << device << ": more than now and then";
  }
}

TEST(EagerLearning, FiguresThatWereGivenAreNotChangedByWhatOpsTake) {
  if (default_runtime().devices().size() < 2) GTEST_SKIP() << "one device";
  const WithMachine given(cpu_and_gpu(2, 10));
  weigh_something();
  run_products("/CPU:0", 100);
  EXPECT_EQ(samples_of("matmul", "/CPU:0"), 0);
}

/// No figures are stored in the folder: they have to be measured, by ops that are looked at like others.
TEST(EagerLearning, OpsThatMeasureTheMachineTeachItNothing) {
  if (default_runtime().devices().size() < 2) GTEST_SKIP() << "one device";
  const TemporaryFolder folder;
  const char* before = std::getenv("TANDEM_CACHE_DIR");
  const std::string kept = before ? before : "";
  setenv("TANDEM_CACHE_DIR", folder.path("").c_str(), 1);
  default_runtime().set_machine(std::nullopt);
  run_products("/CPU:0", 100);
  EXPECT_FALSE(default_runtime().machine()->devices.empty());
  before ? setenv("TANDEM_CACHE_DIR", kept.c_str(), 1) : unsetenv("TANDEM_CACHE_DIR");
  default_runtime().set_machine(std::nullopt);
}

TEST(EagerLearning, TheRunsThatAreLookedAtAreNotAlwaysTheSameOfALoop) {
  SampleClock clock(8);
  std::array<int, 4> seen{};
  for (std::size_t i = 0; i < 4000; ++i)
    if (clock.due()) ++seen[i % 4];
  for (const int count : seen) EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace tandem
