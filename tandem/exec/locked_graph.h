// A graph under a placement lock: every op asks for the device that the lock says.
#pragma once
#include "tandem/graph/graph.h"
#include "tandem/place/lock.h"

namespace tandem {

/// A copy in which the ops that `function` lists ask for their device, whatever scope they were traced in. Throws
/// invalid_argument naming the op when the lock is of another graph.
Graph with_lock(const Graph& graph, const LockedFunction& function);
/// A copy in which no op asks for a device.
Graph without_requests(const Graph& graph);

}  // namespace tandem
