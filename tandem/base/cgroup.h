// How much of the machine this process may use: its cgroups, of either version, may allow less than there is.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace tandem {

/// Where the system tells of cgroups; tests put up their own.
struct CgroupPaths {
  std::filesystem::path of_process = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};
/// The groups that limit a process. Those around a group limit it, too, so they are here as well; not all need exist.
struct CgroupFolders {
  std::vector<std::filesystem::path> version_2, version_1;
};
/// `controller` is "memory" or "cpu".
CgroupFolders cgroup_folders(std::string_view controller, const CgroupPaths& paths = {});

/// Bytes: the machine's, or the least that a cgroup allows.
std::size_t usable_memory();
/// SIZE_MAX where no cgroup sets a limit.
std::size_t cgroup_memory_limit(const CgroupPaths& paths = {});

}  // namespace tandem
