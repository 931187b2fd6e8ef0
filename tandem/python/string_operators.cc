#include "tandem/python/string_operators.h"

#include "tandem/op/ops.h"
#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

/// Of tensors that have values, of one shape or with a scalar among them.
Tensor compared_now(const Tensor& x, const Tensor& y, bool when_equal) {
  const Tensor& longer = x.rank() == 0 ? y : x;
  std::vector<std::uint8_t> result(static_cast<std::size_t>(longer.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool same = x.strings()[x.rank() == 0 ? 0 : i] == y.strings()[y.rank() == 0 ? 0 : i];
    result[i] = same == when_equal;
  }
  return Tensor::from_bytes(result.data(), result.size(), {DType::boolean, longer.shape()});
}

Object string_ops() { return Object(checked(PyImport_ImportModule("tandemflow._string_ops"))); }

}  // namespace

PyObject* strings_compared(const Tensor& x, const Tensor& y, bool when_equal) {
  const bool is_plain = x.rank() == 0 || y.rank() == 0 || x.shape() == y.shape();
  if (is_plain && !x.is_symbolic() && !y.is_symbolic()) return wrap(compared_now(x, y, when_equal));
  const Object left(wrap(x)), right(wrap(y));
  return checked(PyObject_CallMethod(string_ops().get(), "compared", "OOO", left.get(), right.get(),
                                     when_equal ? Py_True : Py_False));
}

PyObject* strings_joined(const Tensor& x, const Tensor& y) {
  const Object left(wrap(x)), right(wrap(y));
  return checked(PyObject_CallMethod(string_ops().get(), "joined", "OO", left.get(), right.get()));
}

PyObject* strings_indexed(const Tensor& tensor, PyObject* key) {
  const Object strings(wrap(tensor));
  return checked(PyObject_CallMethod(string_ops().get(), "indexed", "OO", strings.get(), key));
}

PyObject* run_on_strings(PyObject* call) {
  const Object run(checked(PyObject_GetAttrString(string_ops().get(), "run")));
  return checked(PyObject_Call(run.get(), call, nullptr));
}

}  // namespace tandem::python
