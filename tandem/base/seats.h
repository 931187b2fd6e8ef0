// Keeps the threads of a pool on a core each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem {

/// The cores that compute: those dedicated to it, or those of the main thread, since threads with a role of their own
/// are confined to other cores.
std::vector<int> compute_cores();

/// A system may wake a thread on the core of the one that wakes it, and let both take turns there while another core
/// idles: a worker that computes for microseconds at a time is never worth moving. So workers are pinned, and change
/// places with the thread that gives them work when that one comes to theirs.
class Seats {
 public:
  /// Before `threads` - 1 workers start. Where there is a core for each and for the caller they get one; elsewhere
  /// nothing is done.
  void assign(std::size_t threads, const std::vector<int>& cores);
  /// Called by worker 1, 2, … when it starts.
  void sit(std::size_t worker);
  /// Called by the thread that gives the workers something to do; `workers` as they were started.
  void make_room(std::vector<std::thread>& workers);

 private:
  std::mutex mutex_;        // changes; only the caller makes them
  std::vector<int> cores_;  // of the caller, then of each worker; empty: none is pinned
  std::uint64_t changed_ = 0;  // in ticks
};

}  // namespace tandem
