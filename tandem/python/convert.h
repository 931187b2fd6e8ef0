// Between Python values and tensors: numbers, nested lists, NumPy arrays, dtypes, shapes.
#pragma once
#include <Python.h>

#include <optional>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/python/errors.h"

namespace tandem::python {

/// A tensor of any value. Without `dtype`: int gives int32, float float32, NumPy keeps its own. With it:
/// numbers are converted when nothing but precision is lost; a tensor of another dtype is refused.
Tensor to_tensor(PyObject* value, std::optional<DType> dtype = std::nullopt);
/// As above, but `dtype` is a wish: what beside a tensor of that dtype stands for a number of it.
Tensor to_tensor_beside(PyObject* value, std::optional<DType> dtype);
/// True when the value has a dtype of its own that decides for the others: a tensor or variable.
bool has_own_dtype(PyObject* value);
/// True for what may stand beside a tensor in an expression.
bool can_be_operand(PyObject* value);

/// Accepts tf.float32, "float32", numpy.float32, numpy.dtype("float32"), float.
DType to_dtype(PyObject* value);
/// A new reference to tf.float32.
PyObject* dtype_object(DType dtype);
/// A new reference to a TensorShape.
PyObject* shape_object(const Shape& shape);

/// Integers from an int, a nested list, a TensorShape, a NumPy array or an integer tensor; None gives none.
void append_ints(PyObject* value, std::vector<std::int64_t>& out);
std::int64_t to_integer(PyObject* value);
double to_real(PyObject* value);

/// The Python classes made in the package: DType objects in the order of the enum, TensorShape, Reference.
void register_python_classes(PyObject* dtypes, PyObject* shape_class, PyObject* reference_class);
PyObject* reference_class();

}  // namespace tandem::python
