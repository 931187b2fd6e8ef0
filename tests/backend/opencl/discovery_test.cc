#include "tandem/backend/opencl/discovery.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tandem/base/core_roles.h"
#include "tandem/base/error.h"
#include "tandem/base/fault.h"
#include "tandem/base/text.h"

namespace tandem::opencl {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards.
struct Folder {
  Folder() : path(fs::temp_directory_path() / text("tandem-discovery-", ::getpid())) { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << content;
  }
  fs::path path;
};

const FoundDevice* first_usable(const Discovery& found) { return found.usable().empty() ? nullptr : found.usable()[0]; }

TEST(OpenClDiscovery, FindsWhatADriverOffersAndProvesIt) {
  const Discovery found = discover({.cpu_as_gpu = 1});
  ASSERT_NE(first_usable(found), nullptr) << "is pocl-opencl-icd installed?";
  EXPECT_FALSE(found.platforms.empty());
  EXPECT_FALSE(first_usable(found)->name.empty() || first_usable(found)->driver.empty() ||
               first_usable(found)->platform.empty());
}

TEST(OpenClDiscovery, PartsOfADeviceThatIsSplitComputeOnCoresOfTheirOwn) {
  const Discovery whole = discover({.cpu_as_gpu = 1});
  ASSERT_NE(first_usable(whole), nullptr);
  if (first_usable(whole)->units < 2 || process_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  const Discovery found = discover({.cpu_as_gpu = 2});
  ASSERT_EQ(found.usable().size(), 2u);
  std::vector<int> of_both;
  for (const FoundDevice* part : found.usable()) {
    EXPECT_FALSE(part->cores.empty());
    of_both.insert(of_both.end(), part->cores.begin(), part->cores.end());
  }
  std::ranges::sort(of_both);
  EXPECT_EQ(std::ranges::adjacent_find(of_both), of_both.end()) << "a core is in both";
}

TEST(OpenClDiscovery, ADeviceThatComputesWronglyIsNotUsed) {
  FaultScope faults("opencl.self_test:*");
  const Discovery found = discover({.cpu_as_gpu = 1});
  EXPECT_EQ(first_usable(found), nullptr);
  ASSERT_FALSE(found.devices.empty());
  EXPECT_EQ(found.devices[0].reason, "its self-test failed: a test kernel gave -1 instead of 1");
  EXPECT_FALSE(found.devices[0].remedy.empty());
}

TEST(OpenClDiscovery, ADeviceAboutWhichItsDriverDoesNotAnswerIsRejectedAndStopsNoOther) {
  FaultScope faults("opencl.info:1");
  const Discovery found = discover({.cpu_as_gpu = 1});
  EXPECT_EQ(first_usable(found), nullptr);
  ASSERT_FALSE(found.devices.empty());
  EXPECT_EQ(found.devices[0].reason,
            "its driver does not answer: asking for a property of the device failed: CL_DEVICE_NOT_AVAILABLE (-2)");
  EXPECT_FALSE(found.devices[0].remedy.empty() || found.devices[0].name.empty() || found.devices[0].platform.empty());
}

TEST(OpenClDiscovery, HiddenDevicesAreListedWithTheVariableThatHidesThem) {
  const VisibleDevices none{"TANDEM_VISIBLE_DEVICES", "-1", {}}, all{"TANDEM_VISIBLE_DEVICES", "0", {0}};
  const Discovery hidden = discover({.cpu_as_gpu = 1, .visible = none});
  EXPECT_EQ(hidden.hidden(), 1);
  EXPECT_EQ(hidden.devices[0].reason, "hidden by TANDEM_VISIBLE_DEVICES='-1'");
  EXPECT_EQ(discover({.cpu_as_gpu = 1, .visible = all, .cuda_visible = none}).usable().size(),
            1u);  // ours counts first
}

TEST(OpenClDiscovery, TheVariablesOfVisibleDevicesAreReadAsCudaReadsThem) {
  auto visible = [](const char* value) {
    setenv("CUDA_VISIBLE_DEVICES", value, 1);
    return options_from_environment().cuda_visible->devices;
  };
  EXPECT_EQ(visible("0,2"), (std::vector<int>{0, 2}));
  for (const char* none : {"", "-1", "NoDevFiles", "GPU-8932f937-d72c", " "})
    EXPECT_TRUE(visible(none).empty()) << none;
  EXPECT_EQ(visible("1,-1,0"), std::vector<int>{1});
  for (const char* bad : {"a", "0,", "0.5", "0;1", "-2", "123456"}) EXPECT_THROW(visible(bad), Error) << bad;
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_FALSE(options_from_environment().cuda_visible);
}

TEST(DriverProblems, AnEmptyFolderOfDriversIsSaidWithTheRemedy) {
  const Folder folder;
  const auto problems = driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].reason, "no OpenCL driver is registered there");
  EXPECT_NE(problems[0].remedy.find("pocl-opencl-icd"), std::string::npos);
}

TEST(DriverProblems, ADriverFileWhoseLibraryIsMissingOrGarbageIsNamed) {
  const Folder folder;
  folder.write("drivers/a.icd", "/nowhere/libmissing.so\n");
  folder.write("drivers/b.icd", (folder.path / "garbage.so").string());
  folder.write("garbage.so", "no library at all");
  folder.write("drivers/c.icd", "");
  folder.write("drivers/d.icd", "libOpenCL.so.1\n");  // loads, and looks like a driver
  const auto problems =
      driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {.platform = true});
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].where, folder.path / "drivers/a.icd");
  EXPECT_NE(problems[0].reason.find("libmissing.so"), std::string::npos) << problems[0].reason;
  EXPECT_NE(problems[1].reason.find("its library does not load"), std::string::npos) << problems[1].reason;
  EXPECT_EQ(problems[2].reason, "it cannot be read or names no library");
}

TEST(DriverProblems, ALibraryThatIsNoDriverIsNamed) {
  const Folder folder;
  folder.write("drivers/a.icd", "libc.so.6\n");
  const auto problems = driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].reason, "its library is no OpenCL driver: libc.so.6");
}

TEST(DriverProblems, WhatADriverFileHoldsIsPrintedAsOneLineOfText) {
  const Folder folder;
  folder.write("drivers/a.icd", "libx\x80\xff\r\n" + std::string(1000, 'x'));
  folder.write("drivers/b.icd", std::string(1000, '\x01'));
  for (const Problem& problem :
       driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {})) {
    EXPECT_LT(problem.reason.size(), 1000u);
    for (const char c : problem.reason.substr(0, 100)) EXPECT_TRUE(c >= ' ' && c < 0x7f) << problem.reason;
  }
}

TEST(DriverProblems, ADriverThatLoadsAndOffersNothingIsSaidSo) {
  const Folder folder;
  folder.write("drivers/d.icd", "libOpenCL.so.1\n");
  const auto problems = driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].reason, "the drivers registered there load, but offer no platform");
}

TEST(DriverProblems, WhereAPlatformWasFoundNoDriverIsMissing) {
  const Folder folder;  // the loader takes drivers from other variables, too
  EXPECT_TRUE(
      driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"}, {.platform = true}).empty());
}

TEST(DriverProblems, ACardThatNoDriverOffersIsNamedWithThePackageThatHelps) {
  const Folder folder;
  folder.write("drivers/d.icd", "libOpenCL.so.1\n");
  folder.write("drm/renderD128/device/vendor", "0x1002\n");
  folder.write("drm/card0/device/vendor", "0x1002\n");  // the same card under another name
  const SystemPaths paths{folder.path / "drivers", folder.path / "dri", folder.path / "drm"};
  const auto problems = driver_problems(paths, {.platform = true});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].reason, "a card made by AMD is here, but no OpenCL driver offers it");
  EXPECT_NE(problems[0].remedy.find("mesa-opencl-icd"), std::string::npos);
  EXPECT_TRUE(driver_problems(paths, {.platform = true, .gpu = true}).empty());
}

TEST(DriverProblems, ACardThatMayNotBeOpenedIsNamedWithTheGroupThatHelps) {
  if (geteuid() == 0) GTEST_SKIP() << "root may open everything";
  const Folder folder;
  folder.write("drivers/d.icd", "libOpenCL.so.1\n");
  folder.write("dri/renderD128", "");
  fs::permissions(folder.path / "dri/renderD128", fs::perms::none);
  const auto problems = driver_problems({folder.path / "drivers", folder.path / "dri", folder.path / "drm"},
                                        {.platform = true, .gpu = true});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].reason, "this user may not open the card");
  EXPECT_NE(problems[0].remedy.find("render"), std::string::npos);
}

}  // namespace
}  // namespace tandem::opencl
