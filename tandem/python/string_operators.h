// What Python's operators do with strings, for which there are no op records.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/python/errors.h"

namespace tandem::python {

/// x == y, or x != y when `when_equal` is false: elementwise, a new reference.
PyObject* strings_compared(const Tensor& x, const Tensor& y, bool when_equal);

/// x + y: joined elementwise, a new reference.
PyObject* strings_joined(const Tensor& x, const Tensor& y);

/// tensor[key] of strings that a traced function will have: a new reference.
PyObject* strings_indexed(const Tensor& tensor, PyObject* key);

/// What the op `name` gives for strings; a new reference, NotImplemented where they mean nothing to it. `call` is
/// (name, arguments, named arguments).
PyObject* run_on_strings(PyObject* call);

}  // namespace tandem::python
