#include "tandem/python/errors.h"

#include "tandem/core/fallible_space.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <thread>

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
    loss_was_told();  // the program may look at its variables next
    const auto found = classes().find(static_cast<int>(error.code()));
    // Made here and not when it is caught: which class it is also depends on whether a function is being traced.
    // File names and what a file holds need not be UTF-8.
    PyObject* const message =
        PyUnicode_DecodeUTF8(error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "replace");
    PyObject* const made = message
                               ? PyObject_CallFunctionObjArgs(
                                     found != classes().end() ? found->second : PyExc_RuntimeError, message, nullptr)
                               : nullptr;
    Py_XDECREF(message);
    if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made)), made);
    Py_XDECREF(made);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

namespace {
std::atomic<bool> ending{false};
std::atomic<int> away{0};  // threads that gave the lock up and have neither it again nor seen `ending`
std::thread::id ended_by;  // written before `ending`
}  // namespace

bool may_take_lock() noexcept {
  return Py_IsInitialized() && (!ending.load() || std::this_thread::get_id() == ended_by);
}

PyThreadState* give_lock_up() noexcept {
  away.fetch_add(1);
  return PyEval_SaveThread();
}

void take_lock_back(PyThreadState* state) noexcept {
  if (!may_take_lock()) {
    away.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(state);
  away.fetch_sub(1);
}

void interpreter_ends() {
  ended_by = std::this_thread::get_id();
  ending = true;
  const WithoutGil without;
  // Libraries and drivers must not be at work while the process takes them down. Who waits for something that needs
  // Python waits in vain, and is harmless.
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (away.load() > 1 && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace tandem::python
