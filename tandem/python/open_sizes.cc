#include "tandem/python/open_sizes.h"

#include <cmath>
#include <string_view>

#include "tandem/graph/trace.h"
#include "tandem/op/ops.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"
#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

PyObject* open_size_type = nullptr;

PyObject* number_slot() {
  static PyObject* const slot = PyUnicode_InternFromString("_number");
  return slot;
}

Object make_open_size(std::int64_t number) {
  if (!open_number(number))
    fail(ErrorCode::cannot_trace, "a size is reckoned that does not simply follow from open ones");
  auto* type = reinterpret_cast<PyTypeObject*>(open_size_type);
  Object made(checked(type->tp_alloc(type, 0)));
  const Object value(checked(PyLong_FromLongLong(number)));
  if (PyObject_SetAttr(made.get(), number_slot(), value.get()) != 0) throw PythonErrorSet{};
  return made;
}

std::int64_t number_in(PyObject* value) {
  if (!is_open_size(value)) return to_integer(value);
  const Object number(checked(PyObject_GetAttr(value, number_slot())));
  return PyLong_AsLongLong(number.get());
}

/// x / y rounded down, or what is left of x.
std::int64_t divided(char op, std::int64_t x, std::int64_t y) {
  if (y == 0) raise(PyExc_ZeroDivisionError, "integer division or modulo by zero");
  if (is_open(y)) fail(ErrorCode::cannot_trace, "a division by an open size is reckoned");
  const std::int64_t quotient = y > 0 ? floor_of_sizes(x, y) : floor_of_sizes(-x, -y);
  return op == '/' ? quotient : x - y * quotient;
}

/// One of + - * / %, of sizes and integers; / rounds down.
nb::object reckon(const char* op, nb::handle a, nb::handle b) {
  const std::int64_t x = number_in(a.ptr()), y = number_in(b.ptr());
  if (*op == '/' || *op == '%') return nb::steal(size_object(divided(*op, x, y)));
  std::int64_t result;
  const bool overflows = *op == '+'   ? __builtin_add_overflow(x, y, &result)
                         : *op == '-' ? __builtin_sub_overflow(x, y, &result)
                                      : __builtin_mul_overflow(x, y, &result);
  if (overflows) fail(ErrorCode::cannot_trace, "a product of open sizes is reckoned");
  return nb::steal(size_object(result));
}

/// The sizes of the axes as a tensor.
Tensor sizes_of(const Shape& shape, DType dtype) {
  const DType held = dtype == DType::i64 ? dtype : DType::i32;
  const Tensor sizes = is_open(shape) ? open_sizes(shape.sizes(), held)
                       : held == DType::i64
                           ? Tensor::from(shape.sizes(), Shape{shape.rank()})
                           : Tensor::from(std::vector<std::int32_t>(shape.begin(), shape.end()), Shape{shape.rank()});
  return held == dtype ? sizes : cast(sizes, dtype);
}

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::cannot_trace, what, " of a size that is left open is asked for");
}

}  // namespace

void register_open_size(PyObject* type) {
  Py_INCREF(type);
  Py_XDECREF(open_size_type);
  open_size_type = type;
}

bool package_runs() {
  PyObject* const globals = PyEval_GetGlobals();  // borrowed
  PyObject* const module = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  const char* text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  if (!text) return PyErr_Clear(), false;
  const std::string_view name(text);
  return name == "tandemflow" || name.starts_with("tandemflow.");
}

PyObject* size_object(std::int64_t size) {
  return is_open(size) ? make_open_size(size).release() : checked(PyLong_FromLongLong(size));
}

PyObject* axis_object(std::int64_t size) {
  if (is_open(size) && !package_runs()) Py_RETURN_NONE;
  return size_object(size);
}

bool is_open_size(PyObject* value) {
  return open_size_type && reinterpret_cast<PyObject*>(Py_TYPE(value)) == open_size_type;
}

const std::vector<std::int64_t>* open_sizes_in(const Tensor& tensor) {
  return tensor.is_symbolic() && Trace::current() ? Trace::current()->sizes_in(tensor) : nullptr;
}

std::optional<std::int64_t> open_size_in(PyObject* value) {
  if (is_open_size(value)) return number_in(value);
  if (!is_tensor(value)) return std::nullopt;
  const auto* const numbers = open_sizes_in(tensor_of(value));
  return numbers && numbers->size() == 1 ? std::optional((*numbers)[0]) : std::nullopt;
}

Tensor open_size_tensor(PyObject* value, std::optional<DType> dtype) {
  const std::int64_t number = number_in(value);
  const DType wanted = dtype.value_or(DType::i32), held = wanted == DType::i64 ? wanted : DType::i32;
  const Tensor scalar = reshape(open_sizes({&number, 1}, held), Shape{});
  return held == wanted ? scalar : cast(scalar, wanted);
}

std::int64_t not_open(std::int64_t number) {
  if (is_open(number)) fail(ErrorCode::cannot_trace, "a number as large as ", number, " among attributes");
  return number;
}

double not_open(double number) {
  constexpr double kMost = 0x1p62;
  if (std::abs(number) < kMost) not_open(static_cast<std::int64_t>(number));
  return number;
}

void add_open_sizes(nb::module_& module) {
  module.def("register_open_size", [](nb::handle type) { register_open_size(type.ptr()); });
  module.def("reckon_size", reckon);
  module.def("is_same_size",
             [](nb::handle a, nb::handle b) { return is_same_size(number_in(a.ptr()), number_in(b.ptr())); });
  module.def("is_smaller_size",
             [](nb::handle a, nb::handle b) { return is_smaller_size(number_in(a.ptr()), number_in(b.ptr())); });
  module.def("refuse_open_size", refuse);
  module.def("open_size_in", [](nb::handle value) {
    const auto number = open_size_in(value.ptr());
    return number ? nb::steal(size_object(*number)) : nb::none();
  });
  module.def("sizes_tensor", [](nb::handle value, nb::handle dtype) {
    return to_object(sizes_of(value_of(value.ptr()).shape(), to_dtype(dtype.ptr())));
  });
  module.def("size_tensor", [](nb::handle size, nb::handle dtype) {
    return to_object(ratio_of_sizes(number_in(size.ptr()), 1, to_dtype(dtype.ptr())));
  });
}

}  // namespace tandem::python
