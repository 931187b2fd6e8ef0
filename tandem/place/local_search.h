// Local search: small changes to a plan, tried where the timeline has no slack, for a bounded amount of work.
#pragma once
#include <cstdint>

#include "tandem/place/decoder.h"

namespace tandem::placer {

struct Plan {
  Order order;
  Assignment assignment;
  double makespan = kNever;
};

/// The latest start of every node that would not move the end, sequences of devices and links left as they are.
/// Reads the decoder's last timeline. Nodes without slack are what a shorter schedule must change.
void latest_starts(const Problem& problem, const Decoder& decoder, std::span<const std::uint8_t> assignment,
                   double makespan, std::vector<double>& latest);

/// Improves `plan`, never makes it worse. `work` is the number of node placements it may compute. The same arguments
/// give the same plan.
void improve(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed);

}  // namespace tandem::placer
