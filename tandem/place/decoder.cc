#include "tandem/place/decoder.h"

#include <algorithm>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Decoder::Decoder(const Problem& problem) : problem_(problem) {
  const auto nodes = at(problem.nodes), devices = at(problem.devices);
  device_lanes_.resize(devices);
  link_lanes_.resize(devices * devices);
  profiles_.resize(devices);
  start_.resize(nodes);
  end_.resize(nodes);
  arrival_.resize(nodes * devices);
  if (problem.any_limited) {
    readers_.resize(nodes * devices);
    last_read_.resize(nodes * devices);
  }
}

void Decoder::reset(std::span<const std::uint8_t> assignment) {
  for (Lane& lane : device_lanes_) lane.clear();
  for (Lane& lane : link_lanes_) lane.clear();
  std::fill(arrival_.begin(), arrival_.end(), -1.0);
  copies_.clear();
  shortage_ = {};
  if (waits_) count_readers(assignment);
}

/// At home a value is read by its consumers there and by one copy per other device that needs it.
void Decoder::count_readers(std::span<const std::uint8_t> assignment) {
  for (MemoryProfile& profile : profiles_) profile.clear();
  std::fill(readers_.begin(), readers_.end(), 0);
  std::fill(last_read_.begin(), last_read_.end(), 0.0);
  for (int node = 0; node < problem_.nodes; ++node) {
    const int home = assignment[at(node)];
    for (const Neighbour& consumer : problem_.consumers[node]) {
      const int device = assignment[at(consumer.node)];
      const auto there = problem_.index(node, device);
      if (device != home && readers_[there] == 0) ++readers_[problem_.index(node, home)];
      ++readers_[there];
    }
  }
}

double Decoder::fits_from(int node, int device, double ready) {
  if (!waits_ || !problem_.limited[at(device)]) return ready;
  const MemoryProfile& profile = profiles_[at(device)];
  const std::int64_t bytes = problem_.memory[at(node)], capacity = problem_.capacity[at(device)];
  const double from = profile.earliest(ready, bytes, capacity);
  if (from == kNever) shortage_ = {node, static_cast<std::uint8_t>(device), profile.at_end() - (capacity - bytes)};
  return from;
}

void Decoder::read_done(int value, int device, double time) {
  const auto there = problem_.index(value, device);
  last_read_[there] = std::max(last_read_[there], time);
  if (--readers_[there] == 0 && problem_.limited[at(device)])
    profiles_[at(device)].add(last_read_[there], -problem_.memory[at(value)]);
}

/// The time at which `node`'s output is on `device`, copying it if need be.
double Decoder::arrive(int node, int device, std::span<const std::uint8_t> assignment) {
  const auto there = problem_.index(node, device);
  if (arrival_[there] >= 0) return arrival_[there];
  const int home = assignment[at(node)];
  if (!problem_.linked(home, device)) return kNever;
  const std::int64_t bytes = problem_.crossing_bytes(node, device, assignment);
  const double length = problem_.crossing(home, device, bytes);
  const double ready = fits_from(node, device, end_[at(node)]);
  if (ready == kNever) return kNever;
  Lane& lane = link_lanes_[problem_.pair(home, device)];
  const double start = lane.find(ready, length);
  lane.take(start, start + length);
  copies_.push_back(
      {node, static_cast<std::uint8_t>(home), static_cast<std::uint8_t>(device), bytes, start, start + length});
  if (waits_) {
    if (problem_.limited[at(device)]) profiles_[at(device)].add(start, problem_.memory[at(node)]);
    read_done(node, home, start + length);
  }
  return arrival_[there] = start + length;
}

void Decoder::release_inputs(int node, int device, std::span<const std::uint8_t>) {
  for (const Neighbour& input : problem_.inputs[node]) read_done(input.node, device, end_[at(node)]);
}

/// While an order is carried out, values with readers to come count as staying for ever, and what would fit may wait
/// for them: so it is looked first whether all fits if nothing waits.
double Decoder::run(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment, double bound) {
  waits_ = false;
  const double makespan = decode(order, assignment, bound);
  if (!problem_.any_limited || makespan == kNever || fits_memory(assignment)) return makespan;
  waits_ = true;
  return decode(order, assignment, bound);
}

bool Decoder::fits_without_waiting(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment) {
  waits_ = false;
  return decode(order, assignment, kNever) != kNever && fits_memory(assignment);
}

/// Until when each value is read on each device, by its consumers there and by copies from there.
void Decoder::note_reads(std::span<const std::uint8_t> assignment) {
  std::fill(last_read_.begin(), last_read_.end(), 0.0);
  const auto note = [&](int value, int device, double time) {
    double& last = last_read_[problem_.index(value, device)];
    last = std::max(last, time);
  };
  for (int node = 0; node < problem_.nodes; ++node)
    for (const Neighbour& input : problem_.inputs[node]) note(input.node, assignment[at(node)], end_[at(node)]);
  for (const Copy& copy : copies_) note(copy.node, copy.from, copy.end);
}

/// What was decoded last, with nothing waiting.
bool Decoder::fits_memory(std::span<const std::uint8_t> assignment) {
  note_reads(assignment);
  for (int device = 0; device < problem_.devices; ++device) {
    if (!problem_.limited[at(device)]) continue;
    double taken = 0;  // bytes; hostile ones add up to more than an integer holds
    changes_.clear();
    const auto hold = [&](int value, double from, bool for_ever) {
      const std::int64_t bytes = problem_.memory[at(value)];
      changes_.push_back({from, bytes});
      if (!for_ever) changes_.push_back({last_read_[problem_.index(value, device)], -bytes});
    };
    for (int node = 0; node < problem_.nodes; ++node)
      if (assignment[at(node)] == device) hold(node, start_[at(node)], problem_.consumers[node].empty());
    for (const Copy& copy : copies_)
      if (copy.to == device) hold(copy.node, copy.start, false);
    // What is let go at a time makes room for what begins then.
    std::ranges::sort(changes_, [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    for (const Change& change : changes_)
      if ((taken += static_cast<double>(change.bytes)) > static_cast<double>(problem_.capacity[at(device)]))
        return false;
  }
  return true;
}

double Decoder::decode(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment, double bound) {
  reset(assignment);
  double makespan = 0;
  for (const std::int32_t node : order) {
    ++work_;
    const int device = assignment[at(node)];
    double ready = 0;
    for (const Neighbour& input : problem_.inputs[node])
      ready = std::max(ready, arrive(input.node, device, assignment));
    const double length = problem_.us(node, device), after = problem_.after(node, device);
    if (ready + length + after >= bound) return kNever;
    ready = fits_from(node, device, ready);
    if (ready == kNever) return kNever;
    const double start = device_lanes_[at(device)].find(ready, length), end = start + length;
    if (end + after >= bound) return kNever;

    device_lanes_[at(device)].take(start, end);
    for (std::uint64_t others = problem_.excludes[at(device)]; others; others &= others - 1)
      device_lanes_[at(__builtin_ctzll(others))].take(start, end);
    start_[at(node)] = start;
    end_[at(node)] = arrival_[problem_.index(node, device)] = end;
    makespan = std::max(makespan, end);
    if (waits_) {
      if (problem_.limited[at(device)]) profiles_[at(device)].add(start, problem_.memory[at(node)]);
      release_inputs(node, device, assignment);
    }
  }
  return makespan;
}

}  // namespace tandem::placer
