#include "tandem/base/core_roles.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include "tandem/base/environment.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

cpu_set_t mask_of(const std::vector<int>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int core : cores.empty() ? process_cores() : cores) CPU_SET(core, &mask);
  return mask;
}

void check_cores(const char* what, const std::vector<int>& cores) {
  const auto& there = process_cores();
  for (int core : cores)
    if (std::find(there.begin(), there.end(), core) == there.end())
      fail(ErrorCode::invalid_argument, what, ": core ", core, " is not there; this process may use cores ",
           join(there));
}

struct Roles {
  std::mutex mutex;
  std::optional<CoreRoles> set;
};
Roles& roles_in_force() {
  static auto& roles = *new Roles;
  return roles;
}

std::set<int> all_threads() {
  std::set<int> threads;
  std::error_code problem;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", problem))
    threads.insert(std::atoi(thread.path().filename().c_str()));
  return threads;
}

/// Threads that are not the program's own.
struct Exempt {
  std::mutex mutex;
  std::set<int> threads;
};
Exempt& exempt_threads() {
  static auto& exempt = *new Exempt;
  return exempt;
}

CoreRoles checked(CoreRoles roles) {
  check_cores("TANDEM_CPU_CORES or dedicated cores for compute", roles.compute);
  check_cores("TANDEM_OPENCL_CORES or dedicated cores for the driver", roles.driver);
  check_cores("TANDEM_DATA_CORES or dedicated cores for data", roles.data);
  return roles;
}

}  // namespace

const std::vector<int>& process_cores() {
  static const auto& cores = *new std::vector<int>([] {
    std::vector<int> found;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return std::vector<int>{0};
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &mask)) found.push_back(core);
    return found;
  }());
  return cores;
}

CoreRoles core_roles() {
  Roles& roles = roles_in_force();
  std::lock_guard lock(roles.mutex);
  if (!roles.set)
    roles.set = checked({environment_cores("TANDEM_CPU_CORES"), environment_cores("TANDEM_OPENCL_CORES"),
                         environment_cores("TANDEM_DATA_CORES")});
  return *roles.set;
}

void set_core_roles(CoreRoles wanted) {
  Roles& roles = roles_in_force();
  std::lock_guard lock(roles.mutex);
  roles.set = checked(std::move(wanted));
}

void confine_thread(const std::vector<int>& cores) {
  const cpu_set_t mask = mask_of(cores);
  sched_setaffinity(0, sizeof(mask), &mask);
}

void confine_process(const std::vector<int>& cores) {
  const cpu_set_t mask = mask_of(cores);
  Exempt& exempt = exempt_threads();
  std::lock_guard lock(exempt.mutex);
  for (int thread : all_threads())
    if (!exempt.threads.contains(thread)) sched_setaffinity(thread, sizeof(mask), &mask);
  if (!exempt.threads.contains(gettid())) confine_thread(cores);  // where there is no /proc
}

void exempt_thread() {
  Exempt& exempt = exempt_threads();
  std::lock_guard lock(exempt.mutex);
  exempt.threads.insert(gettid());
}

void exempt_new_threads(const std::function<void()>& start) {
  const std::set<int> before = all_threads();
  start();
  Exempt& exempt = exempt_threads();
  std::lock_guard lock(exempt.mutex);
  for (int thread : all_threads())
    if (!before.contains(thread)) exempt.threads.insert(thread);
}

}  // namespace tandem
