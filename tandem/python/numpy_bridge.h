// NumPy arrays: in by the buffer protocol (numpy_bridge.cc), out as views by NumPy's C interface (numpy_views.cc).
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
/// The same where the dtype was asked for by name: floats become integers, as NumPy casts them.
Tensor cast_numpy(PyObject* array, std::optional<DType> dtype);
/// A tensor over the array's own memory, which it keeps alive; none where dtype or layout do not allow it. For whoever
/// knows that the array does not change meanwhile.
std::optional<Tensor> lend_numpy(PyObject* array);
/// A read-only NumPy array over the tensor's values, or a scalar for a tensor without axes: a new reference. `owner`, a
/// Tensor object with this value, keeps them alive; without one they get one.
PyObject* to_numpy(const Tensor& tensor, PyObject* owner = nullptr);
/// From now on arrays of to_numpy are copies that a program may write to, as TensorFlow's are; or views again.
void give_copies(bool copies);
/// As to_numpy, also without axes, and always a view.
PyObject* array_of(const Tensor& tensor, PyObject* owner = nullptr);
/// numpy.dtype(value).name; empty when NumPy knows no such dtype.
std::string numpy_dtype_name(PyObject* value);

}  // namespace tandem::python
