// Threads that run the parts of one plan at once: a lane for each device that computes on the host.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace tandem {

/// How far each lane of one run has come. A lane waits for another before it reads what that one makes.
class LaneProgress {
 public:
  explicit LaneProgress(std::size_t lanes) : done_(std::make_unique<Line[]>(lanes)), lanes_(lanes) {}
  void reset();
  /// Everything before instruction `count` of the lane has run.
  void advance(std::size_t lane, std::uint32_t count);
  /// Returns when the lane has come that far; throws when a lane has failed.
  void await(std::size_t lane, std::uint32_t count) const;
  /// Lets go of all who wait.
  void fail();
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint32_t> count{0};
  };
  std::unique_ptr<Line[]> done_;
  std::size_t lanes_;
  std::atomic<bool> failed_{false};
};

/// Thrown in lanes that wait for one that failed.
struct LaneStopped {};

/// body(0) on the calling thread and body(1) … body(lanes-1) on threads of their own, each with its share of the cores;
/// returns when all have ended. One run at a time: another thread waits. Throws the first exception.
void run_lanes(std::size_t lanes, const std::function<void(std::size_t)>& body);

}  // namespace tandem
