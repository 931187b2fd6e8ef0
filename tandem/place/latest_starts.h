// How late every node of a plan could start without moving the end.
#pragma once
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

}  // namespace tandem::placer
