// NumPy arrays, reached through its Python interface and the buffer protocol: no NumPy headers are needed.
#pragma once
#include <Python.h>

#include <optional>

#include "tandem/core/tensor.h"

namespace tandem::python {

/// numpy.ndarray or a NumPy scalar. Does not import NumPy.
bool is_numpy(PyObject* object);
/// numpy.asarray(object): a new reference.
PyObject* as_array(PyObject* object);
/// A tensor with a copy of the array's values, converted to `dtype` if one is given.
Tensor from_numpy(PyObject* array, std::optional<DType> dtype);
/// A NumPy array, or a scalar for a tensor without axes: a new reference.
PyObject* to_numpy(const Tensor& tensor);
/// numpy.dtype(value).name; empty when NumPy knows no such dtype.
std::string numpy_dtype_name(PyObject* value);

}  // namespace tandem::python
