// Why a node is where it is: read off the finished schedule and the costs that were considered.
#pragma once
#include "tandem/place/problem.h"
#include "tandem/place/schedule.h"

namespace tandem::placer {

/// Fills reason, text, candidates, launch and transfer of every placement; devices, times and copies are there already.
void explain_placements(Schedule& schedule, const Problem& problem, const PlaceGraph& graph, const Machine& machine,
                        const Constraints& constraints);

}  // namespace tandem::placer
