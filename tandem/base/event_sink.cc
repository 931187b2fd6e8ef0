#include "tandem/base/event_sink.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

namespace tandem {
namespace {

/// The rings of all threads. A ring outlives its thread, so that its spans can still be read, and is given to
/// the next new thread: there are never more rings than there were threads at once.
struct Rings {
  std::mutex mutex;
  std::vector<std::unique_ptr<EventRing>> all;
  std::vector<EventRing*> idle;
};
Rings& rings() {
  static auto& instance = *new Rings;  // threads may end after static destructors have run
  return instance;
}

struct RingLease {
  EventRing* ring;
  RingLease() {
    Rings& r = rings();
    std::lock_guard lock(r.mutex);
    if (!r.idle.empty()) {
      ring = r.idle.back();
      r.idle.pop_back();
      return;
    }
    r.all.push_back(std::make_unique<EventRing>(static_cast<std::uint32_t>(r.all.size())));
    ring = r.all.back().get();
  }
  ~RingLease() {
    Rings& r = rings();
    std::lock_guard lock(r.mutex);
    r.idle.push_back(ring);
  }
};

struct ClockPair {
  std::uint64_t tick = ticks();
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};
const ClockPair kProcessStart;

}  // namespace

/// A plain word: asking a lease whether it was made costs more. (Not of the model initial-exec: with that all
/// thread-local memory of the library would have to fit what the system keeps for libraries loaded late, and Python
/// could not load it.)
static thread_local constinit EventRing* own_ring = nullptr;

EventRing& event_ring() {
  if (own_ring) [[likely]]
    return *own_ring;
  thread_local RingLease lease;
  return *(own_ring = lease.ring);
}

void EventRing::read(std::vector<Span>& out, std::uint64_t most) const {
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  const std::uint64_t count = std::min({end, kCapacity, most});
  for (std::uint64_t at = end - count; at < end; ++at) {
    const Slot& slot = slots_[at % kCapacity];
    Span span{slot.decision.load(std::memory_order_relaxed), slot.start.load(std::memory_order_relaxed),
              slot.end.load(std::memory_order_relaxed), thread_};
    // The writer may have come round and be overwriting this slot: such a span is dropped.
    const bool overwritten = written_.load(std::memory_order_acquire) > at + kCapacity - 1;
    if (span.decision && !overwritten) out.push_back(span);
  }
}

std::vector<Span> recorded_spans(std::uint64_t most) {
  std::vector<Span> spans;
  Rings& r = rings();
  std::lock_guard lock(r.mutex);
  for (const auto& ring : r.all) ring->read(spans, most);
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

std::vector<const Decision*> last_decisions(std::uint64_t most) {
  std::vector<Span> spans;
  event_ring().read(spans, most);
  std::vector<const Decision*> decisions;
  for (const Span& span : spans) decisions.push_back(span.decision);
  return decisions;
}

double nanoseconds_per_tick() {
  const ClockPair now;
  const auto elapsed = std::chrono::duration<double, std::nano>(now.time - kProcessStart.time).count();
  return now.tick == kProcessStart.tick ? 1.0 : elapsed / static_cast<double>(now.tick - kProcessStart.tick);
}

double Span::microseconds() const { return static_cast<double>(end - start) * nanoseconds_per_tick() / 1000; }

}  // namespace tandem
