// Control flow of traced functions.
#include "tandem/autodiff/control_flow.h"

#include "tandem/graph/trace.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/dataset_values.h"

namespace tandem::python {
namespace {

nb::list to_list(const Tensors& tensors) {
  nb::list out;
  for (const Tensor& tensor : tensors) out.append(to_object(tensor));
  return out;
}

std::function<Tensors(const Tensors&)> body_of(nb::object callable) {
  return
      [callable = std::move(callable)](const Tensors& values) { return tensors_in(callable(to_list(values)).ptr()); };
}

/// `results` gives two lists when both branches have been traced.
nb::list py_cond(nb::handle predicate, nb::object if_true, nb::object if_false, nb::object results) {
  const auto both = [&]() -> std::pair<Tensors, Tensors> {
    const nb::object pair = results();
    return {tensors_in(nb::object(pair[0]).ptr()), tensors_in(nb::object(pair[1]).ptr())};
  };
  return to_list(traced_cond(to_tensor(predicate.ptr()), [&] { if_true(); }, [&] { if_false(); }, both));
}

nb::list py_while(nb::object condition, nb::object body, nb::handle values, std::int64_t most) {
  const auto test = [&](const Tensors& v) { return to_tensor(nb::object(condition(to_list(v))).ptr()); };
  return to_list(while_loop(test, body_of(body), tensors_in(values.ptr()), {.maximum_iterations = most}));
}

/// Traces `body` on tensors like `values` and forgets the trace: for what can be learnt of the results.
nb::object probe(nb::object body, nb::handle values) {
  Trace trace;
  nb::list arguments;
  for (const Tensor& value : tensors_in(values.ptr())) arguments.append(to_object(trace.parameter(value.spec())));
  return body(arguments);
}

/// with init_scope(): ops run at once, outside traces and tapes.
struct PyInitScope {
  std::unique_ptr<InitScope> scope;
};

}  // namespace

void add_control_flow(nb::module_& module) {
  set_interruption([] {
    with_lock([] {
      if (PyErr_CheckSignals() != 0) throw PythonErrorSet{};
    });
  });
  module.def("traced_cond", py_cond);
  module.def("while_loop", py_while);
  module.def("probe", probe);
  nb::class_<PyInitScope>(module, "InitScope")
      .def(nb::init<>())
      .def("enter", [](PyInitScope& self) { self.scope = std::make_unique<InitScope>(); })
      .def("exit", [](PyInitScope& self) { self.scope.reset(); });
}

}  // namespace tandem::python
