// A process that keeps a core at work as long as it lives: what others do to us, for rows and tests about that.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::bench {

class Competitor {
 public:
  explicit Competitor(int core) : pid_(fork()) {
    if (pid_ != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (volatile bool go = true; go;) {}
  }
  ~Competitor() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Competitor(const Competitor&) = delete;

 private:
  const pid_t pid_;
};

}  // namespace tandem::bench
