#include "tandem/base/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A container may see its own group as the root, by a name that it does not see: the root is always among them.
void add_groups(std::vector<fs::path>& folders, const fs::path& root, const std::string& group) {
  folders.push_back(root);
  for (const fs::path& part : fs::path(group).relative_path()) folders.push_back(folders.back() / part);
}

/// SIZE_MAX when the file is not there or says "max".
std::size_t limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::size_t limit = 0;
  return in >> limit && limit > 0 ? limit : SIZE_MAX;
}

}  // namespace

CgroupFolders cgroup_folders(std::string_view controller, const CgroupPaths& paths) {
  CgroupFolders folders;
  const std::string wanted = "," + std::string(controller) + ",";
  std::ifstream groups(paths.of_process);
  for (std::string line; std::getline(groups, line);) {  // "0::/group" of version 2, "4:cpu,memory:/group" of version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,")
      for (const fs::path& root : {paths.mount, paths.mount / "unified"}) add_groups(folders.version_2, root, group);
    if (controllers.find(wanted) != controllers.npos) add_groups(folders.version_1, paths.mount / controller, group);
  }
  return folders;
}

std::size_t cgroup_memory_limit(const CgroupPaths& paths) {
  const CgroupFolders folders = cgroup_folders("memory", paths);
  std::size_t least = SIZE_MAX;
  for (const fs::path& folder : folders.version_2) least = std::min(least, limit_in(folder / "memory.max"));
  for (const fs::path& folder : folders.version_1) least = std::min(least, limit_in(folder / "memory.limit_in_bytes"));
  return least;
}

std::size_t usable_memory() {
  const auto machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, cgroup_memory_limit());
}

}  // namespace tandem
