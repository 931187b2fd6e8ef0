#include "tandem/base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "tandem/base/cores.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

struct Roles {
  std::mutex mutex;
  std::array<std::vector<int>, 3> cores;
};

Roles& roles() {
  static Roles& all = *new Roles;  // threads may start while the process ends
  return all;
}

}  // namespace

void set_role_cores(ThreadRole role, std::vector<int> cores) {
  for (int core : cores)
    if (core < 0 || core >= CPU_SETSIZE)
      fail(ErrorCode::invalid_argument, "core ", core, " does not exist; cores are numbered from 0");
  Roles& all = roles();
  std::lock_guard lock(all.mutex);
  all.cores[static_cast<std::size_t>(role)] = std::move(cores);
}

std::vector<int> role_cores(ThreadRole role) {
  Roles& all = roles();
  std::lock_guard lock(all.mutex);
  return all.cores[static_cast<std::size_t>(role)];
}

int role_threads(ThreadRole role) {
  const auto own = static_cast<int>(role_cores(role).size());
  return own > 0 ? std::min(own, usable_cores()) : usable_cores();
}

void enter_role(ThreadRole role, const std::string& name) {
  pthread_setname_np(pthread_self(), ("tandem-" + name).substr(0, 15).c_str());
  const std::vector<int> cores = role_cores(role);
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  // A core that the process lost meanwhile leaves the thread where it may run.
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::thread start_thread(ThreadRole role, const std::string& name, std::function<void()> body) {
  return std::thread([role, name, body = std::move(body)] {
    enter_role(role, name);
    body();
  });
}

}  // namespace tandem
