#include "tandem/place/quick_decoder.h"

#include <algorithm>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

QuickDecoder::QuickDecoder(const Problem& problem)
    : p_(problem),
      lanes_(at(problem.devices) * (1 + at(problem.devices))) {
  const auto nodes = at(problem.nodes), pairs = nodes * at(problem.devices);
  now_.resize(lanes_);
  for (Times* times : {&kept_, &tried_}) {
    times->start.resize(nodes);
    times->end.resize(nodes);
    times->arrival.resize(pairs);
    times->copies.reserve(problem.inputs.list.size());
  }
  rest_.resize(nodes);
  next_.resize(lanes_);
  needed_.resize(pairs);
  for (int to = 0; to < problem.devices; ++to)
    for (int from = 0; from < problem.devices; ++from) {
      moves_to_.push_back(problem.moves[problem.pair(from, to)]);
    }
  position.resize(nodes);
  queues_.resize(pairs);
  queue_ends_.resize(pairs);
  queue_rests_.resize(pairs);
  queue_sizes_.resize(at(problem.devices));
  loads_.resize(at(problem.devices));
  copy_bytes_.resize(nodes);
  for (int v = 0; v < problem.nodes; ++v)
    for (const Neighbour& c : problem.consumers[v])
      copy_bytes_[at(v)] = problem.consumers[v][0].bytes == c.bytes && copy_bytes_[at(v)] >= 0 ? c.bytes : -1;
}

void QuickDecoder::set(const Order& new_order, const Assignment& new_assignment) {
  order = new_order;
  assignment = new_assignment;
  for (std::size_t i = 0; i < order.size(); ++i) position[at(order[i])] = static_cast<std::int32_t>(i);
  evaluate(kNever);
  accept();
}

double QuickDecoder::bring(std::int32_t value, int device) {
  const int home = assignment[at(value)];
  if (!p_.linked(home, device)) return kNever;
  work_ += kCopyWork;
  const double length = p_.crossing(home, device, bytes_of(value, device));
  const auto lane = at(p_.devices) + p_.pair(home, device);
  const double start = now_[lane].take(tried_.end[at(value)], length);
  tried_.copies.push_back({value, device, static_cast<std::int32_t>(lane), start, length});
  return tried_.arrival[p_.index(value, device)] = start + length;
}

double QuickDecoder::evaluate(double bound) {
  for (GapLane& lane : now_) lane.tail = 0, lane.count = 0;
  std::fill(tried_.arrival.begin(), tried_.arrival.end(), -1.0);
  tried_.copies.clear();
  double makespan = 0;
  for (const std::int32_t node : order) {
    work_ += 1 + kEdgeWork * static_cast<std::int64_t>(p_.inputs[node].size());
    const int device = assignment[at(node)];
    double ready = 0;
    for (const Neighbour& input : p_.inputs[node]) {
      const double arrival = tried_.arrival[p_.index(input.node, device)];
      ready = std::max(ready, arrival >= 0 ? arrival : bring(input.node, device));
    }
    if (ready == kNever) return kNever;
    const double length = p_.us(node, device), start = now_[at(device)].take(ready, length), end = start + length;
    if (end + p_.after(node, device) >= bound) return kNever;
    for (std::uint64_t others = p_.excludes[at(device)]; others; others &= others - 1)
      now_[at(__builtin_ctzll(others))].block(end);
    tried_.start[at(node)] = start;
    tried_.end[at(node)] = tried_.arrival[p_.index(node, device)] = end;
    makespan = std::max(makespan, end);
  }
  return tried_.makespan = makespan < bound ? makespan : kNever;
}

double QuickDecoder::overrun() {
  if (!p_.any_limited) return 0;
  find_holds();
  levels_.assign(at(p_.devices) * kSlots, 0);
  const double slots = tried_.makespan > 0 ? (kSlots - 1) / tried_.makespan : 0;
  const auto hold = [&](int device, double from, double until, std::int64_t bytes) {
    if (!p_.limited[at(device)]) return;
    std::int64_t* const levels = levels_.data() + at(device) * kSlots;
    levels[static_cast<std::size_t>(from * slots)] += bytes;
    levels[static_cast<std::size_t>(until * slots)] -= bytes;
  };
  for (const Copy& copy : tried_.copies)
    hold(copy.device, copy.start, held_[p_.index(copy.value, copy.device)], p_.memory[at(copy.value)]);
  for (std::int32_t node = 0; node < p_.nodes; ++node) {
    const int device = assignment[at(node)];
    const double until = p_.consumers[node].empty() ? tried_.makespan : held_[p_.index(node, device)];
    hold(device, tried_.start[at(node)], until, p_.memory[at(node)]);
  }
  double sum = 0;
  for (int d = 0; d < p_.devices; ++d) {
    if (!p_.limited[at(d)]) continue;
    std::int64_t taken = 0, most = 0;
    for (std::size_t i = 0; i < kSlots; ++i) most = std::max(most, taken += levels_[at(d) * kSlots + i]);
    const auto capacity = static_cast<double>(p_.capacity[at(d)]);
    sum += std::max(0.0, static_cast<double>(most) - capacity) / std::max(1.0, capacity);
  }
  return sum;
}

/// Until when a value is read on a device, by its consumers and by what is copied from there.
void QuickDecoder::find_holds() {
  held_.assign(at(p_.nodes) * at(p_.devices), 0.0);
  for (std::int32_t node = 0; node < p_.nodes; ++node)
    for (const Neighbour& input : p_.inputs[node]) {
      double& until = held_[p_.index(input.node, assignment[at(node)])];
      until = std::max(until, tried_.end[at(node)]);
    }
  for (const Copy& copy : tried_.copies) {
    double& until = held_[p_.index(copy.value, assignment[at(copy.value)])];
    until = std::max(until, copy.start + copy.length);
  }
}

Order QuickDecoder::order_by_copies() const {
  std::vector<double> key = kept_.start;
  for (const Copy& copy : kept_.copies) {
    std::int32_t first = -1;
    for (const Neighbour& c : p_.consumers[copy.value])
      if (assignment[at(c.node)] == copy.device && (first < 0 || position[at(c.node)] < position[at(first)]))
        first = c.node;
    key[at(first)] = std::min(key[at(first)], copy.start);
  }
  Order sorted = order;
  std::ranges::stable_sort(sorted, {}, [&](std::int32_t v) { return key[at(v)]; });
  return sorted;
}

void QuickDecoder::accept() {
  std::swap(kept_, tried_);
  makespan_ = kept_.makespan;
  kept_assignment_ = assignment;
  sort_by_start();
  look_back();
}

/// With it few gaps are left to fill, and each device's sequence is that of the order. What is sorted is nearly sorted
/// already.
void QuickDecoder::sort_by_start() {
  for (std::int32_t i = 1; i < p_.nodes; ++i) {
    const std::int32_t node = order[at(i)];
    const double key = kept_.start[at(node)];
    std::int32_t to = i;
    for (; to > 0 && kept_.start[at(order[at(to - 1)])] > key; --to) order[at(to)] = order[at(to - 1)];
    order[at(to)] = node;
  }
  for (std::int32_t i = 0; i < p_.nodes; ++i) position[at(order[at(i)])] = i;
  auto& copies = kept_.copies;
  for (std::size_t i = 1; i < copies.size(); ++i) {
    const Copy copy = copies[i];
    std::size_t to = i;
    for (; to > 0 && copies[to - 1].start > copy.start; --to) copies[to] = copies[to - 1];
    copies[to] = copy;
  }
}

void QuickDecoder::look_around(std::int32_t node, std::span<double> ready, std::span<double> after) const {
  const std::size_t devices = at(p_.devices);
  std::fill_n(ready.begin(), devices, 0.0);
  std::fill_n(after.begin(), devices, 0.0);
  for (const Neighbour& input : p_.inputs[node]) {
    const std::size_t from = p_.pair(assignment[at(input.node)], 0);
    const double made = kept_.end[at(input.node)], bytes = static_cast<double>(input.bytes);
    for (std::size_t d = 0; d < devices; ++d)
      ready[d] = std::max(ready[d], made + p_.moves[from + d].microseconds(bytes));
  }
  for (const Neighbour& c : p_.consumers[node]) {
    const std::size_t to = p_.pair(assignment[at(c.node)], 0);
    const double rest = rest_[at(c.node)], bytes = static_cast<double>(c.bytes);
    for (std::size_t d = 0; d < devices; ++d)
      after[d] = std::max(after[d], rest + moves_to_[to + d].microseconds(bytes));
  }
}

void QuickDecoder::look_back() {
  std::fill(needed_.begin(), needed_.end(), 0.0);
  std::fill(next_.begin(), next_.end(), 0.0);
  std::fill(queue_sizes_.begin(), queue_sizes_.end(), 0);
  std::fill(loads_.begin(), loads_.end(), 0.0);
  for (std::int32_t i = 0; i < p_.nodes; ++i) {
    const int device = assignment[at(order[at(i)])];
    const std::size_t place = at(device) * at(p_.nodes) + queue_sizes_[at(device)]++;
    queues_[place] = order[at(i)];
    queue_ends_[place] = kept_.end[at(order[at(i)])];
    loads_[at(device)] += p_.us(order[at(i)], device);
  }
  queue_left_ = queue_sizes_;
  std::size_t copy = kept_.copies.size();
  const auto copies_from = [&](double time) {
    while (copy > 0 && kept_.copies[copy - 1].start >= time) {
      const Copy& c = kept_.copies[--copy];
      double& next = next_[at(c.lane)];
      next = std::max(needed_[p_.index(c.value, c.device)], next) + c.length;
      double& home = needed_[p_.index(c.value, assignment[at(c.value)])];
      home = std::max(home, next);
    }
  };
  for (std::int32_t i = p_.nodes - 1; i >= 0; --i) {
    const std::int32_t node = order[at(i)];
    copies_from(kept_.end[at(node)]);
    const int device = assignment[at(node)];
    double& next = next_[at(device)];
    const double rest = std::max(needed_[p_.index(node, device)], next) + p_.us(node, device);
    for (std::uint64_t others = p_.excludes[at(device)]; others; others &= others - 1) {
      double& other = next_[at(__builtin_ctzll(others))];
      other = std::max(other, rest);
    }
    next = rest;
    rest_[at(node)] = rest;
    queue_rests_[at(device) * at(p_.nodes) + --queue_left_[at(device)]] = rest;
    for (const Neighbour& input : p_.inputs[node]) {
      double& value = needed_[p_.index(input.node, device)];
      value = std::max(value, rest);
    }
  }
}

}  // namespace tandem::placer
