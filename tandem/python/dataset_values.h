// Elements of datasets as Python values and back: tuples, dicts, tensors, datasets.
#pragma once
#include "tandem/data/dataset.h"
#include "tandem/python/module.h"

namespace tandem::python {

/// The package's classes around our handles: Dataset wraps one, TensorSpec and DatasetSpec describe leaves; of_parts
/// makes ragged and sparse tensors of their parts, of_alternative what a generator yielded for one; names_of and named
/// take a named tuple's class to strings and back, none_spec stands for None among specs.
void register_dataset_classes(nb::handle dataset, nb::handle tensor_spec, nb::handle dataset_spec, nb::handle of_parts,
                              nb::handle of_alternative, nb::handle names_of, nb::handle named, nb::handle none_spec);

nb::object to_python(const Value& value);
nb::object to_python(const ElementSpec& spec);

/// Tuples and dicts become structures, datasets leaves, everything else tensors.
Value to_value(nb::handle object);
/// The same, with the structure and dtypes of `spec`: a generator's 1 may stand for a float.
Value to_value(nb::handle object, const ElementSpec& spec);
ElementSpec to_spec(nb::handle specs);

/// A callable on elements; the items of a tuple are its arguments. Takes the interpreter's lock when called.
ElementFunction to_function(nb::object callable, Recording how = Recording::automatic);
/// Keeps a Python object that may be dropped by a thread without the lock.
std::shared_ptr<nb::object> shared(nb::object object);
/// Runs `body` with the lock; an error of Python's travels as an exception that another thread may throw again.
template <class F>
auto with_lock(F body) {
  const nb::gil_scoped_acquire lock;
  try {
    return body();
  } catch (const PythonErrorSet&) {
    throw nb::python_error();
  }
}

}  // namespace tandem::python
