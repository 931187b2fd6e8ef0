// Simulated annealing on a plan: small changes, tried where the timeline has no slack, for a bounded amount of work.
#pragma once
#include <cstdint>

#include "tandem/place/latest_starts.h"

namespace tandem::placer {

struct Cooling {
  double first = 0.03,
         last = 0.0005;  // how much longer than the present plan a step may be, in its makespans, on average
};

/// Improves `plan`, never makes it worse. `work` is the number of node placements it may compute. The same arguments
/// give the same plan. Where memory is short, plans that exceed it are paid for while searching; only what the decoder
/// fits into it is kept. `beyond` is such a plan, what it pays in its makespan: where to start, unless it is empty, and
/// then where the search ended.
void anneal(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed,
            const Cooling& cooling = {}, Plan* beyond = nullptr);

}  // namespace tandem::placer
