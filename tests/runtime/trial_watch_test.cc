// When plans are compared again: with a share of others that the test gives.
#include "tandem/runtime/trial_watch.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(TrialWatch, TrialsInQuietAreTrusted) {
  TrialWatch watch([] { return 0.1; });
  EXPECT_FALSE(watch.quiet_again(true, 0));
  for (double now = 1; now < 20; ++now) EXPECT_FALSE(watch.quiet_again(false, now)) << now;
}

TEST(TrialWatch, TrialsBesideOthersAreDoubtedOnceTheseHaveGone) {
  double others = 0.7;
  int asked = 0;
  TrialWatch watch([&] { return ++asked, others; });
  watch.quiet_again(true, 0);
  for (double now = 1; now < 10; now += 0.1) EXPECT_FALSE(watch.quiet_again(false, now)) << now;
  EXPECT_LE(asked, 7) << "every two seconds";
  others = 0;
  int times = 0;
  for (double now = 10; now < 20; now += 0.1) times += watch.quiet_again(false, now);
  EXPECT_EQ(times, 1);
}

TEST(TrialWatch, WhereNothingIsComparedNobodyLooks) {
  TrialWatch watch([]() -> double {
    ADD_FAILURE();
    return 1;
  });
  for (double now = 0; now < 20; ++now) EXPECT_FALSE(watch.quiet_again(false, now));
}

}  // namespace
}  // namespace tandem
