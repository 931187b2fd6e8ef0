// The optimum of a small graph: branch and bound over assignments, then over the orders of each.
#pragma once
#include <cstdint>
#include <optional>

#include "tandem/place/sequencer.h"

namespace tandem::placer {

struct Exact {
  bool complete = false;              // everything was searched or excluded
  std::optional<Timeline> timeline;   // one that ends before the limit; none when there is none, or none was found
  Assignment assignment;
  double makespan = kNever;
};

/// Looks for a schedule that ends before `limit`; `steps` is what it may spend.
Exact search_exactly(const Problem& problem, double limit, std::int64_t steps);

}  // namespace tandem::placer
