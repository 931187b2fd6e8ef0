#include "tandem/base/cgroup.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>

#include "tandem/base/cores.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

/// A system that tells of these cgroups.
class Cgroups {
 public:
  void process(const std::string& lines) { write("process", lines); }
  void limit(const std::string& file, const std::string& value) { write("mount/" + file, value + "\n"); }
  std::size_t least() const { return cgroup_memory_limit(paths()); }
  CgroupPaths paths() const { return {folder_.path("process"), folder_.path("mount")}; }

 private:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  TemporaryFolder folder_;
};

TEST(UsableMemory, IsWhatThisMachineHasOrLess) { EXPECT_GT(usable_memory(), std::size_t{100} << 20); }

TEST(UsableMemory, TheLeastOfTheGroupOfTheProcessAndThoseAroundItHolds) {
  Cgroups groups;
  groups.process("0::/work/job/step\n");
  groups.limit("memory.max", "max");
  groups.limit("work/memory.max", "3000");
  groups.limit("work/job/memory.max", "2000");
  groups.limit("work/job/step/memory.max", "max");
  groups.limit("other/memory.max", "10");
  EXPECT_EQ(groups.least(), 2000u);
}

TEST(UsableMemory, TheMemoryControllerOfVersionOneIsObeyedWhateverStandsBesideIt) {
  Cgroups groups;
  groups.process("5:devices:/tiny\n4:cpu,memory:/work/job\n1:cpuset:/\n0::/\n");
  groups.limit("memory/memory.limit_in_bytes", "9223372036854771712");
  groups.limit("memory/work/job/memory.limit_in_bytes", "5000");
  groups.limit("memory/tiny/memory.limit_in_bytes", "7");
  EXPECT_EQ(groups.least(), 5000u);
}

TEST(UsableMemory, AContainerThatSeesItsGroupAsTheRootIsLimitedByTheRoot) {
  Cgroups groups;
  groups.process("0::/docker/0123abcd\n");
  groups.limit("memory.max", "4000");
  EXPECT_EQ(groups.least(), 4000u);
}

TEST(UsableMemory, BothVersionsMayBeThereAtOnce) {
  Cgroups groups;
  groups.process("1:memory:/a\n0::/b\n");
  groups.limit("memory/a/memory.limit_in_bytes", "6000");
  groups.limit("unified/b/memory.max", "5500");
  EXPECT_EQ(groups.least(), 5500u);
}

TEST(UsableMemory, WithoutCgroupsOrWithNonsenseThereIsNoLimit) {
  Cgroups groups;
  EXPECT_EQ(groups.least(), SIZE_MAX);
  groups.process("nonsense\n::\n0::/a\n");
  groups.limit("a/memory.max", "plenty");
  EXPECT_EQ(groups.least(), SIZE_MAX);
}

TEST(QuotaCores, TheLeastQuotaOfTheGroupOfTheProcessAndThoseAroundItHolds) {
  Cgroups groups;
  groups.process("0::/work/job\n2:cpu,cpuacct:/old\n");
  groups.limit("cpu.max", "max 100000");
  groups.limit("work/cpu.max", "250000 100000");
  groups.limit("work/job/cpu.max", "800000 100000");
  EXPECT_EQ(quota_cores(groups.paths()), 3);
  groups.limit("cpu/old/cpu.cfs_quota_us", "150000");
  groups.limit("cpu/old/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota_cores(groups.paths()), 2);
}

}  // namespace
}  // namespace tandem
