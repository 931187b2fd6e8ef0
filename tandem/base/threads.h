// Threads by role: each has a name that tools show, and runs on the cores its role was given.
#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tandem {

enum class ThreadRole { compute, data, driver };

/// The cores threads of a role run on; none: any. Holds for threads that enter their role from now on.
void set_role_cores(ThreadRole role, std::vector<int> cores);
std::vector<int> role_cores(ThreadRole role);

/// How many threads of a role may run at once without crowding the others.
int role_threads(ThreadRole role);

/// Names the calling thread "tandem-<name>" (at most 15 characters are shown) and pins it to its role's cores.
void enter_role(ThreadRole role, const std::string& name);

/// A thread that has entered its role before it runs `body`.
std::thread start_thread(ThreadRole role, const std::string& name, std::function<void()> body);

}  // namespace tandem
