// A thread's share of the cores, where several threads compute at once.
#pragma once

namespace tandem {

class Cores;

/// While it lives, this thread spreads its work over its part of the process's cores: part `part` of `parts`.
class CoreShare {
 public:
  CoreShare(int part, int parts);
  ~CoreShare();
  CoreShare(const CoreShare&) = delete;
  CoreShare& operator=(const CoreShare&) = delete;

 private:
  Cores* before_;
};

}  // namespace tandem
