#include "tandem/python/numpy_bridge.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/python/convert.h"
#include "tandem/python/errors.h"
#include "tandem/core/lent_memory.h"
#include "tandem/op/ops.h"

namespace tandem::python {
namespace {

/// What is used of NumPy, imported at first need.
struct NumPy {
  PyObject* ndarray;
  PyObject* generic;
  PyObject* asarray;
  PyObject* ascontiguousarray;
  PyObject* dtype;

  NumPy() {
    const Object module(checked(PyImport_ImportModule("numpy")));
    auto get = [&](const char* name) { return checked(PyObject_GetAttrString(module.get(), name)); };
    ndarray = get("ndarray");
    generic = get("generic");
    asarray = get("asarray");
    ascontiguousarray = get("ascontiguousarray");
    dtype = get("dtype");
  }
};

const NumPy& numpy() {
  static const NumPy& loaded = *new NumPy;
  return loaded;
}

/// Memory that another object lends.
class Buffer {
 public:
  ~Buffer() {
    if (view_.obj) PyBuffer_Release(&view_);
  }
  Buffer(Buffer&& other) noexcept : view_(other.take()) {}
  Buffer& operator=(Buffer&&) = delete;
  /// The row-major values, if that is how they lie; Python's error is not set otherwise.
  static std::optional<Buffer> dense(PyObject* object) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) return Buffer(view);
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer* operator->() const { return &view_; }
  /// The loan goes on; whoever takes it releases it.
  Py_buffer take() { return std::exchange(view_, Py_buffer{}); }

 private:
  explicit Buffer(const Py_buffer& view) : view_(view) {}
  Py_buffer view_;
};

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t item_bytes) {
  if (!format) return DType::u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (*format) {
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case '?': return DType::boolean;
    case 'b': return DType::i8;
    case 'B': return DType::u8;
    case 'h': return DType::i16;
    case 'H': return DType::u16;
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      if (item_bytes == 4) return DType::u32;
      if (item_bytes == 8) return DType::u64;
      return std::nullopt;
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      if (item_bytes == 4) return DType::i32;
      if (item_bytes == 8) return DType::i64;
      return std::nullopt;
    default: return std::nullopt;
  }
}

Object call_method(PyObject* object, const char* method, const char* argument) {
  return Object(checked(PyObject_CallMethod(object, method, "s", argument)));
}

char kind_of(PyObject* array) {
  const Object dtype(checked(PyObject_GetAttrString(array, "dtype")));
  const Object kind(checked(PyObject_GetAttrString(dtype.get(), "kind")));
  const char* text = PyUnicode_AsUTF8(kind.get());
  if (!text) throw PythonErrorSet{};
  return text[0];
}

template <class From, class To>
To convert_one(From value, DType to) {
  const auto as_number = [](From v) {
    if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) return static_cast<float>(v);
    else return v;
  };
  const auto number = as_number(value);
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(number));
  } else if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    if constexpr (std::is_integral_v<decltype(number)> && !std::is_same_v<From, bool>)
      if (!std::in_range<To>(number))
        fail(ErrorCode::cannot_convert, "the number ", std::to_string(number), " of the NumPy array does not fit ", to);
    return static_cast<To>(number);
  } else {
    return static_cast<To>(number);
  }
}

/// NumPy values become another dtype where only precision is lost: never a float an integer, never a number a
/// bool.
Tensor converted(const void* data, const TensorSpec& from, DType to) {
  const bool loses = (is_floating(from.dtype()) && is_integer(to)) || (to == DType::boolean);
  if (loses || to == DType::string)
    fail(ErrorCode::cannot_convert, "a NumPy array of ", from.dtype(), " does not become ", to,
         " by itself; write .astype('", to, "') if that is what you want");
  Tensor out = Tensor::uninitialized({to, from.shape()}, host_memory(), Tensor(0).impl()->decision);
  void* target = out.impl()->storage->address();
  visit_dtype(from.dtype(), [&](auto from_tag) {
    visit_dtype(to, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      const From* in = static_cast<const From*>(data);
      for (std::int64_t i = 0; i < from.shape().elements(); ++i)
        static_cast<To*>(target)[i] = convert_one<From, To>(in[i], to);
    });
  });
  return out;
}

Shape shape_of(const Buffer& buffer) {
  return Shape(std::span<const std::int64_t>(reinterpret_cast<const std::int64_t*>(buffer->shape),
                                             static_cast<std::size_t>(buffer->ndim)));
}

Tensor from_buffer(const Buffer& buffer, std::optional<DType> dtype, DType source) {
  const Shape shape = shape_of(buffer);
  const TensorSpec spec(source, shape);
  if (!dtype || *dtype == source)
    return Tensor::from_bytes(buffer->buf, static_cast<std::size_t>(shape.elements()), spec);
  return converted(buffer->buf, spec, *dtype);
}

[[noreturn]] void refuse(PyObject* array) {
  const Object dtype(checked(PyObject_GetAttrString(array, "dtype")));
  const Object name(checked(PyObject_Str(dtype.get())));
  fail(ErrorCode::unsupported_dtype, "no dtype here holds NumPy's ", PyUnicode_AsUTF8(name.get()),
       "; convert the array first, for example with .astype('float32') or .astype('int64')");
}

/// True when all leaves are text or plain numbers.
bool is_plain(PyObject* value) {
  if (!PyList_Check(value))
    return PyUnicode_Check(value) || PyBytes_Check(value) || PyBool_Check(value) || PyLong_CheckExact(value) ||
           PyFloat_CheckExact(value);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
    if (!is_plain(PyList_GET_ITEM(value, i))) return false;
  return true;
}

/// Text and Python objects: through a list.
Tensor from_list(PyObject* array, std::optional<DType> dtype) {
  const Object list(checked(PyObject_CallMethod(array, "tolist", nullptr)));
  if (!is_plain(list.get())) refuse(array);
  const Tensor tensor = to_tensor(list.get(), dtype);
  if (tensor.size() > 0) return tensor;
  std::vector<std::int64_t> sizes;  // of an empty list nothing behind the empty axis is known
  append_ints(Object(checked(PyObject_GetAttrString(array, "shape"))).get(), sizes);
  const Shape shape{std::span<const std::int64_t>(sizes)};
  return dtype ? reshape(tensor, shape) : Tensor::from_strings({}, shape);  // what such arrays hold but for mistakes
}

/// A dense copy in native byte order. Widths that are not ours are widened when the dtype to be is known.
Object native_copy(PyObject* array, PyObject* dtype, char kind, bool may_widen) {
  const Object native(checked(PyObject_CallMethod(dtype, "newbyteorder", "s", "=")));
  Object copy(checked(PyObject_CallMethod(array, "astype", "Os", native.get(), "C")));
  const std::optional<Buffer> buffer = Buffer::dense(copy.get());
  if (buffer && dtype_of_format((*buffer)->format, (*buffer)->itemsize)) return copy;
  if (!may_widen) refuse(array);
  return call_method(array, "astype", kind == 'f' ? "float64" : "int64");
}

}  // namespace

bool is_numpy(PyObject* object) {
  // Classes of NumPy and of arrays derived from them; a list or number never gets here.
  static const NumPy* loaded = nullptr;
  if (!loaded) {
    PyObject* modules = PyImport_GetModuleDict();
    if (!PyDict_GetItemString(modules, "numpy")) return false;  // nobody can hold one of its objects
    loaded = &numpy();
  }
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(loaded->ndarray)) ||
         PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(loaded->generic));
}

PyObject* as_array(PyObject* object) { return checked(PyObject_CallOneArg(numpy().asarray, object)); }

Tensor cast_numpy(PyObject* object, std::optional<DType> dtype) {
  if (!dtype || !is_integer(*dtype) || kind_of(object) != 'f') return from_numpy(object, dtype);
  return from_numpy(call_method(object, "astype", std::string(dtype_name(*dtype)).c_str()).get(), dtype);
}

Tensor from_numpy(PyObject* object, std::optional<DType> dtype) {
  if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy().generic)) &&
      (kind_of(object) == 'M' || kind_of(object) == 'm'))
    refuse(object);  // lends its bytes as if they were numbers
  if (std::optional<Buffer> buffer = Buffer::dense(object))
    if (const auto source = dtype_of_format((*buffer)->format, (*buffer)->itemsize))
      return from_buffer(*buffer, dtype, *source);
  Object array(checked(PyObject_CallOneArg(numpy().asarray, object)));
  const char kind = kind_of(array.get());
  if (kind == 'O' || kind == 'S' || kind == 'U' || kind == 'T') return from_list(array.get(), dtype);
  const Object array_dtype(checked(PyObject_GetAttrString(array.get(), "dtype")));
  if (kind == 'V' && numpy_dtype_name(array_dtype.get()) == "bfloat16") {
    array = Object(checked(PyObject_CallMethod(array.get(), "copy", nullptr)));
    const Object words = call_method(array.get(), "view", "uint16");
    return from_buffer(*Buffer::dense(words.get()), dtype, DType::bf16);
  }
  if (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b') refuse(array.get());
  return from_numpy(native_copy(array.get(), array_dtype.get(), kind, dtype.has_value()).get(), dtype);
}

std::optional<Tensor> lend_numpy(PyObject* array) {
  std::optional<Buffer> buffer = Buffer::dense(array);
  const auto dtype = buffer ? dtype_of_format((*buffer)->format, (*buffer)->itemsize) : std::nullopt;
  if (!dtype || (*buffer)->len == 0 || reinterpret_cast<std::uintptr_t>((*buffer)->buf) % (*buffer)->itemsize)
    return std::nullopt;
  const TensorSpec spec(*dtype, shape_of(*buffer));
  void* const data = (*buffer)->buf;
  auto* const view = new Py_buffer(buffer->take());
  return lent_tensor(spec, data, Tensor(0).impl()->decision, [view] {
    if (may_take_lock()) {
      const PyGILState_STATE state = PyGILState_Ensure();
      PyBuffer_Release(view);
      PyGILState_Release(state);
    }
    delete view;
  });
}

std::string numpy_dtype_name(PyObject* value) {
  const Object dtype(PyObject_CallOneArg(numpy().dtype, value));
  if (!dtype) {
    PyErr_Clear();
    return {};
  }
  const Object name(checked(PyObject_GetAttrString(dtype.get(), "name")));
  const char* text = PyUnicode_AsUTF8(name.get());
  return text ? text : "";
}

}  // namespace tandem::python
