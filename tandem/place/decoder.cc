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
  if (problem_.any_limited) count_readers(assignment);
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
  if (!problem_.limited[at(device)]) return ready;
  const MemoryProfile& profile = profiles_[at(device)];
  const std::int64_t bytes = problem_.memory[at(node)], capacity = problem_.capacity[at(device)];
  const double from = profile.earliest(ready, bytes, capacity);
  if (from == kNever)
    shortage_ = {node, static_cast<std::uint8_t>(device), profile.at_end() - (capacity - bytes)};
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
  copies_.push_back({node, static_cast<std::uint8_t>(home), static_cast<std::uint8_t>(device), bytes, start, start + length});
  if (problem_.any_limited) {
    if (problem_.limited[at(device)]) profiles_[at(device)].add(start, problem_.memory[at(node)]);
    read_done(node, home, start + length);
  }
  return arrival_[there] = start + length;
}

void Decoder::release_inputs(int node, int device, std::span<const std::uint8_t>) {
  for (const Neighbour& input : problem_.inputs[node]) read_done(input.node, device, end_[at(node)]);
}

double Decoder::run(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment, double bound) {
  reset(assignment);
  double makespan = 0;
  for (const std::int32_t node : order) {
    ++work_;
    const int device = assignment[at(node)];
    double ready = 0;
    for (const Neighbour& input : problem_.inputs[node]) ready = std::max(ready, arrive(input.node, device, assignment));
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
    if (problem_.any_limited) {
      if (problem_.limited[at(device)]) profiles_[at(device)].add(start, problem_.memory[at(node)]);
      release_inputs(node, device, assignment);
    }
  }
  return makespan;
}

}  // namespace tandem::placer
