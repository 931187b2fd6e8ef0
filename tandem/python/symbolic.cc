#include "tandem/python/symbolic.h"

#include <Python.h>

#include "tandem/core/print.h"
#include "tandem/op/open_size.h"
#include "tandem/python/errors.h"

namespace tandem::python {
namespace {

/// The given name, or one that is unique in the process.
std::string name_of(const Tensor& tensor, const std::string& given) {
  return given.empty() ? text("symbolic_", tensor.impl()->id.number, ":0") : given;
}

/// The source text of a line; empty when it is not known.
std::string source_line(PyObject* file, int line) {
  const Object module(PyImport_ImportModule("linecache"));
  const Object source(module ? PyObject_CallMethod(module.get(), "getline", "Oi", file, line) : nullptr);
  const Object stripped(source ? PyObject_CallMethod(source.get(), "strip", nullptr) : nullptr);
  const char* utf8 = stripped ? PyUnicode_AsUTF8(stripped.get()) : nullptr;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "";
}

/// The file of a frame.
Object file_of(PyFrameObject* frame) {
  const Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  return Object(PyObject_GetAttrString(code.get(), "co_filename"));
}

/// The innermost frame that is not the package's own.
Object program_frame() {
  const Object package(PyImport_ImportModule("tandemflow"));
  const Object paths(package ? PyObject_GetAttrString(package.get(), "__path__") : nullptr);
  const Object folder(paths ? PySequence_GetItem(paths.get(), 0) : nullptr);
  const char* prefix = folder ? PyUnicode_AsUTF8(folder.get()) : nullptr;
  if (!prefix) PyErr_Clear();
  Object frame = Object::borrowed(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && prefix) {
    const Object file = file_of(reinterpret_cast<PyFrameObject*>(frame.get()));
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (!path || !std::string_view(path).starts_with(prefix)) break;
    frame = Object(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  }
  return frame;
}

/// " at train.py:12, `if loss > 0:`": the line of the program that runs now.
std::string program_line() {
  const Object held = program_frame();
  auto* frame = reinterpret_cast<PyFrameObject*>(held.get());
  if (!frame) return "";
  const Object file = file_of(frame);
  const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
  if (!path) {
    PyErr_Clear();
    return "";
  }
  const int line = PyFrame_GetLineNumber(frame);
  const std::string source = source_line(file.get(), line);
  return text(" at ", path, ":", line, source.empty() ? "" : ", `" + source + "`,");
}

/// (None, 100)
std::string shape_text(const Shape& shape) {
  if (!is_open(shape)) return tuple_text(shape);
  std::string sizes = open_text(shape);
  sizes.front() = '(';
  sizes.back() = ')';
  if (shape.rank() == 1) sizes.insert(sizes.size() - 1, ",");
  return sizes;
}

}  // namespace

std::string symbolic_repr(const Tensor& tensor, const std::string& name) {
  return text("<tf.Tensor '", name_of(tensor, name), "' shape=", shape_text(tensor.shape()), " dtype=", tensor.dtype(),
              ">");
}

std::string symbolic_str(const Tensor& tensor, const std::string& name) {
  return text("Tensor(\"", name_of(tensor, name), "\", shape=", shape_text(tensor.shape()), ", dtype=", tensor.dtype(),
              ")");
}

void require_value(const Tensor& tensor, const char* use, const char* instead) {
  if (!tensor.is_symbolic()) return;
  fail(ErrorCode::symbolic_value, "the symbolic tensor ", symbolic_repr(tensor), " was used ", use, program_line(),
       " while a tf.function is traced, before it has a value; ", instead,
       ", or call tf.config.run_functions_eagerly(True) to run the function op by op");
}

}  // namespace tandem::python
