#include "tandem/core/spill.h"

#include <algorithm>

#include "tandem/base/environment.h"
#include "tandem/base/error.h"
#include "tandem/base/event_sink.h"
#include "tandem/core/device_copy.h"

namespace tandem {
namespace {

std::atomic<bool>& spill_switch() {
  static std::atomic<bool> on = environment_switch("TANDEM_SPILL").value_or(true);
  return on;
}

std::atomic<bool (*)(MemorySpace&)> shortage{nullptr};
std::atomic<std::uint64_t> evictions{0}, written_back{0}, written_back_bytes{0};

/// Host memory that is free as soon as the copies that use it have ended.
struct Leaving {
  Allocation memory;
  std::vector<Event> until;
  bool ended() const {
    return std::ranges::all_of(until, [](const Event& event) { return event->done(); });
  }
};
struct LeavingList {
  std::mutex mutex;
  std::vector<Leaving> list;
};
LeavingList& leaving() {
  static LeavingList& list = *new LeavingList;  // tensors with static lifetime use it after main has ended
  return list;
}

void wait_quietly(const Event& event) {
  try {
    wait(event);
  } catch (const Error&) {  // who depends on the copy is told; its memory is free either way
  }
}

std::string megabytes(std::size_t bytes) {
  if (bytes < 1'000'000) return text(bytes, " bytes");
  return text(bytes / 1'000'000, ".", bytes / 100'000 % 10, " MB");
}

/// "float32 [1024, 1024] from matmul (4.1 MB), …": the largest tensors that lie in `space`.
std::string largest_tensors(MemorySpace& space) {
  struct Entry {
    std::size_t bytes;
    std::string text;
  };
  std::vector<Entry> entries;
  for (DeviceCopy* copy = space.residents().oldest; copy; copy = copy->newer)
    entries.push_back({copy->memory.bytes(), Residency::describe(*copy->owner)});
  const auto shown = std::min<std::size_t>(entries.size(), 5);
  std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(shown), entries.end(),
                    [](const Entry& a, const Entry& b) { return a.bytes > b.bytes; });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < shown; ++i)
    words.push_back(text(entries[i].text, " (", megabytes(entries[i].bytes), ")"));
  return words.empty() ? "no tensor lies there"
                       : text("the largest of ", entries.size(), " tensors there: ", join(words));
}

[[noreturn]] void out_of_memory(MemorySpace& space, std::size_t bytes) {
  const MemoryInfo info = space.info();
  fail(ErrorCode::out_of_memory, space.name(), ": ", megabytes(bytes), " do not fit: ", megabytes(info.current), " of ",
       megabytes(info.limit), " are in use",
       info.current + bytes <= info.limit ? ", and its driver, or the host whose memory it uses, has no more" : "",
       "; ", largest_tensors(space), spill_enabled() ? "" : "; spilling to the host is off (TANDEM_SPILL, set_spill)");
}

/// What an eviction leaves in the ring of events.
const Decision* eviction(const MemorySpace& space, bool back) {
  return intern({.op = "spill",
                 .device = std::string(space.name()),
                 .kernel = back ? "write back" : "drop",
                 .reason = ReasonCode::memory});
}

}  // namespace

void on_shortage(bool (*give_back)(MemorySpace&)) { shortage = give_back; }

void set_spill(bool on) { spill_switch() = on; }
bool spill_enabled() { return spill_switch(); }
SpillStats spill_stats() { return {evictions, written_back, written_back_bytes}; }

void Residency::name(Storage& storage, const TensorSpec& spec, const Decision* made_by) {
  std::lock_guard lock(mutex());
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  if (elsewhere.made_by) return;
  elsewhere.spec = spec;
  elsewhere.made_by = made_by;
}

std::string Residency::describe(const Storage& storage) {
  const Storage::Elsewhere& elsewhere = *storage.elsewhere_.load(std::memory_order_acquire);
  if (!elsewhere.made_by) return "unnamed";
  return text(elsewhere.spec, " from ", elsewhere.made_by->op);
}

void Residency::drop_host(Storage& storage) {
  Storage::Elsewhere& elsewhere = storage.elsewhere();
  Leaving item{std::exchange(storage.host_, {}), std::exchange(elsewhere.host_busy, {})};
  storage.readable_.store(nullptr, std::memory_order_release);
  if (elsewhere.host_ready) item.until.push_back(std::exchange(elsewhere.host_ready, {}));
  if (item.ended()) return;
  {
    std::lock_guard lock(leaving().mutex);
    leaving().list.push_back(std::move(item));
  }
  free_finished_copies(false);
}

void free_finished_copies(bool wait) {
  std::vector<Leaving> gone;
  {
    std::lock_guard lock(leaving().mutex);
    auto& list = leaving().list;
    const auto first =
        std::partition(list.begin(), list.end(), [&](const Leaving& item) { return !wait && !item.ended(); });
    gone.assign(std::make_move_iterator(first), std::make_move_iterator(list.end()));
    list.erase(first, list.end());
  }
  for (const Leaving& item : gone)
    for (const Event& event : item.until) wait_quietly(event);
}

bool Residency::evict_one(MemorySpace& space) {
  for (DeviceCopy* victim = space.residents().oldest; victim; victim = victim->newer) {
    if (victim->pins > 0) continue;
    const std::uint64_t start = ticks();
    Storage& storage = *victim->owner;
    const auto& copies = storage.elsewhere().copies;
    const bool back = !storage.host_.address() && std::next(copies.begin()) == copies.end();
    if (back && !write_back(storage, *victim)) continue;
    remove(storage, *victim);
    ++evictions;
    event_ring().record(eviction(space, back), start, ticks());
    return true;
  }
  return false;
}

/// False when the host is full, too: copies of what lies there may still go.
bool Residency::write_back(Storage& storage, DeviceCopy& from) {
  try {
    start_download(storage, from);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  ++written_back;
  written_back_bytes += storage.bytes();
  return true;
}

template <class Try>
void* Residency::evict_until(MemorySpace& space, std::size_t bytes, Try attempt) {
  for (;;) {
    if (void* address = attempt()) return address;
    const auto give_back = shortage.load();
    if (bytes <= space.info().limit && ((spill_enabled() && evict_one(space)) || (give_back && give_back(space))))
      continue;
    out_of_memory(space, bytes);
  }
}

void* Residency::allocate(MemorySpace& space, std::size_t bytes, Purpose purpose) {
  return evict_until(space, bytes, [&] { return space.try_allocate(bytes, purpose); });
}

void* Residency::share(SharedSpace& space, void* host, std::size_t bytes) {
  return evict_until(space, bytes, [&] { return space.try_share(host, bytes); });
}

void* allocate_evicting(MemorySpace& space, std::size_t bytes) {
  std::lock_guard lock(Residency::mutex());
  return Residency::allocate(space, bytes, Purpose::compute);
}

}  // namespace tandem
