// Loops over datasets in traced functions. Elements may come in several shapes (the last batch is often smaller): the
// body is traced with the function for the shapes of the first element, and once more when others come.
#include <map>
#include <mutex>

#include "tandem/autodiff/traced_body.h"
#include "tandem/python/concrete.h"
#include "tandem/python/dataset_values.h"

namespace tandem::python {
namespace {

using namespace control_flow;

nb::list to_list(std::span<const Tensor> tensors) {
  nb::list out;
  for (const Tensor& tensor : tensors) out.append(to_object(tensor));
  return out;
}

/// Inputs: the values of the loop, of variables that it assigns, and what else its body reads.
struct DatasetLoop final : OpDef {
  std::shared_ptr<nb::object> begin;  // gives a function that gives the next element, a list of tensors, or None
  std::shared_ptr<nb::object> body;   // takes values and an element, gives values
  std::size_t stop;                   // the value that ends the loop when it is true
  Specs values;                       // of the loop
  std::vector<Ref<Cell>> cells;       // that the body assigns
  Tensors captures;
  std::vector<Ref<Cell>> captured_cells;

  /// Traces the body inside the current function.
  DatasetLoop(nb::object begin_with, nb::object python_body, std::size_t stop_value, const Specs& of_values,
              const Specs& element)
      : begin(shared(std::move(begin_with))),
        body(shared(std::move(python_body))),
        stop(stop_value),
        values(of_values) {
    if (Trace::current()->is_open())
      fail(ErrorCode::cannot_trace, "a loop over a dataset has a graph of its own, whose sizes cannot be left open");
    Specs parameters = values;
    parameters.insert(parameters.end(), element.begin(), element.end());
    Tensors next;
    Body traced(parameters, [&](const Tensors& p) { next = run_python(p); });
    check(next);
    traced.finish(next);
    cells = written_by({&traced});
    traced.take_cells(cells, parameters.size());
    traced.return_cells(cells, [](std::size_t) { return GraphValue{}; });  // all are written
    captures = traced.captures;
    captured_cells = traced.captured_cells;
    for (const Ref<Cell>& cell : cells) results_.push_back(cell->spec());
    results_.insert(results_.begin(), values.begin(), values.end());
    bodies_.emplace(element, GraphFunction::make(std::move(traced.graph), "dataset loop"));
    static_cast<OpDef&>(*this) = {
        .name = "dataset_loop",
        .doc = "A body, run for every element of a dataset.",
        .variadic = true,
        .outputs = static_cast<int>(results_.size()),
        .infer = [](const InferContext& c) { return static_cast<const DatasetLoop&>(c.op).results_; },
        .like = &effects_op,
        .execute = [](OpCall& call) { static_cast<const DatasetLoop&>(call.op).run(call); },
    };
  }

 private:
  struct Order {
    bool operator()(const Specs& a, const Specs& b) const { return join(a) < join(b); }
  };
  using Bodies = std::map<Specs, std::shared_ptr<const GraphFunction>, Order>;

  Specs results_;
  mutable std::mutex mutex_;
  mutable Bodies bodies_;

  Tensors run_python(std::span<const Tensor> parameters) const {
    return tensors_in(
        nb::object((*body)(to_list(parameters.first(values.size())), to_list(parameters.subspan(values.size()))))
            .ptr());
  }

  void check(const Tensors& next) const {
    if (const Specs after = specs_of(next); after != values)
      fail(ErrorCode::shape_mismatch, "a loop over a dataset: values must keep their dtypes and shapes; they begin as ",
           join(values), " and the body gives ", join(after));
  }

  void run(OpCall& call) const {
    const InitScope plain;
    Tensors state;
    for (std::size_t i = 0; i < results_.size(); ++i) state.push_back(*call.inputs[i]);
    const auto next = with_lock([&] { return shared((*begin)()); });
    while (!state[stop].item<bool>()) {
      const auto element = with_lock([&]() -> std::optional<Tensors> {
        const nb::object item = (*next)();
        return item.is_none() ? std::nullopt : std::optional(tensors_in(item.ptr()));
      });
      if (!element) break;
      std::vector<TensorRef> arguments(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(values.size()));
      arguments.insert(arguments.end(), element->begin(), element->end());
      for (std::size_t i = values.size(); i < results_.size(); ++i) arguments.emplace_back(state[i]);
      for (std::size_t i = results_.size(); i < call.inputs.size(); ++i) arguments.push_back(call.inputs[i]);
      Tensors made(results_.size());
      body_for(specs_of(*element))->run(call.requested, call.near, arguments, made);
      state = std::move(made);
    }
    std::move(state.begin(), state.end(), call.outputs.begin());
  }

  std::shared_ptr<const GraphFunction> body_for(const Specs& element) const {
    {
      std::lock_guard lock(mutex_);
      if (const auto found = bodies_.find(element); found != bodies_.end()) return found->second;
    }
    const auto made = with_lock([&] { return traced_again(element); });
    std::lock_guard lock(mutex_);
    return bodies_.emplace(element, made).first->second;
  }

  std::shared_ptr<const GraphFunction> traced_again(const Specs& element) const {
    Trace trace;
    Tensors parameters;
    for (const Specs* specs : {&values, &element})
      for (const TensorSpec& spec : *specs) parameters.push_back(trace.parameter(spec));
    for (const Ref<Cell>& cell : cells) trace.stand_in(cell);
    for (std::size_t i = 0; i < captures.size(); ++i) {
      if (captured_cells[i]) trace.stand_in(captured_cells[i], captures[i]);
      else trace.stand_in(captures[i]);
    }
    Tensors next = run_python(parameters);
    check(next);
    for (const Ref<Cell>& cell : cells) next.push_back(trace.read(cell));
    Graph graph = trace.finish(next);
    for (const Graph::Write& write : graph.writes)
      if (std::find(cells.begin(), cells.end(), write.cell) == cells.end())
        fail(ErrorCode::cannot_trace, "a loop over a dataset assigns variable '", write.cell->name(),
             "' only for some shapes of its elements");
    graph.writes.clear();
    return GraphFunction::make(std::move(graph), "dataset loop");
  }
};

nb::list dataset_loop(nb::object begin, nb::object body, std::size_t stop, nb::handle values, nb::handle element) {
  Tensors inputs = tensors_in(values.ptr());
  const auto op = std::make_shared<DatasetLoop>(std::move(begin), std::move(body), stop, specs_of(inputs),
                                                specs_of(tensors_in(element.ptr())));
  for (const Ref<Cell>& cell : op->cells) inputs.push_back(Trace::current()->read(cell));
  inputs.insert(inputs.end(), op->captures.begin(), op->captures.end());
  Tensors results = call_op(op, inputs);
  write_back(op->cells, results);
  return to_list(results);
}

}  // namespace

void add_dataset_loops(nb::module_& module) { module.def("dataset_loop", dataset_loop); }

}  // namespace tandem::python
