// Assignments that share out the work and cut few edges, order and time left aside: starts for a search where crossings
// are dear.
#pragma once
#include <cstdint>

#include "tandem/place/decoder.h"

namespace tandem::placer {

struct Partitioning {
  std::int64_t work = 0;  // how much may be tried, in nodes decoded
  double crossing_weight = 0;  // what all crossings together count, beside the load of the busiest devices and links
};

/// Improves an assignment by annealing on loads and crossings alone: a change is judged in the time of a few edges, not
/// of a decoding.
void partition(const Problem& problem, Assignment& assignment, const Partitioning& wanted, std::uint64_t seed);

/// Nodes by the time that has to follow them, with this assignment.
Order order_of(const Problem& problem, const Assignment& assignment);

}  // namespace tandem::placer
