#include "tandem/python/errors.h"

#include <nanobind/nanobind.h>

#include <map>
#include <new>

namespace tandem::python {
namespace {

std::map<int, PyObject*>& classes() {
  static auto& map = *new std::map<int, PyObject*>;  // lives as long as the interpreter
  return map;
}

}  // namespace

void register_error_class(int code, PyObject* exception_class) {
  Py_INCREF(exception_class);
  PyObject*& slot = classes()[code];
  Py_XDECREF(slot);
  slot = exception_class;
}

void set_error_in_flight() noexcept {
  try {
    throw;
  } catch (const PythonErrorSet&) {
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    const auto found = classes().find(static_cast<int>(error.code()));
    PyErr_SetString(found != classes().end() ? found->second : PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

}  // namespace tandem::python
