// The gradient tape; the package wraps it in TensorFlow's GradientTape.
#include "tandem/autodiff/tape.h"

#include "tandem/autodiff/custom_gradient.h"
#include "tandem/autodiff/row_notes.h"
#include "tandem/python/module.h"
#include "tandem/python/tensor_lists.h"

namespace tandem::python {
namespace {

Unconnected unconnected(bool zero) { return zero ? Unconnected::zero : Unconnected::none; }

/// Tensors, None, or (tensor, [(rows, indices), ...]) where a gradient is made of rows.
nb::list with_rows(Tensors grads, const RowNotes& notes) {
  nb::list out;
  for (Tensor& grad : grads) {
    const std::vector<RowNotes::Rows>* rows = notes.of(grad);
    if (!grad.defined()) {
      out.append(nb::none());
    } else if (!rows) {
      out.append(to_object(std::move(grad)));
    } else {
      nb::list parts;
      for (const RowNotes::Rows& part : *rows)
        parts.append(nb::make_tuple(to_object(part.values), to_object(part.indices)));
      out.append(nb::make_tuple(to_object(std::move(grad)), parts));
    }
  }
  return out;
}

nb::list gradient(GradientTape& tape, nb::handle targets, nb::handle sources, nb::handle target_grads, bool zero) {
  const Tensors target_list = tensors_of(targets), source_list = tensors_of(sources),
                weights = tensors_of(target_grads);
  Tensors grads;
  const RowNotes notes;
  {
    const WithoutGil without;
    grads = tape.gradient(target_list, source_list, unconnected(zero), weights);
  }
  return with_rows(std::move(grads), notes);
}

nb::list jacobian(GradientTape& tape, nb::handle target, nb::handle sources, bool zero) {
  const Tensor of = to_tensor(target.ptr());
  const Tensors by = tensors_of(sources);
  Tensors found;
  {
    const WithoutGil without;
    found = tape.jacobian(of, by, unconnected(zero));
  }
  return list_of(std::move(found));
}

nb::object batch_jacobian(GradientTape& tape, nb::handle target, nb::handle source, bool zero) {
  const Tensor of = to_tensor(target.ptr()), by = to_tensor(source.ptr());
  Tensor found;
  {
    const WithoutGil without;
    found = tape.batch_jacobian(of, by, unconnected(zero));
  }
  return found.defined() ? to_object(std::move(found)) : nb::none();
}

nb::list variables_of(std::span<const std::uint64_t> ids) {
  nb::list out;
  for (std::uint64_t id : ids)
    if (PyObject* variable = find_variable(id)) out.append(nb::borrow(variable));
  return out;
}

/// A Python object that C++ may copy and drop with or without the interpreter's lock.
std::shared_ptr<PyObject> held(nb::handle object) {
  return {nb::borrow(object).release().ptr(), [](PyObject* dropped) {
            const nb::gil_scoped_acquire lock;
            Py_DECREF(dropped);
          }};
}

/// backward(output_grads, variables) gives a list.
CustomGrad python_gradient(nb::handle backward) {
  return [function = held(backward)](const Tensors& output_grads, const Tensors& variables) {
    const nb::gil_scoped_acquire lock;
    std::vector<std::uint64_t> ids;
    for (const Tensor& variable : variables) ids.push_back(variable.impl()->id.number);
    return tensors_of(nb::handle(function.get())(list_of(output_grads), variables_of(ids)));
  };
}

/// function(inputs) gives a list of results and what python_gradient takes.
nb::list custom(nb::handle inputs, nb::handle function, bool late) {
  const auto with_gradient = [&](const Tensors& given) -> WithGradient {
    const nb::tuple made = nb::cast<nb::tuple>(function(list_of(given)));
    return {tensors_of(made[0]), python_gradient(made[1])};
  };
  const Tensors given = tensors_of(inputs);
  return list_of(late ? late_gradient(given, with_gradient) : custom_gradient(given, with_gradient));
}

/// function(inputs) gives a list of results.
nb::list recompute(nb::handle inputs, nb::handle function) {
  return list_of(recompute_grad(tensors_of(inputs), [kept = held(function)](const Tensors& given) {
    const nb::gil_scoped_acquire lock;
    return tensors_of(nb::handle(kept.get())(list_of(given)));
  }));
}

}  // namespace

void add_tape(nb::module_& module) {
  nb::class_<GradientTape>(module, "Tape")
      .def("__init__",
           [](GradientTape* tape, bool persistent, bool watch_accessed_variables) {
             new (tape) GradientTape(TapeOptions{
                 .persistent = persistent, .watch_accessed_variables = watch_accessed_variables, .recording = false});
           })
      .def("watch", [](GradientTape& tape, nb::handle value) { tape.watch(to_tensor(value.ptr())); })
      .def("start", &GradientTape::start)
      .def("stop", &GradientTape::stop)
      .def("reset", &GradientTape::reset)
      .def("recording", &GradientTape::recording)
      .def("gradient", gradient)
      .def("jacobian", jacobian)
      .def("batch_jacobian", batch_jacobian)
      .def("watched_variables", [](const GradientTape& tape) { return variables_of(tape.watched_variables()); });
  module.def("custom_gradient", custom, nb::arg("inputs"), nb::arg("function"), nb::arg("late") = false);
  module.def("recompute_grad", recompute);
}

}  // namespace tandem::python
