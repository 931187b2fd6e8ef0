// The event sink: every thread records spans into a ring of its own, always on, for a few nanoseconds each.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/decision.h"

namespace tandem {

/// The time stamp counter: cheap, monotonic, the same on all cores of the machines we run on.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(__builtin_readcyclecounter());
#endif
}

/// What a reader gets: one op that ran.
struct Span {
  const Decision* decision = nullptr;
  std::uint64_t start = 0;  // ticks
  std::uint64_t end = 0;
  std::uint32_t thread = 0;
  double microseconds() const;
};

/// The ring of one thread. Fields are relaxed atomics so that another thread may read while this one writes.
class EventRing {
 public:
  static constexpr std::uint64_t kCapacity = 4096;

  explicit EventRing(std::uint32_t thread) : thread_(thread) {}

  void record(const Decision* decision, std::uint64_t start, std::uint64_t end) {
    const std::uint64_t at = written_.load(std::memory_order_relaxed);
    Slot& slot = slots_[at % kCapacity];
    slot.decision.store(decision, std::memory_order_relaxed);
    slot.start.store(start, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_relaxed);
    written_.store(at + 1, std::memory_order_release);
  }

  /// The newest spans, oldest first, at most `most`.
  void read(std::vector<Span>& out, std::uint64_t most) const;

 private:
  struct Slot {
    std::atomic<const Decision*> decision;
    std::atomic<std::uint64_t> start, end;
  };
  std::array<Slot, kCapacity> slots_;
  std::atomic<std::uint64_t> written_{0};
  std::uint32_t thread_;
};

/// The calling thread's ring; created at its first event.
EventRing& event_ring();

/// Spans of all threads, by start time; at most `most` a thread.
std::vector<Span> recorded_spans(std::uint64_t most = EventRing::kCapacity);

/// The calling thread's most recent decisions, oldest first.
std::vector<const Decision*> last_decisions(std::uint64_t most = 16);

/// On unless switched off; costs a few nanoseconds an op.
inline std::atomic<bool>& events_switch() {
  static std::atomic<bool> on{true};
  return on;
}
inline bool events_enabled() { return events_switch().load(std::memory_order_relaxed); }
inline void set_events_enabled(bool on) { events_switch().store(on); }

/// Nanoseconds of a tick, measured since the process began.
double nanoseconds_per_tick();

}  // namespace tandem
