// Errors across the border: C++ exceptions become Python's, one class a family of codes.
#pragma once
#include <Python.h>

#include <utility>

#include "tandem/base/error.h"

namespace tandem::python {

/// Thrown in C++ when Python's error is set already and only has to reach the interpreter.
struct PythonErrorSet {};

/// Sets Python's error for the exception being handled.
void set_error_in_flight() noexcept;

/// The class that Python raises for errors of `code`; the package registers them when it is imported.
void register_error_class(int code, PyObject* exception_class);

/// Raises a Python exception of `type` with the given parts as text.
template <class... Parts>
[[noreturn]] void raise(PyObject* type, const Parts&... parts) {
  PyErr_SetString(type, text(parts...).c_str());
  throw PythonErrorSet{};
}

/// A new reference that must not be null: null means that Python's error is set.
inline PyObject* checked(PyObject* object) {
  if (!object) throw PythonErrorSet{};
  return object;
}

/// Calls `body`; when it throws, sets Python's error and returns `failed`.
template <class F, class R = decltype(std::declval<F>()())>
R guarded(F body, R failed = R{}) noexcept {
  try {
    return body();
  } catch (...) {
    set_error_in_flight();
    return failed;
  }
}

/// An owned reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : object_(owned) {}
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }
  static Object borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Object(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Lets others have the interpreter's lock.
PyThreadState* give_lock_up() noexcept;
/// Takes the interpreter's lock again. Once the interpreter ends, a thread other than the one that ends it stays here
/// until the process is gone: Python would end it by unwinding, which no destructor survives.
void take_lock_back(PyThreadState* state) noexcept;
/// False in threads that the end of the interpreter has left behind: they must not touch Python's objects any more.
bool may_take_lock() noexcept;
/// For the thread that ends the interpreter, after all else that the package does then.
void interpreter_ends();

/// Runs without the interpreter's lock, so that other threads may go on meanwhile.
class WithoutGil {
 public:
  WithoutGil() : state_(give_lock_up()) {}
  ~WithoutGil() { take_lock_back(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace tandem::python
