#include "tandem/python/concrete.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "tandem/autodiff/explain.h"
#include "tandem/autodiff/tape.h"
#include "tandem/exec/numerics.h"
#include "tandem/graph/trace.h"
#include "tandem/python/convert.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/run_op.h"

namespace tandem::python {
namespace {

const Attrs kNoAttrs{};

/// A list or tuple of `count` nested items; steals nothing.
template <class Item>
Object sequence(PyObject* (*make)(Py_ssize_t), int (*put)(PyObject*, Py_ssize_t, PyObject*), Py_ssize_t count,
                Item item) {
  Object out(checked(make(count)));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (put(out.get(), i, item(i)) != 0) throw PythonErrorSet{};
  return out;
}

Object nested_dict(PyObject* structure, std::span<Tensor> results) {
  Object out(checked(PyDict_New()));
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(structure, &at, &key, &value)) {
    const Object item(nest(value, results));
    if (PyDict_SetItem(out.get(), key, item.get()) != 0) throw PythonErrorSet{};
  }
  return out;
}

}  // namespace

PyObject* nest(PyObject* structure, std::span<Tensor> results) {
  if (PyLong_CheckExact(structure)) return wrap(results[PyLong_AsSize_t(structure)]);
  if (structure == Py_None) Py_RETURN_NONE;
  if (PyDict_Check(structure)) return nested_dict(structure, results).release();
  if (PyList_Check(structure))
    return sequence(PyList_New, PyList_SetItem, PyList_GET_SIZE(structure),
                    [&](Py_ssize_t i) { return nest(PyList_GET_ITEM(structure, i), results); })
        .release();
  Object items = sequence(PyTuple_New, PyTuple_SetItem, PyTuple_GET_SIZE(structure),
                          [&](Py_ssize_t i) { return nest(PyTuple_GET_ITEM(structure, i), results); });
  if (PyTuple_CheckExact(structure)) return items.release();
  return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(Py_TYPE(structure)), items.get()));  // a namedtuple
}

Tensors tensors_in(PyObject* list) {
  const Object items(checked(PySequence_Fast(list, "expected a list of tensors")));
  Tensors out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    out.push_back(to_tensor(PySequence_Fast_GET_ITEM(items.get(), i)));
  return out;
}

bool takes_long(const GraphFunction& function) {
  if (function.like == &effects_op)
    return true;  // Python called from it must not wait for the lock that its caller holds
  const auto has_parts = [](const Node& node) {
    return node.owner != nullptr;
  };  // loops, of which nobody knows how long they take
  return std::ranges::any_of(function.graph().nodes, has_parts) || takes_long(function.graph().work());
}

PyObject* run_concrete(const std::shared_ptr<const GraphFunction>& function, std::span<const TensorRef> arguments,
                       PyObject* structure, bool takes_long) {
  constexpr std::size_t kInline = 8;
  if (takes_long || GradientTape::any_recording() || function->graph().results.size() > kInline) {
    Tensors inputs, results;
    for (const TensorRef& argument : arguments) inputs.push_back(*argument);  // a list may change without the lock
    {
      const WithoutGil without;
      results = (*function)(inputs);
    }
    return nest(structure, results);
  }
  std::array<Tensor, kInline> results;
  const std::shared_ptr<const OpDef> owner = function;
  OpCall call{.op = *function,
              .inputs = arguments,
              .attrs = kNoAttrs,
              .outputs = {results.data(), function->graph().results.size()},
              .owner = &owner};
  DispatchStack::top().run(call);
  return nest(structure, results);
}

namespace {

nb::list specs_of(const Graph& graph, bool inputs) {
  nb::list out;
  const auto add = [&](const TensorSpec& spec) {
    out.append(nb::make_tuple(nb::steal(shape_object(spec.shape())), nb::steal(dtype_object(spec.dtype()))));
  };
  if (inputs)
    for (std::int32_t node : graph.parameters) add(graph.nodes[static_cast<std::size_t>(node)].outputs[0]);
  else
    for (GraphValue result : graph.results) add(graph.spec(result));
  return out;
}

const Graph& graph_of(const Concrete& concrete, bool optimized) {
  return optimized ? concrete.function->optimized() : concrete.function->graph();
}

nb::object call(const Concrete& concrete, nb::handle list) {
  const Tensors arguments = tensors_in(list.ptr());
  const std::vector<TensorRef> refs(arguments.begin(), arguments.end());
  return nb::steal(run_concrete(concrete.function, refs, concrete.structure.get(), takes_long(*concrete.function)));
}

std::vector<std::string> decisions(const Concrete& concrete) {
  std::vector<std::string> out;
  for (const Decision* decision : concrete.function->plan(nullptr)->decisions()) out.push_back(decision->text());
  return out;
}

/// As JSON, text, DOT and placement lock.
nb::tuple explain_concrete(const Concrete& concrete, nb::handle list, const std::optional<std::string>& machine,
                           const std::string& source) {
  const Tensors arguments = tensors_in(list.ptr());
  const std::vector<TensorRef> refs(arguments.begin(), arguments.end());
  ExplainOptions options;
  if (machine) options.machine = parse_machine(*machine, source);
  Explanation e;
  {
    const WithoutGil without;
    e = explain(*concrete.function, refs, options);
  }
  return nb::make_tuple(e.to_json(), e.to_text(), e.to_dot(),
                        to_json(PlacementLock{.functions = {locked(*concrete.function, e)}}));
}

/// Runs `body` op by op and says of its ops why they ran as they did: JSON, text and DOT. Variables and random numbers
/// are afterwards what they were before.
nb::tuple explain_run(nb::callable body, const std::optional<std::string>& machine, const std::string& source) {
  ExplainOptions options;
  if (machine) options.machine = parse_machine(*machine, source);
  RunNotes notes;
  body();
  Explanation e;
  {
    const WithoutGil without;
    notes.stop();
    e = explain(notes, options);
  }
  return nb::make_tuple(e.to_json(), e.to_text(), e.to_dot());
}

}  // namespace

void add_traced_functions(nb::module_& module) {
  nb::class_<Concrete>(module, "Concrete")
      .def("call", call)
      .def("text", [](const Concrete& c, bool optimized) { return graph_of(c, optimized).to_string(); })
      .def("dot", [](const Concrete& c, bool optimized) { return graph_of(c, optimized).to_dot(); })
      .def("op_count", [](const Concrete& c, bool optimized) { return graph_of(c, optimized).op_count(); })
      .def("inputs", [](const Concrete& c) { return specs_of(c.function->graph(), true); })
      .def("outputs", [](const Concrete& c) { return specs_of(c.function->graph(), false); })
      .def("structure", [](const Concrete& c) { return nb::borrow(c.structure.get()); })
      .def("decisions", decisions)
      .def("explain", explain_concrete, nb::arg("arguments"), nb::arg("machine").none(), nb::arg("source"));
  module.def("explain_run", explain_run, nb::arg("body"), nb::arg("machine").none(), nb::arg("source"));
  module.def("run_functions_eagerly", [](bool on) { run_functions_eagerly(on); });
  module.def("functions_run_eagerly", [] { return functions_run_eagerly(); });
  module.def("executing_eagerly", [] { return Trace::current() == nullptr; });
  module.def("symbolic", [](nb::handle shape, nb::handle dtype) {
    std::vector<std::int64_t> sizes;
    append_ints(shape.ptr(), sizes);
    return to_object(Tensor::symbolic({to_dtype(dtype.ptr()), Shape(std::span<const std::int64_t>(sizes))}));
  });
  module.def("is_symbolic",
             [](nb::handle value) { return is_tensor(value.ptr()) && tensor_of(value.ptr()).is_symbolic(); });
  module.def("is_numpy", [](nb::handle value) { return is_numpy(value.ptr()); }, nb::arg("value").none());
  module.def("variable_id", [](nb::handle value) { return variable_of(value.ptr()).id(); });
  module.def("check_numerics", [](bool on) { set_check_numerics(on); });
}

}  // namespace tandem::python
