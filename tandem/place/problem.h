// A graph, a machine and constraints as dense arrays: what the searches work on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/place/schedule.h"

namespace tandem::placer {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Neighbour {
  std::int32_t node = 0;
  std::int64_t bytes = 0;
};

/// Compressed adjacency: the neighbours of node v are list[begin[v]..begin[v+1]).
struct Adjacency {
  std::vector<std::int32_t> begin;
  std::vector<Neighbour> list;
  std::span<const Neighbour> operator[](int node) const {
    const auto v = static_cast<std::size_t>(node);
    return {list.data() + begin[v], list.data() + begin[v + 1]};
  }
};

/// Why a device may not run a node.
enum class Refusal : std::uint8_t { none, no_kernel, not_visible, not_requested, memory, no_link, host_value };

struct Problem {
  int nodes = 0, devices = 0;
  std::vector<double> cost;                // [node, device] in µs; kNever where it may not run
  std::vector<double> launch;              // [node, device]: the part of cost that is launch
  Adjacency inputs, consumers;             // an edge given twice counts once, with the larger bytes
  std::vector<std::int64_t> memory;        // [node] bytes of the output
  std::vector<std::int64_t> capacity;      // [device]
  std::vector<char> limited;               // [device]: all outputs together do not fit it
  bool any_limited = false;
  std::vector<MoveTime<double>> moves;  // [from, to]; 0 from a device to itself, a latency of kNever without a link
  bool all_linked = true;
  std::vector<std::uint64_t> excludes;  // [device] mask of those it shares cores with, itself not among them
  std::vector<std::int32_t> group;  // [node]: nodes of one group share a device
  std::vector<std::vector<std::int32_t>> members;  // [group]
  std::vector<std::int32_t> topological;  // inputs first; by id where free
  std::vector<std::uint64_t> allowed;  // [node] mask of devices; links and groups already taken into account
  std::vector<Refusal> refusal;  // [node, device]
  std::vector<std::optional<ReasonCode>> gave_way;  // [node]: why a soft request was not met
  std::vector<double> tail;  // [node, device]: least time from its end there to the end of all after it
  std::vector<double> rank;  // [node]: upward rank, mean costs
  double bound = 0;  // no schedule is shorter

  double us(int node, int device) const { return cost[index(node, device)]; }
  double after(int node, int device) const { return tail[index(node, device)]; }
  bool may(int node, int device) const { return allowed[static_cast<std::size_t>(node)] >> device & 1; }
  std::size_t pair(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(devices) + static_cast<std::size_t>(to);
  }
  bool linked(int from, int to) const { return moves[pair(from, to)].latency_us != kNever; }
  double crossing(int from, int to, std::int64_t bytes) const {
    return moves[pair(from, to)].microseconds(static_cast<double>(bytes));
  }
  /// [node, device] in the flat arrays.
  std::size_t index(int node, int device) const { return pair(node, device); }
  /// What the copy of `node` to `device` has to carry for its consumers there.
  std::int64_t crossing_bytes(int node, int device, std::span<const std::uint8_t> assignment) const {
    std::int64_t most = 0;
    for (const Neighbour& c : consumers[node])
      if (assignment[static_cast<std::size_t>(c.node)] == device) most = std::max(most, c.bytes);
    return most;
  }
};

/// What a crossing takes in the mean of all links.
MoveTime<double> mean_crossing(const Problem& problem);

/// Checks everything a caller may have got wrong; throws Error.
Problem make_problem(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints);

/// Takes devices from the masks of groups that leave a neighbour nothing it could be linked with.
class LinkPruner {
 public:
  explicit LinkPruner(const Problem& problem);
  struct Change {
    std::int32_t group;
    std::uint64_t before;
  };
  /// What follows from the mask of `changed`, or from all with -1. The group of an edge that cannot be satisfied, or
  /// -1 when all is well. What was changed is appended to `trail`.
  int run(std::vector<std::uint64_t>& masks, int changed, std::vector<Change>* trail = nullptr);
  /// Takes back the changes from the trail's place `from` on.
  static void undo(std::vector<std::uint64_t>& masks, std::vector<Change>& trail, std::size_t from);

 private:
  void enqueue(std::int32_t group);
  bool narrow(std::vector<std::uint64_t>& masks, std::int32_t group, std::uint64_t kept, std::vector<Change>* trail);
  int spread(std::vector<std::uint64_t>& masks, std::int32_t group, std::vector<Change>* trail);

  const Problem& problem_;
  std::vector<std::uint64_t> onward_, backward_;  // [device] mask of those a link leads to, or comes from
  std::vector<std::int32_t> work_;
  std::vector<char> queued_;  // [group]
};

}  // namespace tandem::placer
