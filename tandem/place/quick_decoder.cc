#include "tandem/place/quick_decoder.h"

#include <algorithm>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

QuickDecoder::QuickDecoder(const Problem& problem) : p_(problem), lanes_(at(problem.devices) * (1 + at(problem.devices))) {
  const auto nodes = at(problem.nodes), pairs = nodes * at(problem.devices);
  now_.resize(lanes_);
  states_.resize((nodes / kEvery + 1) * lanes_);
  makespans_.resize(nodes / kEvery + 1);
  for (Times* times : {&kept_, &tried_}) {
    times->end.resize(nodes);
    times->arrival.resize(pairs);
    times->brought_at.assign(pairs, -1);
  }
  path_.resize(nodes);
  latest_end_.resize(nodes);
  next_.resize(lanes_);
  needed_.resize(pairs);
  position.resize(nodes);
  copy_bytes_.resize(nodes);
  for (int v = 0; v < problem.nodes; ++v)
    for (const Neighbour& c : problem.consumers[v])
      copy_bytes_[at(v)] = problem.consumers[v][0].bytes == c.bytes && copy_bytes_[at(v)] >= 0 ? c.bytes : -1;
}

void QuickDecoder::set(const Order& new_order, const Assignment& new_assignment) {
  order = new_order;
  assignment = new_assignment;
  for (std::size_t i = 0; i < order.size(); ++i) position[at(order[i])] = static_cast<std::int32_t>(i);
  std::fill(kept_.brought_at.begin(), kept_.brought_at.end(), p_.nodes);
  commit(0);
}

/// When `value` is on `device`. Copies made before place `from` are as they were.
template <bool kKeep>
double QuickDecoder::arrive(std::int32_t value, int device, std::int32_t from, std::int32_t place) {
  const int home = assignment[at(value)];
  const double made = kKeep || position[at(value)] < from ? kept_.end[at(value)] : tried_.end[at(value)];
  if (home == device) return made;
  const auto there = p_.index(value, device);
  if (kept_.brought_at[there] < (kKeep ? place : from)) return kept_.arrival[there];
  if (!kKeep && tried_.brought_at[there] == stamp_) return tried_.arrival[there];
  if (!p_.linked(home, device)) return kNever;
  const double length = p_.crossing(home, device, bytes_of(value, device));
  const double arrives = now_[at(p_.devices) + p_.pair(home, device)].take(made, length) + length;
  if (kKeep) kept_.arrival[there] = arrives, kept_.brought_at[there] = place;
  else tried_.arrival[there] = arrives, tried_.brought_at[there] = stamp_;
  return arrives;
}

template <bool kKeep>
double QuickDecoder::run(std::int32_t from, std::int32_t changed_until, double bound) {
  std::copy_n(states_.begin() + static_cast<std::ptrdiff_t>(at(from / kEvery) * lanes_), lanes_, now_.begin());
  double makespan = makespans_[at(from / kEvery)];
  Times& times = kKeep ? kept_ : tried_;
  for (std::int32_t place = from; place < p_.nodes; ++place) {
    if (kKeep && place % kEvery == 0) {
      std::copy(now_.begin(), now_.end(), states_.begin() + static_cast<std::ptrdiff_t>(at(place / kEvery) * lanes_));
      makespans_[at(place / kEvery)] = makespan;
    }
    ++work_;
    const std::int32_t node = order[at(place)];
    const int device = assignment[at(node)];
    double ready = 0;
    for (const Neighbour& input : p_.inputs[node]) ready = std::max(ready, arrive<kKeep>(input.node, device, from, place));
    if (ready == kNever) return kNever;
    const double length = p_.us(node, device), end = now_[at(device)].take(ready, length) + length;
    if (!kKeep && end + (place > changed_until ? path_[at(node)] : p_.after(node, device)) >= bound) return kNever;
    for (std::uint64_t others = p_.excludes[at(device)]; others; others &= others - 1) now_[at(__builtin_ctzll(others))].block(end);
    times.end[at(node)] = end;
    makespan = std::max(makespan, end);
  }
  return makespan < bound ? makespan : kNever;
}

std::int32_t QuickDecoder::first_affected(std::int32_t node, int to) const {
  std::int32_t first = position[at(node)];
  for (const Neighbour& input : p_.inputs[node])
    if (copy_bytes_[at(input.node)] < 0)
      for (const int device : {to, static_cast<int>(assignment[at(node)])})
        if (device != assignment[at(input.node)]) first = std::min(first, kept_.brought_at[p_.index(input.node, device)]);
  return first;
}

double QuickDecoder::evaluate(std::int32_t from, std::int32_t changed_until, double bound) {
  ++stamp_;
  return run<false>(from / kEvery * kEvery, changed_until, bound);
}

double QuickDecoder::commit(std::int32_t from) {
  from = from / kEvery * kEvery;
  // What was brought by places that are decoded again is brought anew.
  for (std::int32_t place = from; place < p_.nodes; ++place)
    for (const Neighbour& input : p_.inputs[order[at(place)]])
      for (int d = 0; d < p_.devices; ++d)
        if (std::int32_t& brought = kept_.brought_at[p_.index(input.node, d)]; brought >= from) brought = p_.nodes;
  makespan_ = run<true>(from, 0, kNever);
  return makespan_;
}

void QuickDecoder::line_up() {
  activities_.clear();
  for (std::int32_t place = 0; place < p_.nodes; ++place) {
    const std::int32_t node = order[at(place)];
    const int device = assignment[at(node)];
    for (const Neighbour& input : p_.inputs[node]) {
      const auto there = p_.index(input.node, device);
      const int home = assignment[at(input.node)];
      if (home == device || kept_.brought_at[there] != place) continue;
      const double length = p_.crossing(home, device, bytes_of(input.node, device));
      const auto link = at(p_.devices) + p_.pair(home, device);
      activities_.push_back({kept_.arrival[there] - length, length, static_cast<std::int32_t>(there), static_cast<std::int32_t>(link)});
    }
    const double length = p_.us(node, device);
    activities_.push_back({kept_.end[at(node)] - length, length, node, device});
  }
  std::ranges::stable_sort(activities_, {}, &Activity::start);
}

void QuickDecoder::look_back() {
  line_up();
  std::fill(next_.begin(), next_.end(), makespan_);
  std::fill(needed_.begin(), needed_.end(), makespan_);
  for (std::size_t i = activities_.size(); i-- > 0;) {
    const Activity& a = activities_[i];
    const bool is_node = a.lane < p_.devices;
    const auto there = is_node ? p_.index(a.value, a.lane) : at(a.value);
    const double latest = std::min(needed_[there], next_[at(a.lane)]), start = latest - a.length;
    next_[at(a.lane)] = start;
    if (!is_node) {
      const std::int32_t value = a.value / p_.devices;
      double& made = needed_[p_.index(value, assignment[at(value)])];
      made = std::min(made, start);
      continue;
    }
    latest_end_[at(a.value)] = latest;
    for (const Neighbour& input : p_.inputs[a.value]) {
      double& value = needed_[p_.index(input.node, a.lane)];
      value = std::min(value, start);
    }
  }
  for (std::int32_t place = p_.nodes - 1; place >= 0; --place) {
    const std::int32_t node = order[at(place)];
    const int device = assignment[at(node)];
    double path = 0;
    for (const Neighbour& c : p_.consumers[node]) {
      const int to = assignment[at(c.node)];
      path = std::max(path, (to == device ? 0 : p_.crossing(device, to, c.bytes)) + p_.us(c.node, to) + path_[at(c.node)]);
    }
    path_[at(node)] = path;
  }
}

}  // namespace tandem::placer
