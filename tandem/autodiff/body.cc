#include "tandem/autodiff/body.h"

#include "tandem/graph/trace.h"

namespace tandem {

Body trace_body(const Specs& parameters, const std::function<Tensors(const Tensors&)>& f) {
  Trace trace;
  Tensors arguments;
  for (const TensorSpec& spec : parameters) arguments.push_back(trace.parameter(spec));
  Body body{.graph = trace.finish(f(arguments)), .captures = trace.captures(), .writes = {}};
  body.writes = std::move(body.graph.writes);
  body.graph.writes.clear();
  return body;
}

}  // namespace tandem
