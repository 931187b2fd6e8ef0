// Whether one device alone would do a step sooner than all of a strategy's: predicted when a step is planned, or
// measured.
#pragma once
#include <string>
#include <vector>

#include "tandem/exec/graph_placement.h"
#include "tandem/graph/graph.h"

namespace tandem {

/// One line with both figures. `takes`: "a step takes".
std::string slower_line(const std::string& takes, double together_s, const std::vector<std::string>& devices,
                        double alone_s, const std::string& best);

/// The line for a graph of replicas, each of whose ops asks for the device of its replica, by the figures of the
/// machine; empty where no device alone should be faster, or where the fastest was seen to take far longer alone than
/// is predicted (0: none was timed): then it is said when they have been timed together.
std::string predicted_slower(const Graph& graph, double together_us, const std::vector<std::string>& devices,
                             double seen_alone_s = 0);

/// Tells people once a process for the same devices; nothing for an empty line.
void tell_slower(const std::vector<std::string>& devices, const std::string& line);

/// From now on the line is told when a step that replaces variables is planned, whoever has traced it: fit or a loop of
/// one's own.
void foresee_steps();

}  // namespace tandem
