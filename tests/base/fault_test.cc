#include "tandem/base/fault.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/base/error.h"

namespace tandem {
namespace {

/// Which of `count` passes through a site fail, as a row of 0 and 1.
std::string failures(int count, Fault site = Fault::opencl_alloc) {
  std::string row;
  for (int i = 0; i < count; ++i) row += fault(site) ? '1' : '0';
  return row;
}

TEST(Fault, NothingFailsUnasked) {
  FaultScope scope("");
  EXPECT_EQ(failures(5), "00000");
}

TEST(Fault, ANumberLetsThatPassFailAndNoOther) {
  FaultScope scope("opencl.alloc:3");
  EXPECT_EQ(failures(6), "001000");
  EXPECT_EQ(failures(3, Fault::opencl_read), "000");
}

TEST(Fault, AStarLetsEachPassFail) {
  FaultScope scope("opencl.read:*; opencl.alloc:1");
  EXPECT_EQ(failures(3, Fault::opencl_read), "111");
  EXPECT_EQ(failures(3), "100");
}

TEST(Fault, AProbabilityIsKeptAndASeedRepeatsTheFaults) {
  std::string first, second, other;
  {
    FaultScope scope("opencl.alloc:p=0.1,seed=7");
    first = failures(10'000);
  }
  {
    FaultScope scope("opencl.alloc:p=0.1,seed=7");
    second = failures(10'000);
  }
  {
    FaultScope scope("opencl.alloc:p=0.1,seed=8");
    other = failures(10'000);
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), '1')), 1000, 150);
}

TEST(Fault, TheScopeRestoresWhatWasThere) {
  FaultScope outer("opencl.alloc:*");
  { FaultScope inner("opencl.read:1"); }
  EXPECT_EQ(faults(), "opencl.alloc:*");
  EXPECT_TRUE(fault(Fault::opencl_alloc));
}

TEST(Fault, APlanThatMakesNoSenseIsRefusedAndChangesNothing) {
  FaultScope scope("opencl.alloc:2");
  for (const char* plan : {"opencl.alloc", "nowhere:1", "opencl.alloc:", "opencl.alloc:0", "opencl.alloc:-1", "opencl.alloc:p=2",
                           "opencl.alloc:p=0.1,sed=7", "opencl.alloc:1;;"})
    EXPECT_THROW(set_faults(plan), Error) << plan;
  EXPECT_EQ(faults(), "opencl.alloc:2");
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
