#include "tandem/autodiff/traced_body.h"

#include <algorithm>

#include "tandem/op/ops.h"

namespace tandem::control_flow {

void check_predicate(std::string_view op, const TensorSpec& predicate) {
  if (predicate.dtype() != DType::boolean || predicate.shape().elements() != 1)
    fail(ErrorCode::invalid_argument, op, ": the condition must be one bool, got ", predicate,
         "; compare it with a number");
}

Body::Body(const Specs& parameters, const std::function<void(const Tensors&)>& f) {
  Tensors arguments;
  for (const TensorSpec& spec : parameters) arguments.push_back(trace_.parameter(spec));
  f(arguments);
  trace_.stop();
}

void Body::finish(std::span<const Tensor> results) {
  graph = trace_.finish(results);
  captures = trace_.captures();
  captured_cells.resize(captures.size());
  for (const Trace::CellRead& read : trace_.cell_reads()) captured_cells[read.capture] = read.cell;
  writes = std::move(graph.writes);
  graph.writes.clear();
}

GraphValue Body::capture(const Tensor& outer) {
  const GraphValue value = graph.add({.op = &parameter_op, .outputs = {outer.spec()}});
  graph.parameters.push_back(value.node);
  captures.push_back(outer);
  captured_cells.emplace_back();
  return value;
}

void Body::take_cells(const std::vector<Ref<Cell>>& cells, std::size_t count) {
  const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<std::int32_t> taken;
  for (const Ref<Cell>& cell : cells) {
    const auto read = std::find(captured_cells.begin(), captured_cells.end(), cell);
    if (read == captured_cells.end()) {
      taken.push_back(graph.add({.op = &parameter_op, .outputs = {cell->spec()}}).node);
      continue;
    }
    const auto capture = static_cast<std::size_t>(read - captured_cells.begin());
    taken.push_back(graph.parameters[count + capture]);
    graph.parameters.erase(at(graph.parameters, count + capture));
    captures.erase(at(captures, capture));
    captured_cells.erase(read);
  }
  graph.parameters.insert(at(graph.parameters, count), taken.begin(), taken.end());
}

void Body::return_cells(const std::vector<Ref<Cell>>& cells, const std::function<GraphValue(std::size_t)>& before) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto found =
        std::find_if(writes.begin(), writes.end(), [&](const auto& write) { return write.cell == cells[i]; });
    graph.results.push_back(found != writes.end() ? found->value : before(i));
  }
}

std::vector<Ref<Cell>> written_by(std::initializer_list<const Body*> bodies) {
  std::vector<Ref<Cell>> cells;
  for (const Body* body : bodies)
    for (const Graph::Write& write : body->writes)
      if (std::find(cells.begin(), cells.end(), write.cell) == cells.end()) cells.push_back(write.cell);
  return cells;
}

void write_back(const std::vector<Ref<Cell>>& cells, Tensors& results) {
  const std::size_t kept = results.size() - cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) Trace::current()->write(cells[i], results[kept + i]);
  results.resize(kept);
}

Specs specs_of(const Graph& graph) {
  Specs specs;
  for (GraphValue result : graph.results) specs.push_back(graph.spec(result));
  return specs;
}

Specs specs_of(std::span<const Tensor> tensors) {
  Specs specs;
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

Specs floating(const Specs& specs) {
  Specs some;
  for (const TensorSpec& spec : specs)
    if (is_floating(spec.dtype())) some.push_back(spec);
  return some;
}

void append_output_gradients(GradContext& g, const Specs& outputs, Tensors& to) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_floating(outputs[i].dtype())) continue;
    to.push_back(g.output_grad(static_cast<int>(i)));
  }
}

Tensors spread(GradContext& g, const Tensors& gradients) {
  Tensors all(static_cast<std::size_t>(g.count()));
  std::size_t next = 0;
  for (int i = 0; i < g.count(); ++i)
    if (is_floating(g.input_spec(i).dtype())) all[static_cast<std::size_t>(i)] = gradients[next++];
  return all;
}

}  // namespace tandem::control_flow
