// Sizes that are left open, as Python meets them: None for a program, an OpenSize (python/tandemflow/_open_size.py)
// inside the package. The numbers that stand for them never become Python's own, so nothing can be reckoned with them
// unseen.
#pragma once
#include <Python.h>

#include <cstdint>
#include <optional>

#include "tandem/core/tensor.h"

namespace tandem::python {

/// Whether the Python code that runs now is the package's own.
bool package_runs();
/// A new reference: an int; for an open size an OpenSize.
PyObject* size_object(std::int64_t size);
/// As the axis of a shape: None for an open size when a program asks.
PyObject* axis_object(std::int64_t size);

bool is_open_size(PyObject* value);
/// The number in an OpenSize, or in a scalar of a trace that was computed from open sizes; nothing for other values.
std::optional<std::int64_t> open_size_in(PyObject* value);
/// The numbers in a tensor of a trace that was computed from open sizes; null for others.
const std::vector<std::int64_t>* open_sizes_in(const Tensor& tensor);
/// An OpenSize as a scalar tensor.
Tensor open_size_tensor(PyObject* value, std::optional<DType> dtype);

/// Refuses a number of the program's that would be taken for an open size.
std::int64_t not_open(std::int64_t number);
double not_open(double number);

void register_open_size(PyObject* type);

}  // namespace tandem::python
