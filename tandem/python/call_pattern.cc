#include "tandem/python/call_pattern.h"

#include <cstring>

#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

bool is_constant(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b) || PyBool_Check(a) || a == Py_None) return false;
  if (PyFloat_CheckExact(a)) {  // by bits: 0.0 and -0.0 are different values to a trace, a NaN is like itself
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

}  // namespace

std::optional<CallPattern::Part> CallPattern::part_of(PyObject* value) {
  if (is_tensor(value)) return Part{.kind = Part::Kind::tensor, .spec = tensor_of(value).spec()};
  if (is_variable(value)) return Part{.kind = Part::Kind::variable, .variable = variable_of(value).id()};
  if (is_constant(value)) return Part{.kind = Part::Kind::constant, .constant = Object::borrowed(value)};
  const bool is_list = PyList_CheckExact(value);
  if (!is_list && !PyTuple_CheckExact(value)) return std::nullopt;
  Part part{.kind = is_list ? Part::Kind::list : Part::Kind::tuple};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    std::optional<Part> item = part_of(PySequence_Fast_GET_ITEM(value, i));
    if (!item) return std::nullopt;
    part.parts.push_back(*std::move(item));
  }
  return part;
}

std::optional<CallPattern> CallPattern::of(const CallArguments& call) {
  CallPattern pattern;
  pattern.positional_ = call.positional;
  for (Py_ssize_t i = call.positional; i < call.count(); ++i)
    pattern.names_.push_back(Object::borrowed(PyTuple_GET_ITEM(call.names, i - call.positional)));
  for (Py_ssize_t i = 0; i < call.count(); ++i) {
    std::optional<Part> part = part_of(call.values[i]);
    if (!part) return std::nullopt;
    pattern.parts_.push_back(*std::move(part));
  }
  return pattern;
}

bool CallPattern::fits(const Part& part, PyObject* value, std::vector<TensorRef>& tensors) {
  switch (part.kind) {
    case Part::Kind::tensor: {
      if (!is_tensor(value)) return false;
      const Tensor& tensor = tensor_of(value);
      if (!(tensor.spec() == part.spec) || tensor.is_symbolic()) return false;
      tensors.push_back(tensor);
      return true;
    }
    case Part::Kind::variable: return is_variable(value) && variable_of(value).id() == part.variable;
    case Part::Kind::constant: return same_constant(part.constant.get(), value);
    default: break;
  }
  const bool is_list = part.kind == Part::Kind::list;
  if (is_list ? !PyList_CheckExact(value) : !PyTuple_CheckExact(value)) return false;
  if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(part.parts.size())) return false;
  for (std::size_t i = 0; i < part.parts.size(); ++i)
    if (!fits(part.parts[i], PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i)), tensors)) return false;
  return true;
}

bool CallPattern::fits(const CallArguments& call, std::vector<TensorRef>& tensors) const {
  tensors.clear();
  if (call.positional != positional_ || call.count() != static_cast<Py_ssize_t>(parts_.size())) return false;
  for (std::size_t i = 0; i < names_.size(); ++i)  // names in a program are interned: one object a name
    if (PyTuple_GET_ITEM(call.names, static_cast<Py_ssize_t>(i)) != names_[i].get()) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!fits(parts_[i], call.values[i], tensors)) return false;
  return true;
}

}  // namespace tandem::python
