// A function traced inside another: a branch, the body of a loop, a gradient given by hand.
#pragma once
#include <functional>

#include "tandem/graph/graph.h"

namespace tandem {

struct Body {
  Graph graph;                       // its last parameters are what it captured
  Tensors captures;
  std::vector<Graph::Write> writes;  // taken out of the graph
};

Body trace_body(const Specs& parameters, const std::function<Tensors(const Tensors&)>& f);

}  // namespace tandem
