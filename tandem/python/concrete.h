// A traced function as Python sees it, and how its results are nested.
#pragma once
#include <memory>

#include "tandem/autodiff/function.h"
#include "tandem/python/module.h"

namespace tandem::python {

/// `results` nested as `structure` says: integers in it are places in `results`; None, lists, tuples and dicts stay.
PyObject* nest(PyObject* structure, std::span<Tensor> results);

/// A list of tensors as they are, in order.
Tensors tensors_in(PyObject* list);

/// One signature of a tf.function.
struct Concrete {
  std::shared_ptr<const GraphFunction> function;
  Object structure;  // of the results
};

/// Runs the graph; without the interpreter's lock when that will take long.
PyObject* run_concrete(const std::shared_ptr<const GraphFunction>& function, std::span<const TensorRef> arguments,
                       PyObject* structure, bool takes_long);
/// Predicted from the bytes its nodes read and write.
bool takes_long(const GraphFunction& function);

void add_traced_functions(nb::module_& module);

}  // namespace tandem::python
