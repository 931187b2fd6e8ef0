// What the placer answers: a device for every node, the predicted timeline, and why.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/decision.h"
#include "tandem/place/machine.h"
#include "tandem/place/place_graph.h"

namespace tandem {

/// A device that was considered for a node.
struct PlaceCandidate {
  std::int32_t device = 0;
  double us = 0;         // launch + compute there; without meaning when refused
  std::string refusal;  // why it cannot run there; empty when it can
};

struct Placement {
  std::int32_t device = 0;  // index into Machine::devices
  double start_us = 0, finish_us = 0;
  ReasonCode reason = ReasonCode::only_device;
  std::string text;          // the reason as a sentence
  double launch_us = 0;      // the part of the time that is launch
  double transfer_us = 0;    // of the copies made for it first
  std::int64_t bytes_moved = 0;
  std::vector<PlaceCandidate> candidates;  // one per device of the machine
};

/// The output of a node on its way to another device.
struct PlaceCopy {
  std::int32_t node = 0;
  std::int32_t from = 0, to = 0;  // devices
  std::int64_t bytes = 0;
  double start_us = 0, finish_us = 0;
};

struct Schedule {
  std::vector<Placement> nodes;  // as in the graph
  std::vector<PlaceCopy> copies;  // by start
  double makespan_us = 0;
  bool optimal = false;  // proved: no schedule is shorter
};

/// Assigns every node so that the predicted end is earliest. Pure: same graph, machine and constraints, same schedule.
/// Throws invalid_argument for a graph that is none (a cycle, a negative cost), device_unavailable or no_kernel for
/// constraints that cannot be met, out_of_memory when nothing found fits.
Schedule place(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints = {});

/// What is wrong with a schedule, one sentence each: precedence, devices and links used twice at a time, memory.
/// Empty for a right one.
std::vector<std::string> validate(const Schedule& schedule, const PlaceGraph& graph, const Machine& machine);

}  // namespace tandem
