// What a call of a traced function looked like, so that the next one like it is known without asking Python.
#pragma once
#include <Python.h>

#include <optional>
#include <vector>

#include "tandem/op/dispatcher.h"
#include "tandem/python/errors.h"

namespace tandem::python {

/// The arguments of a call as Python hands them over.
struct CallArguments {
  PyObject* const* values;  // positional ones, then those of `names`
  Py_ssize_t positional;
  PyObject* names;  // a tuple, or null
  Py_ssize_t count() const { return positional + (names ? PyTuple_GET_SIZE(names) : 0); }
};

/// Tensors by dtype and shape, variables by identity, numbers and strings by value, nested in lists and tuples.
class CallPattern {
 public:
  /// Nothing when an argument is of another kind: such a call is always looked at by Python.
  static std::optional<CallPattern> of(const CallArguments& call);

  /// True when a call fits; `tensors` then holds its tensors in order.
  bool fits(const CallArguments& call, std::vector<TensorRef>& tensors) const;

 private:
  struct Part {
    enum class Kind { tensor, variable, constant, list, tuple } kind;
    TensorSpec spec = {};
    std::uint64_t variable = 0;
    Object constant = {};
    std::vector<Part> parts = {};
  };
  static std::optional<Part> part_of(PyObject* value);
  static bool fits(const Part& part, PyObject* value, std::vector<TensorRef>& tensors);

  Py_ssize_t positional_ = 0;
  std::vector<Object> names_;
  std::vector<Part> parts_;
};

}  // namespace tandem::python
