// How often a loop turns, where its graphs say so: what the placer reckons with.
#pragma once
#include <optional>

#include "tandem/graph/graph.h"

namespace tandem {

/// Of a loop whose condition compares a value with a constant, as in `i < 1000`, and whose body adds a constant to that
/// value: the turns if it begins with 0, which no graph says. Both graphs have the values as their first parameters.
std::optional<double> counted_turns(const Graph& condition, const Graph& body);

}  // namespace tandem
