// Threads by role: each has a name that tools show, and runs on the cores its role was given (core_roles.h).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tandem {

enum class ThreadRole { compute, data, driver };

/// The cores threads of a role run on; none: any.
std::vector<int> role_cores(ThreadRole role);

/// How many threads of a role may run at once without crowding the others: its cores or else the process's, within the
/// cgroup's quota and the limit set.
int role_threads(ThreadRole role);
/// What was set; 0: no limit.
int role_limit(ThreadRole role);
void set_role_limit(ThreadRole role, int threads);

/// Names the calling thread "tandem-<name>" (at most 15 characters are shown) and pins it to its role's cores.
void enter_role(ThreadRole role, const std::string& name);

/// A thread that has entered its role before it runs `body`.
std::thread start_thread(ThreadRole role, const std::string& name, std::function<void()> body);

/// While it lives, the calling thread, one of a role beside compute, works: it has a core on loan from the pool, so
/// that together they never are more than there are cores. A role with cores of its own needs no loan, and a thread
/// that mostly sleeps, as one that reads from a network does, takes none.
class CoreLoan {
 public:
  explicit CoreLoan(ThreadRole role);
  ~CoreLoan();
  CoreLoan(const CoreLoan&) = delete;
  CoreLoan& operator=(const CoreLoan&) = delete;

  /// Cores on loan now; `others`: to other threads than this one.
  static int count();
  static int others();

  /// While it lives, the thread waits: its loan, if it has one, is given back.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };
};

}  // namespace tandem
