// The placement lock of the process: the file that set_placement_lock or TANDEM_PLACEMENT_LOCK names.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/graph/graph.h"
#include "tandem/place/lock.h"

namespace tandem {

/// The graph with the devices that the lock says; nothing when there is no lock, or none for this graph. What the
/// placer would do otherwise now is said once, as a warning, and kept for placement_drift.
std::optional<Graph> locked_graph(const Graph& graph, std::string_view name);

namespace config {

/// The file to use from now on; "": none. Throws file_error, or bad_file with the place.
void set_placement_lock(const std::string& path);
/// "" when there is none.
std::string get_placement_lock();
/// What was found to differ from the lock so far, a sentence each.
std::vector<std::string> placement_drift();

}  // namespace config
}  // namespace tandem
