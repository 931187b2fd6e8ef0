#include "tandem/base/core_use.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tandem/base/core_roles.h"
#include "tandem/base/cores.h"

namespace tandem {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of the process's cores, since the system started; counted in ticks of some milliseconds.
double stolen_seconds() {
  std::ifstream stat("/proc/stat");
  std::string line, name;
  double ticks = 0;
  while (std::getline(stat, line) && line.starts_with("cpu")) {
    std::istringstream words(line);
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, steal = 0;
    if (!(words >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> steal)) continue;
    int core = -1;
    if (std::from_chars(name.data() + 3, name.data() + name.size(), core).ec != std::errc{})
      continue;  // "cpu": all of them
    if (std::ranges::find(process_cores(), core) != process_cores().end()) ticks += steal;
  }
  return ticks / static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
}

}  // namespace

double CoreUse::others_share() const {
  const double not_ours_s = std::max(0.0, cores * wall_s - own_s);
  return wall_s > 0 ? std::min(waited_s + stolen_s, not_ours_s) / wall_s : 0;
}

std::map<int, CoreWatch::Thread> CoreWatch::threads() {
  std::map<int, Thread> all;
  std::error_code gone;
  for (std::filesystem::directory_iterator at("/proc/self/task", gone), end; !gone && at != end; at.increment(gone)) {
    double ran_ns = 0, waited_ns = 0;
    std::ifstream file(at->path() / "schedstat");
    if (file >> ran_ns >> waited_ns) all[std::atoi(at->path().filename().c_str())] = {ran_ns * 1e-9, waited_ns * 1e-9};
  }
  return all;
}

CoreUse CoreWatch::take() {
  auto threads_now = threads();
  const double wall_now = now_s(), stolen_now = stolen_seconds();
  CoreUse use{.wall_s = wall_now - wall_s_,
              .stolen_s = stolen_now - stolen_s_,
              .cores = std::max(1, std::min(static_cast<int>(process_cores().size()), quota_cores()))};
  for (const auto& [id, thread] : threads_now) {
    const Thread before = threads_[id];  // a new one has none
    use.own_s += thread.ran_s - before.ran_s;
    use.waited_s += thread.waited_s - before.waited_s;
  }
  threads_ = std::move(threads_now);
  wall_s_ = wall_now;
  stolen_s_ = stolen_now;
  return use;
}

}  // namespace tandem
