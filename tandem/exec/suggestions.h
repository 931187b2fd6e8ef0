// What would make a step shorter: remedies, each with what the placer predicts it to gain.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tandem/exec/graph_placement.h"

namespace tandem {

struct Suggestion {
  enum class Kind { placement, cast, input };
  Kind kind;
  std::string text;    // "cast to float32: 12 ops move to /GPU:0"
  double gain_us = 0;  // of a step
  Explanation then;    // the plan with it; one of kind placement can be locked
};

/// The remedies that gain at least a hundredth of a step, the best first. Each is the whole graph placed anew: without
/// what scopes ask for, in float32 instead of float64, with an argument where it is needed.
std::vector<Suggestion> suggest(const Graph& graph, const GraphSetting& setting);

}  // namespace tandem
