#include "tandem/exec/kept_values.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "tandem/base/event_sink.h"
#include "tandem/base/log.h"
#include "tandem/core/device_copy.h"
#include "tandem/core/fallible_space.h"
#include "tandem/exec/write_locks.h"

namespace tandem {
namespace {

constexpr double kBetweenPoints = 1e9, kUntilLooked = 5e7;  // ns

bool whole(const Tensors& values) {
  return !values.empty() &&
         std::ranges::all_of(values, [](const Tensor& value) { return Residency::is_whole(value.storage()); });
}

bool any_whole(const Tensors& values) {
  return std::ranges::any_of(values, [](const Tensor& value) { return Residency::is_whole(value.storage()); });
}

/// What a plan keeps.
struct Kept {
  std::vector<Ref<Cell>> cells;
  Tensors good;                      // known to be whole; empty: none were kept yet
  Tensors latest;                    // not looked at since; empty: they are the good ones
  std::vector<const Storage*> left;  // by the last run
  std::uint64_t point = 0;           // the later, the larger
  std::uint64_t since = 0;           // ticks
  std::uint64_t runs = 0;            // since then

  double age() const { return static_cast<double>(ticks() - since) * nanoseconds_per_tick(); }

  void look() {
    if (latest.empty() || age() < kUntilLooked || !whole(latest)) return;
    good = std::exchange(latest, {});
  }

  /// Is a quarter of the devices' memory left when the values lie there twice?
  bool has_room() const {
    std::map<MemorySpace*, std::size_t> needed;
    for (const Ref<Cell>& cell : cells) needed[&cell->value.storage().space()] += cell->spec().bytes();
    return std::ranges::all_of(needed, [](const auto& need) {
      const auto& [space, bytes] = need;
      return space->is_host() || space->info().current + bytes <= space->info().limit / 4 * 3;
    });
  }

  void keep(std::uint64_t number) {
    latest.clear();
    if (!has_room()) good.clear();
    else
      for (const Ref<Cell>& cell : cells) latest.push_back(cell->value);
    point = number;
    since = ticks();
    runs = 0;
  }
};

struct Register {
  std::mutex mutex;  // comes after the locks of variables, which are tried and not waited for by who holds it
  std::map<const Plan*, Kept> plans;
  std::uint64_t points = 0, losses_seen = 0;

  /// Has a run left it there, and not the program itself?
  bool is_left(const Cell& cell) const {
    const Storage* const now = &cell.value.storage();
    return std::ranges::any_of(
        plans, [&](const auto& entry) { return std::ranges::find(entry.second.left, now) != entry.second.left.end(); });
  }
};
Register& all() {
  static Register& all = *[] {
    on_loss_told(KeptValues::restore);
    return new Register;  // functions with static lifetime use it after main has ended
  }();
  return all;
}

/// All variables of a plan, if nobody is replacing any of them.
std::vector<std::unique_lock<std::mutex>> lock_all(const Kept& kept) {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const Ref<Cell>& cell : kept.cells) {
    locks.emplace_back(cell->writing, std::try_to_lock);
    if (!locks.back()) return {};
  }
  return locks;
}

/// What the program itself has assigned since, and was lost, has no value to go back to.
void go_back(Kept& kept) {
  const bool to_latest = whole(kept.latest) || (kept.good.empty() && any_whole(kept.latest));
  const std::string who = text("variable '", kept.cells[0]->name(), "' and ", kept.cells.size() - 1,
                               " others were lost on a device that failed");
  if (!to_latest && kept.good.empty()) {
    log(LogLevel::error, text(who, ", and nothing is kept of them; assign them or load weights"));
    return;
  }
  log(LogLevel::warning, text(who, ". They are again what they were ", to_latest ? "" : "more than ", kept.runs,
                              " steps or ", kept.age() / 1e9, " s ago"));
  if (to_latest) kept.good = std::move(kept.latest);
  kept.latest.clear();
  for (std::size_t i = 0; i < kept.cells.size(); ++i) {
    if (!Residency::is_whole(kept.good[i].storage())) continue;
    Cell& cell = *kept.cells[i];
    const std::lock_guard lock(cell.mutex);
    cell.value = cell.own(kept.good[i]);
    kept.left[i] = &cell.value.storage();
  }
}

bool is_lost(const Kept& kept) {
  return std::ranges::any_of(kept.cells,
                             [](const Ref<Cell>& cell) { return !Residency::is_whole(cell->value.storage()); });
}

}  // namespace

void KeptValues::before_run(const Plan& plan, std::span<const Plan::Write> writes) {
  Register& register_ = all();
  const std::lock_guard lock(register_.mutex);
  Kept& kept = register_.plans[&plan];
  const bool first = kept.left.empty();
  bool assigned = first;
  kept.look();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Ref<Cell>& cell = writes[i].cell;
    if (kept.cells.size() < writes.size()) kept.cells.push_back(cell);
    if (first || &cell->value.storage() == kept.left[i] || register_.is_left(*cell)) continue;
    assigned = true;
    if (!kept.good.empty()) kept.good[i] = cell->value;  // nobody wants to go back behind that
  }
  if (assigned || kept.age() > kBetweenPoints) kept.keep(++register_.points);
  ++kept.runs;
}

void KeptValues::after_run(const Plan& plan, std::span<const Plan::Write> writes) {
  Register& register_ = all();
  const std::lock_guard lock(register_.mutex);
  Kept& kept = register_.plans[&plan];
  kept.left.resize(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) kept.left[i] = &writes[i].cell->value.storage();
}

void KeptValues::forget(const Plan& plan) {
  Kept gone;  // its values go when the lock is not held any more
  Register& register_ = all();
  const std::lock_guard lock(register_.mutex);
  if (const auto found = register_.plans.find(&plan); found != register_.plans.end()) {
    gone = std::move(found->second);
    register_.plans.erase(found);
  }
}

void KeptValues::restore() {
  static std::atomic<std::uint64_t> seen{0};
  const std::uint64_t losses = device_losses();
  if (seen.load(std::memory_order_relaxed) == losses || WriteLocks::held()) return;
  Register& register_ = all();
  const std::lock_guard lock(register_.mutex);
  std::vector<Kept*> newest_first;
  for (auto& [plan, kept] : register_.plans)
    if (kept.left.size() == kept.cells.size()) newest_first.push_back(&kept);
  std::ranges::sort(newest_first, std::greater(), &Kept::point);
  bool complete = true;
  for (Kept* kept : newest_first) {
    const auto locks = lock_all(*kept);
    complete = complete && !locks.empty();
    if (!locks.empty() && is_lost(*kept)) go_back(*kept);
  }
  if (complete) seen.store(losses, std::memory_order_relaxed);
}

}  // namespace tandem
