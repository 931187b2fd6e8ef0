#include <algorithm>

#include "tandem/base/error.h"
#include "tandem/place/problem.h"
#include "tandem/place/reasons.h"
#include "tandem/place/schedule.h"
#include "tandem/place/solver.h"

namespace tandem {
namespace {

using namespace placer;

[[noreturn]] void fail_without_schedule(const Solution& solution, const PlaceGraph& graph, const Machine& machine) {
  const Shortage& shortage = solution.shortage;
  const char* proof = solution.optimal ? "no schedule" : "no schedule that was found";
  if (shortage.node < 0)
    fail(ErrorCode::device_unavailable, "place: ", proof,
         " lets every node reach its inputs over the links of the machine; "
         "add links, or free requests, so that nodes that share values can share a device");
  const auto node = static_cast<std::size_t>(shortage.node);
  const MachineDevice& device = machine.devices[shortage.device];
  fail(ErrorCode::out_of_memory, "place: ", proof, " fits the memory: nodes[", shortage.node, "] \"",
       graph.nodes[node].id, "\" with its output of ", graph.nodes[node].memory, " bytes does not fit ", device.name,
       " (", device.memory, " bytes) beside what is needed then: ", shortage.missing, " bytes are missing");
}

Schedule make_schedule(const Solution& solution) {
  Schedule schedule{.makespan_us = solution.makespan, .optimal = solution.optimal};
  for (std::size_t v = 0; v < solution.assignment.size(); ++v)
    schedule.nodes.push_back({.device = solution.assignment[v],
                              .start_us = solution.timeline.starts[v],
                              .finish_us = solution.timeline.ends[v]});
  for (const Copy& copy : solution.timeline.copies)
    schedule.copies.push_back({copy.node, copy.from, copy.to, copy.bytes, copy.start, copy.end});
  std::ranges::stable_sort(schedule.copies, {}, &PlaceCopy::start_us);
  return schedule;
}

}  // namespace

Schedule place(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints) {
  const Problem problem = make_problem(graph, machine, constraints);
  const Solution solution = solve(problem, {.thorough = constraints.thorough});
  if (solution.makespan == kNever) fail_without_schedule(solution, graph, machine);
  Schedule schedule = make_schedule(solution);
  explain_placements(schedule, problem, graph, machine, constraints);
  return schedule;
}

}  // namespace tandem
