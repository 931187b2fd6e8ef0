// From a problem to the best timeline found: candidates, local search, and an exact search where the graph is small.
#pragma once
#include <cstdint>

#include "tandem/place/sequencer.h"

namespace tandem::placer {

/// How much work the searches may do.
struct Effort {
  std::int64_t local_work = -1;   // node placements of the local search; -1: by the size of the graph
  bool thorough = false;          // and then many times that, in graphs of up to a thousand nodes
  std::int64_t exact_steps = -1;  // of the exact search; -1: by the size of the graph
};

struct Solution {
  Assignment assignment;
  Timeline timeline;
  double makespan = kNever;
  bool optimal = false;
  Shortage shortage;  // when nothing fits: the least that was missing
};

/// Its makespan is kNever when nothing was found that links and memory allow.
Solution solve(const Problem& problem, const Effort& effort = {});

/// Plain HEFT: upward rank, earliest finish, insertion, nothing else. What the rest is measured against.
double plain_heft(const Problem& problem);
/// The best schedule that keeps to one device wherever it can.
double best_single_device(const Problem& problem);

}  // namespace tandem::placer
