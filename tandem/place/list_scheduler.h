// List scheduling: nodes in a given order, each to the device where it finishes first.
#pragma once
#include <cstdint>
#include <optional>

#include "tandem/place/decoder.h"

namespace tandem::placer {

/// By upward rank, largest first: plain HEFT's order.
Order rank_order(const Problem& problem);
/// As little memory as a greedy choice needs: what frees most and adds least comes first.
Order light_order(const Problem& problem);

struct ListRule {
  std::uint64_t devices = ~std::uint64_t{0};  // those it may choose from, where a node can
  bool look_ahead = false;                    // count the least time of what follows as well
  double thrift = 0;                          // how often what it costs more than at its cheapest counts once more
  std::span<const double> after = {};         // [node, device]: the time that follows it instead, with look_ahead
};

/// The devices chosen, or nothing when links or memory led into a dead end.
std::optional<Assignment> list_schedule(const Problem& problem, const Order& order, const ListRule& rule);

/// Some assignment that the links allow, found by search with a bounded number of steps.
std::optional<Assignment> any_assignment(const Problem& problem);

}  // namespace tandem::placer
