// Simulated annealing on a plan: small changes, tried where the timeline has no slack, for a bounded amount of work.
#pragma once
#include <cstdint>

#include "tandem/place/local_search.h"

namespace tandem::placer {

struct Cooling {
  double first = 0.03, last = 0.0005;  // how much longer than the present plan a step may be, in its makespans, on average
};

/// As improve(), and faster, but it does not count memory: where that is short, what it finds may have to be dropped.
void anneal(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed, const Cooling& cooling = {});

}  // namespace tandem::placer
