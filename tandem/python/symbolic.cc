#include "tandem/python/symbolic.h"

#include <Python.h>

#include "tandem/core/print.h"
#include "tandem/python/errors.h"

namespace tandem::python {
namespace {

/// Unique in the process.
std::string name_of(const Tensor& tensor) { return text("symbolic_", tensor.impl()->id.number, ":0"); }

/// The source text of a line; empty when it is not known.
std::string source_line(PyObject* file, int line) {
  const Object module(PyImport_ImportModule("linecache"));
  const Object source(module ? PyObject_CallMethod(module.get(), "getline", "Oi", file, line) : nullptr);
  const Object stripped(source ? PyObject_CallMethod(source.get(), "strip", nullptr) : nullptr);
  const char* utf8 = stripped ? PyUnicode_AsUTF8(stripped.get()) : nullptr;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "";
}

/// " at train.py:12, `if loss > 0:`": the line of Python that runs now.
std::string program_line() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return "";
  const Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const Object file(PyObject_GetAttrString(code.get(), "co_filename"));
  const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
  if (!path) {
    PyErr_Clear();
    return "";
  }
  const int line = PyFrame_GetLineNumber(frame);
  const std::string source = source_line(file.get(), line);
  return text(" at ", path, ":", line, source.empty() ? "" : ", `" + source + "`,");
}

}  // namespace

std::string symbolic_repr(const Tensor& tensor) {
  return text("<tf.Tensor '", name_of(tensor), "' shape=", tuple_text(tensor.shape()), " dtype=", tensor.dtype(), ">");
}

std::string symbolic_str(const Tensor& tensor) {
  return text("Tensor(\"", name_of(tensor), "\", shape=", tuple_text(tensor.shape()), ", dtype=", tensor.dtype(), ")");
}

void require_value(const Tensor& tensor, const char* use, const char* instead) {
  if (!tensor.is_symbolic()) return;
  fail(ErrorCode::symbolic_value, "the symbolic tensor ", symbolic_repr(tensor), " was used ", use, program_line(),
       " while a tf.function is traced, before it has a value; ", instead,
       ", or call tf.config.run_functions_eagerly(True) to run the function op by op");
}

}  // namespace tandem::python
