#include "tandem/place/sequencer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

Sequencer::Sequencer(const Problem& problem) : problem_(problem) {
  active_suffices_ =
      !problem.any_limited && std::ranges::all_of(problem.excludes, [](std::uint64_t mask) { return mask == 0; });
  lane_free_.resize(at(problem.devices) * at(problem.devices + 1));
  lane_head_.resize(lane_free_.size());
  lane_work_.resize(lane_free_.size());
  lane_tail_.resize(lane_free_.size());
}

void Sequencer::join(std::int32_t first, std::int32_t second) {
  activities_[at(first)].after.push_back(second);
  activities_[at(second)].before.push_back(first);
}

/// What is not known is left out, as if nobody had asked for it.
void Sequencer::make_activities(std::span<const std::uint8_t> assignment, std::uint64_t known) {
  activities_.clear();
  for (int v = 0; v < problem_.nodes; ++v) {
    const int device = assignment[at(v)];
    activities_.push_back({v, -1, device, problem_.excludes[at(device)], 0, problem_.us(v, device), 0, {}, {}});
  }
  topological_.clear();
  const auto is_known = [&](std::int32_t v) { return known == kAll || known >> v & 1; };
  for (const std::int32_t v : problem_.topological) {
    if (!is_known(v)) continue;
    topological_.push_back(v);
    const int home = assignment[at(v)];
    std::uint64_t seen = 0;
    for (const Neighbour& c : problem_.consumers[v]) {
      if (!is_known(c.node)) continue;
      const int device = assignment[at(c.node)];
      if (device == home) join(v, c.node);
      if (device == home || seen >> device & 1) continue;
      seen |= std::uint64_t{1} << device;
      const auto copy = static_cast<std::int32_t>(activities_.size());
      const std::int64_t bytes = problem_.crossing_bytes(v, device, assignment);
      const auto lane = static_cast<std::int32_t>(at(problem_.devices) + problem_.pair(home, device));
      activities_.push_back({v, device, lane, 0, bytes, problem_.crossing(home, device, bytes), 0, {}, {}});
      topological_.push_back(copy);
      join(v, copy);
      for (const Neighbour& reader : problem_.consumers[v])
        if (is_known(reader.node) && assignment[at(reader.node)] == device) join(copy, reader.node);
    }
  }
}

void Sequencer::make_residents(std::span<const std::uint8_t> assignment) {
  residents_.clear();
  reads_.assign(activities_.size(), {});
  writes_.assign(activities_.size(), -1);
  if (!problem_.any_limited) return;
  for (std::int32_t a = 0; a < static_cast<std::int32_t>(activities_.size()); ++a) {
    const Activity& activity = activities_[at(a)];
    const int device = activity.copy_to < 0 ? assignment[at(activity.node)] : activity.copy_to;
    if (!problem_.limited[at(device)]) continue;
    const auto resident = static_cast<std::int32_t>(residents_.size());
    writes_[at(a)] = resident;
    const bool read_by_unknown = activity.after.empty() && !problem_.consumers[activity.node].empty();
    residents_.push_back({device, a, problem_.memory[at(activity.node)],
                          static_cast<std::int32_t>(activity.after.size()), 0, read_by_unknown});
    for (const std::int32_t reader : activity.after) reads_[at(reader)].push_back(resident);
  }
}

void Sequencer::fill_tails() {
  for (auto it = topological_.rbegin(); it != topological_.rend(); ++it) {
    Activity& a = activities_[at(*it)];
    for (const std::int32_t next : a.after)
      a.tail = std::max(a.tail, activities_[at(next)].length + activities_[at(next)].tail);
  }
}

double Sequencer::lane_free(const Activity& activity) const {
  double free = lane_free_[at(activity.lane)];
  for (std::uint64_t others = activity.excluded_lanes; others; others &= others - 1)
    free = std::max(free, lane_free_[at(__builtin_ctzll(others))]);
  return free;
}

/// Heads of what is not placed yet, and whether any of it, or any lane's work, already reaches the limit.
bool Sequencer::can_beat(double limit) {
  std::fill(lane_head_.begin(), lane_head_.end(), kNever);
  std::fill(lane_work_.begin(), lane_work_.end(), 0.0);
  std::fill(lane_tail_.begin(), lane_tail_.end(), kNever);
  for (const std::int32_t i : topological_) {
    if (placed_[at(i)]) continue;
    const Activity& a = activities_[at(i)];
    double head = lane_free(a);
    for (const std::int32_t b : a.before)
      head = std::max(head, placed_[at(b)] ? end_[at(b)] : head_[at(b)] + activities_[at(b)].length);
    head_[at(i)] = head;
    if (head + a.length + a.tail >= limit) return false;
    lane_head_[at(a.lane)] = std::min(lane_head_[at(a.lane)], head);
    lane_work_[at(a.lane)] += a.length;
    lane_tail_[at(a.lane)] = std::min(lane_tail_[at(a.lane)], a.tail);
  }
  for (std::size_t lane = 0; lane < lane_work_.size(); ++lane)
    if (lane_work_[lane] > 0 && lane_head_[lane] + lane_work_[lane] + lane_tail_[lane] >= limit) return false;
  return true;
}

/// Bytes on the device of `beside` at a time, or just before it. Values whose readers are not all placed stay.
std::int64_t Sequencer::taken(const Resident& beside, double time, bool just_before, double* next_release) const {
  std::int64_t sum = 0;
  for (const Resident& r : residents_) {
    if (r.device != beside.device || !placed_[at(r.writer)]) continue;
    if (just_before && start_[at(r.writer)] >= time) continue;
    const bool released = r.readers_left == 0 && !activities_[at(r.writer)].after.empty();
    if (released && (just_before ? r.free_at < time : r.free_at <= time)) continue;
    sum += r.bytes;
    if (released && next_release) *next_release = std::min(*next_release, r.free_at);
  }
  return sum;
}

/// From when on the output fits.
double Sequencer::memory_from(std::int32_t activity, double ready) const {
  const std::int32_t mine = writes_[at(activity)];
  if (mine < 0) return ready;
  const Resident& wanted = residents_[at(mine)];
  for (double time = ready;;) {
    double next = kNever;
    if (taken(wanted, time, false, &next) <= problem_.capacity[at(wanted.device)] - wanted.bytes) return time;
    if (next == kNever) return kNever;
    time = next;
  }
}

/// Starting later than it could is of use only when memory was short until then.
bool Sequencer::worth_waiting(std::int32_t activity) const {
  if (start_[at(activity)] <= head_[at(activity)]) return true;
  const std::int32_t mine = writes_[at(activity)];
  if (mine < 0) return false;
  const Resident& wanted = residents_[at(mine)];
  return taken(wanted, start_[at(activity)], true, nullptr) > problem_.capacity[at(wanted.device)] - wanted.bytes;
}

/// Two that start together and have nothing to do with each other are tried in one order only.
bool Sequencer::same_the_other_way(std::int32_t activity, std::int32_t last) const {
  if (last < 0 || activity > last || start_[at(activity)] != start_[at(last)]) return false;
  const Activity &a = activities_[at(activity)], &b = activities_[at(last)];
  const bool apart = a.lane != b.lane && (b.lane >= problem_.devices || !(a.excluded_lanes >> b.lane & 1));
  return apart && std::ranges::find(b.after, activity) == b.after.end();
}

/// What competes with the activity that can end first (Giffler and Thompson): placing anything else would leave a gap
/// that it could fill.
void Sequencer::choose_competing(std::vector<std::int32_t>& candidates) {
  std::int32_t first = -1;
  const auto count = static_cast<std::int32_t>(activities_.size());
  const auto end_of = [&](std::int32_t i) { return head_[at(i)] + activities_[at(i)].length; };
  for (std::int32_t i = 0; i < count; ++i)
    if (!placed_[at(i)] && waiting_[at(i)] == 0 && (first < 0 || end_of(i) < end_of(first))) first = i;
  for (std::int32_t i = 0; i < count; ++i) {
    if (placed_[at(i)] || waiting_[at(i)] > 0 || activities_[at(i)].lane != activities_[at(first)].lane) continue;
    if (i != first && head_[at(i)] >= end_of(first)) continue;
    start_[at(i)] = head_[at(i)];
    candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
    return activities_[at(a)].length + activities_[at(a)].tail > activities_[at(b)].length + activities_[at(b)].tail;
  });
}

/// Everything that could start at or after the last start.
void Sequencer::choose_any(std::vector<std::int32_t>& candidates, std::int32_t last) {
  const double from = last < 0 ? 0 : start_[at(last)];
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(activities_.size()); ++i) {
    if (placed_[at(i)] || waiting_[at(i)] > 0) continue;
    start_[at(i)] = memory_from(i, std::max(head_[at(i)], from));
    if (start_[at(i)] + activities_[at(i)].length + activities_[at(i)].tail >= limit_) continue;
    if (worth_waiting(i) && !same_the_other_way(i, last)) candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
    if (start_[at(a)] != start_[at(b)]) return start_[at(a)] < start_[at(b)];
    return activities_[at(a)].length + activities_[at(a)].tail > activities_[at(b)].length + activities_[at(b)].tail;
  });
}

void Sequencer::record() {
  best_.starts.resize(at(problem_.nodes));
  best_.ends.resize(at(problem_.nodes));
  best_.copies.clear();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    const Activity& a = activities_[i];
    if (a.copy_to < 0) {
      best_.starts[at(a.node)] = start_[i];
      best_.ends[at(a.node)] = end_[i];
    } else {
      const auto from = static_cast<std::uint8_t>(activities_[at(a.node)].lane);
      best_.copies.push_back({a.node, from, static_cast<std::uint8_t>(a.copy_to), a.bytes, start_[i], end_[i]});
    }
  }
}

void Sequencer::search(int placed, double makespan, std::int32_t last, std::int64_t& steps) {
  if (placed == static_cast<int>(activities_.size())) {
    limit_ = makespan;
    record();
    return;
  }
  if (--steps < 0 || !can_beat(limit_)) return;
  std::vector<std::int32_t> candidates;
  if (chronological_) choose_any(candidates, last);
  else choose_competing(candidates);
  std::vector<double> starts;
  for (const std::int32_t i : candidates) starts.push_back(start_[at(i)]);
  for (std::size_t k = 0; k < candidates.size() && steps >= 0; ++k) {
    const std::int32_t i = candidates[k];
    const Activity& a = activities_[at(i)];
    const double start = starts[k], end = start + a.length;
    if (end + a.tail >= limit_) continue;
    placed_[at(i)] = 1;
    start_[at(i)] = start;
    end_[at(i)] = end;
    const double was_free = std::exchange(lane_free_[at(a.lane)], end);
    for (const std::int32_t next : a.after) --waiting_[at(next)];
    std::vector<double> freed;
    for (const std::int32_t r : reads_[at(i)]) {
      freed.push_back(residents_[at(r)].free_at);
      residents_[at(r)].free_at = std::max(residents_[at(r)].free_at, end);
      --residents_[at(r)].readers_left;
    }
    search(placed + 1, std::max(makespan, end), i, steps);
    for (std::size_t r = 0; r < freed.size(); ++r) {
      Resident& resident = residents_[at(reads_[at(i)][r])];
      resident.free_at = freed[r];
      ++resident.readers_left;
    }
    for (const std::int32_t next : a.after) ++waiting_[at(next)];
    lane_free_[at(a.lane)] = was_free;
    placed_[at(i)] = 0;
  }
}

double Sequencer::best_below(double limit, std::int64_t& steps) {
  const std::size_t count = activities_.size();
  head_.assign(count, 0);
  start_.assign(count, 0);
  end_.assign(count, 0);
  placed_.assign(count, 0);
  waiting_.resize(count);
  for (std::size_t i = 0; i < count; ++i) waiting_[i] = static_cast<std::int32_t>(activities_[i].before.size());
  std::fill(lane_free_.begin(), lane_free_.end(), 0.0);
  limit_ = limit;
  search(0, 0, -1, steps);
  return limit_ < limit ? limit_ : kNever;
}

/// One activity after the other needs the least memory: where no such order fits, no timeline does.
bool Sequencer::fits_in_some_order(std::uint64_t known, std::int64_t& steps) {
  if (residents_.empty() || activities_.size() > 64) return true;
  waiting_.resize(activities_.size());
  for (std::size_t i = 0; i < activities_.size(); ++i)
    waiting_[i] = static_cast<std::int32_t>(activities_[i].before.size());
  used_.assign(at(problem_.devices), 0);
  stuck_.clear();
  const std::uint64_t nodes = problem_.nodes == 64 ? kAll : (std::uint64_t{1} << problem_.nodes) - 1;
  return fits_after(nodes & ~known, steps);
}

bool Sequencer::may_fit(std::span<const std::uint8_t> assignment, std::uint64_t known, std::int64_t& steps) {
  make_activities(assignment, known);
  make_residents(assignment);
  return fits_in_some_order(known, steps);
}

bool Sequencer::fits_after(std::uint64_t done, std::int64_t& steps) {
  const auto count = static_cast<std::int32_t>(activities_.size());
  if (std::popcount(done) == count || --steps < 0) return true;
  if (stuck_.contains(done)) return false;
  std::vector<std::int32_t> next;
  for (std::int32_t i = 0; i < count; ++i) {
    if (done >> i & 1 || waiting_[at(i)] > 0 || !fits_now(i)) continue;
    if (frees_as_much_as_it_takes(i)) {  // sooner is never worse
      next.assign(1, i);
      break;
    }
    next.push_back(i);
  }
  for (const std::int32_t i : next) {
    start_in_order(i, 1);
    const bool fits = fits_after(done | std::uint64_t{1} << i, steps);
    start_in_order(i, -1);
    if (fits) return true;
  }
  stuck_.insert(done);
  return false;
}

bool Sequencer::fits_now(std::int32_t activity) const {
  const std::int32_t mine = writes_[at(activity)];
  if (mine < 0) return true;
  const Resident& wanted = residents_[at(mine)];
  return used_[at(wanted.device)] <= problem_.capacity[at(wanted.device)] - wanted.bytes;
}

bool Sequencer::frees_as_much_as_it_takes(std::int32_t activity) const {
  const std::int32_t mine = writes_[at(activity)];
  if (mine < 0 || residents_[at(mine)].read_by_unknown) return true;
  std::int64_t freed = 0;
  for (const std::int32_t r : reads_[at(activity)])
    if (residents_[at(r)].readers_left == 1 && residents_[at(r)].device == residents_[at(mine)].device)
      freed += residents_[at(r)].bytes;
  return freed >= residents_[at(mine)].bytes;
}

/// Direction 1: it has run; -1: it has not.
void Sequencer::start_in_order(std::int32_t activity, int direction) {
  for (const std::int32_t next : activities_[at(activity)].after) waiting_[at(next)] -= direction;
  if (const std::int32_t mine = writes_[at(activity)]; mine >= 0 && !residents_[at(mine)].read_by_unknown)
    used_[at(residents_[at(mine)].device)] += direction * residents_[at(mine)].bytes;
  for (const std::int32_t r : reads_[at(activity)]) {
    Resident& read = residents_[at(r)];
    if (direction < 0 && read.readers_left == 0) used_[at(read.device)] += read.bytes;
    read.readers_left -= direction;
    if (direction > 0 && read.readers_left == 0) used_[at(read.device)] -= read.bytes;
  }
}

double Sequencer::run(std::span<const std::uint8_t> assignment, double limit, std::int64_t& steps) {
  make_activities(assignment, kAll);
  make_residents(assignment);
  if (!fits_in_some_order(kAll, steps)) return kNever;
  fill_tails();
  chronological_ = !active_suffices_;
  return best_below(limit, steps);
}

}  // namespace tandem::placer
