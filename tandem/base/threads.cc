#include "tandem/base/threads.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "tandem/base/core_roles.h"
#include "tandem/base/cores.h"
#include "tandem/base/event_sink.h"

namespace tandem {
namespace {

std::atomic<int> lent{0};
std::array<std::atomic<int>, 3> limits{};

/// What the calling thread has borrowed, and how much of its time it spends computing.
struct Borrower {
  int depth = 0;           // loans inside loans
  std::optional<bool> entitled;  // its role has no cores of its own
  bool holds = false;
  double cpu_share = 1;    // of the time of its recent work
  unsigned works = 0;
  std::uint64_t wall_begin = 0, cpu_begin = 0;
  bool measured = false;

  void begin() {
    // The processor's time costs a system call: every eighth piece of work tells enough.
    measured = works++ % 8 == 0;
    if (measured) wall_begin = ticks(), cpu_begin = cpu_nanoseconds();
    holds = *entitled && cpu_share > 0.5;
    if (holds) lent.fetch_add(1, std::memory_order_relaxed);
  }
  void end() {
    if (holds) lent.fetch_sub(1, std::memory_order_relaxed);
    holds = false;
    if (!measured) return;
    const double wall = static_cast<double>(ticks() - wall_begin) * nanoseconds_per_tick();
    const double share = wall > 0 ? std::min(1.0, static_cast<double>(cpu_nanoseconds() - cpu_begin) / wall) : 1;
    cpu_share += 0.25 * (share - cpu_share);
  }
  static std::uint64_t cpu_nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
  }
};
thread_local Borrower borrower;

}  // namespace

std::vector<int> role_cores(ThreadRole role) {
  const CoreRoles roles = core_roles();
  switch (role) {
    case ThreadRole::compute: return roles.compute;
    case ThreadRole::data: return roles.data;
    default: return roles.driver;
  }
}

int role_threads(ThreadRole role) {
  const std::vector<int> own = role_cores(role);
  int threads = std::min(static_cast<int>(own.empty() ? process_cores().size() : own.size()), quota_cores());
  if (const int limit = role_limit(role); limit > 0) threads = std::min(threads, limit);
  return std::max(threads, 1);
}

int role_limit(ThreadRole role) { return limits[static_cast<std::size_t>(role)]; }
void set_role_limit(ThreadRole role, int threads) { limits[static_cast<std::size_t>(role)] = threads; }

void enter_role(ThreadRole role, const std::string& name) {
  pthread_setname_np(pthread_self(), ("tandem-" + name).substr(0, 15).c_str());
  if (role != ThreadRole::compute) exempt_thread();
  // Where nothing is dedicated, threads stay where the program put the one that started them.
  if (core_roles() != CoreRoles{}) confine_thread(role_cores(role));
}

std::thread start_thread(ThreadRole role, const std::string& name, std::function<void()> body) {
  return std::thread([role, name, body = std::move(body)] {
    enter_role(role, name);
    body();
  });
}

CoreLoan::CoreLoan(ThreadRole role) {
  if (borrower.depth++ > 0) return;
  if (!borrower.entitled) borrower.entitled = role_cores(role).empty();
  borrower.begin();
}
CoreLoan::~CoreLoan() {
  if (--borrower.depth == 0) borrower.end();
}

int CoreLoan::count() { return lent.load(std::memory_order_relaxed); }
int CoreLoan::others() { return count() - (borrower.holds ? 1 : 0); }

CoreLoan::Pause::Pause() {
  if (borrower.depth > 0) borrower.end();
}
CoreLoan::Pause::~Pause() {
  if (borrower.depth > 0) borrower.begin();
}

}  // namespace tandem
