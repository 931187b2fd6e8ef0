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
  device_next_.resize(at(problem.devices));
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
  if (makespan_ != kNever) look_back();
  return makespan_;
}

/// Latest ends and the time that must follow each node, from the last place to the first.
void QuickDecoder::look_back() {
  std::fill(device_next_.begin(), device_next_.end(), makespan_);
  for (std::int32_t place = p_.nodes - 1; place >= 0; --place) {
    const std::int32_t node = order[at(place)];
    const int device = assignment[at(node)];
    double latest = device_next_[at(device)], path = 0;
    for (const Neighbour& c : p_.consumers[node]) {
      const int to = assignment[at(c.node)];
      const double between = (to == device ? 0 : p_.crossing(device, to, c.bytes)) + p_.us(c.node, to);
      latest = std::min(latest, latest_end_[at(c.node)] - between);
      path = std::max(path, between + path_[at(c.node)]);
    }
    latest_end_[at(node)] = latest;
    path_[at(node)] = path;
    device_next_[at(device)] = std::min(device_next_[at(device)], latest - p_.us(node, device));
  }
}

}  // namespace tandem::placer
