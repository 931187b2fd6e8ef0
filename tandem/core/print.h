// Tensors as text, character for character what NumPy prints.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// str() of the NumPy array with the same values: "[[1. 2.]\n [3. 4.]]".
std::string numpy_str(const Tensor& tensor);
/// repr() of that array: "array([1., 2.], dtype=float32)".
std::string numpy_repr(const Tensor& tensor);
/// What TensorFlow writes behind "numpy=": a scalar as a Python value, anything else as numpy_repr.
std::string numpy_value_repr(const Tensor& tensor);
/// A shape as Python's tuple: "(2,)".
std::string tuple_text(const Shape& shape);
/// repr() of Python's bytes: b'it\'s'.
std::string bytes_repr(const std::string& bytes);

}  // namespace tandem
