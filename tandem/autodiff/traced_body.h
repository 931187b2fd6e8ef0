// Functions traced inside another one (a branch, the body of a loop, a gradient given by hand), and gradients of their
// floating values.
#pragma once
#include <functional>

#include "tandem/autodiff/gradient_graph.h"
#include "tandem/graph/trace.h"
#include "tandem/op/grad.h"

namespace tandem::control_flow {

/// Throws unless `predicate` is one bool.
void check_predicate(std::string_view op, const TensorSpec& predicate);

/// A function traced inside another: what it captured comes after its parameters.
class Body {
 public:
  Body(const Specs& parameters, const std::function<void(const Tensors&)>& f);
  /// The results may be given later than they are computed, though only once.
  void finish(std::span<const Tensor> results);

  Graph graph;
  Tensors captures;
  std::vector<Ref<Cell>> captured_cells;  // by capture: the variable that was read, or null
  std::vector<Graph::Write> writes;  // taken out of the graph

  /// Makes the values of `cells` the next parameters after the first `count` ones, whether they were read here or not.
  void take_cells(const std::vector<Ref<Cell>>& cells, std::size_t count);
  /// Adds what `cells` hold at the end to the results; those not written hold what `before` gives for their number.
  void return_cells(const std::vector<Ref<Cell>>& cells, const std::function<GraphValue(std::size_t)>& before);
  /// A further parameter, for a tensor of the enclosing trace.
  GraphValue capture(const Tensor& outer);

 private:
  Trace trace_;
};

/// All variables that one of the bodies writes.
std::vector<Ref<Cell>> written_by(std::initializer_list<const Body*> bodies);
/// The last results are the new values of `cells`: given to the enclosing trace and taken off.
void write_back(const std::vector<Ref<Cell>>& cells, Tensors& results);

/// Kernels of a graph, one after the other.
inline double kernels_of(const GraphFunction& function) { return static_cast<double>(function.graph().op_count()); }

Specs specs_of(const Graph& graph);
Specs specs_of(std::span<const Tensor> tensors);
/// The floating ones.
Specs floating(const Specs& specs);
/// A gradient for each floating output; zeros where nobody gave one.
void append_output_gradients(GradContext& g, const Specs& outputs, Tensors& to);
/// Gradients of the floating inputs, put back in the places of all inputs.
Tensors spread(GradContext& g, const Tensors& gradients);

}  // namespace tandem::control_flow
