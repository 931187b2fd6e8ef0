#include "tandem/base/fault.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/base/error.h"

namespace tandem {
namespace {

/// Which of `count` passes through a site fail, as a row of 0 and 1.
std::string failures(int count, Fault site = Fault::cache_read) {
  std::string row;
  for (int i = 0; i < count; ++i) row += fault(site) ? '1' : '0';
  return row;
}

TEST(Fault, NothingFailsUnasked) {
  FaultScope scope("");
  EXPECT_EQ(failures(5), "00000");
}

TEST(Fault, ANumberLetsThatPassFailAndNoOther) {
  FaultScope scope("cache.read:3");
  EXPECT_EQ(failures(6), "001000");
  EXPECT_EQ(failures(3, Fault::cache_write), "000");
}

TEST(Fault, AStarLetsEachPassFail) {
  FaultScope scope("cache.write:*; cache.read:1");
  EXPECT_EQ(failures(3, Fault::cache_write), "111");
  EXPECT_EQ(failures(3), "100");
}

TEST(Fault, AProbabilityIsKeptAndASeedRepeatsTheFaults) {
  std::string first, second, other;
  {
    FaultScope scope("cache.read:p=0.1,seed=7");
    first = failures(10'000);
  }
  {
    FaultScope scope("cache.read:p=0.1,seed=7");
    second = failures(10'000);
  }
  {
    FaultScope scope("cache.read:p=0.1,seed=8");
    other = failures(10'000);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), '1')), 1000, 150);
}

TEST(Fault, TheScopeRestoresWhatWasThere) {
  FaultScope outer("cache.read:*");
  { FaultScope inner("cache.write:1"); }
  EXPECT_EQ(faults(), "cache.read:*");
  EXPECT_TRUE(fault(Fault::cache_read));
}

TEST(Fault, APlanThatMakesNoSenseIsRefusedAndChangesNothing) {
  FaultScope scope("cache.read:2");
  for (const char* plan : {"cache.read", "nowhere:1", "cache.read:", "cache.read:0", "cache.read:-1", "cache.read:p=2",
                           "cache.read:p=0.1,sed=7", "cache.read:1;;"})
    EXPECT_THROW(set_faults(plan), Error) << plan;
  EXPECT_EQ(faults(), "cache.read:2");
}

TEST(Fault, EverySiteHasANameAndSaysWhatItSimulates) {
  for (std::size_t i = 0; i < fault_list().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(fault_list()[i].fault), i);
    EXPECT_FALSE(fault_list()[i].simulates.empty());
    FaultScope scope(std::string(fault_list()[i].name) + ":*");
    EXPECT_TRUE(fault(fault_list()[i].fault)) << fault_list()[i].name;
  }
}

}  // namespace
}  // namespace tandem
