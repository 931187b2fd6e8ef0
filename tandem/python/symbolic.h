// Tensors of a traced function in Python: what they are called, and why they cannot be read.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem::python {

/// As TensorFlow shows them: <tf.Tensor 'symbolic_7:0' shape=(2,) dtype=float32>, Tensor("symbolic_7:0", …)
std::string symbolic_repr(const Tensor& tensor, const std::string& name = {});
std::string symbolic_str(const Tensor& tensor, const std::string& name = {});

/// Throws symbolic_value when the tensor has no value yet. `use` says what was tried: "as a Python bool"; `instead`
/// what to write. The message names the line of the program.
void require_value(const Tensor& tensor, const char* use, const char* instead);

}  // namespace tandem::python
