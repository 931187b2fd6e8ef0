#include "tandem/python/convert.h"

#include <limits>

#include "tandem/op/ops.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/objects.h"
#include "tandem/python/open_sizes.h"

namespace tandem::python {
namespace {

struct PythonClasses {
  PyObject* dtypes[kDTypeCount] = {};
  PyObject* shape = nullptr;
  PyObject* reference = nullptr;
};
PythonClasses classes;

std::string repr_of(PyObject* value) {
  const Object text(PyObject_Repr(value));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!utf8) PyErr_Clear();
  std::string out = utf8 ? utf8 : "?";
  return out.size() > 200 ? out.substr(0, 197) + "..." : out;
}

[[noreturn]] void cannot_convert(PyObject* value, DType dtype) {
  fail(ErrorCode::cannot_convert, "cannot convert ", repr_of(value), " to a tensor of dtype ", dtype);
}

bool is_sequence(PyObject* value) { return PyList_Check(value) || PyTuple_Check(value) || PyRange_Check(value); }

/// What the leaves of a nested list are; later ones include earlier ones, as 1 and 2.5 make a list of floats.
enum class Leaves { none, boolean, integer, long_integer, real, text, numpy, tensor };

/// Shape and leaves of nested lists.
class Scan {
 public:
  explicit Scan(PyObject* value) { visit(value, 0); }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  Leaves leaves() const { return leaves_; }

 private:
  void visit(PyObject* value, std::size_t depth) {
    if (leaves_ == Leaves::tensor) return;  // stacking them says what does not fit
    if (is_sequence(value)) return visit_list(value, depth);
    if (leaves_ == Leaves::none) open_ = false;
    const Leaves leaf = kind(value);
    if (depth != sizes_.size() && leaf < Leaves::numpy && leaves_ < Leaves::numpy) ragged();
    meet(leaf);
  }
  void visit_list(PyObject* value, std::size_t depth) {
    const Object items(checked(PySequence_Fast(value, "expected a sequence")));
    const std::int64_t count = PySequence_Fast_GET_SIZE(items.get());
    if (leaves_ == Leaves::numpy) {
      // NumPy, which knows how many axes an array among lists has, says what does not fit.
    } else if (depth == sizes_.size()) {
      if (!open_) ragged();
      sizes_.push_back(count);
      if (depth >= static_cast<std::size_t>(kMaxRank))
        fail(ErrorCode::invalid_shape, "a list is nested deeper than the ", kMaxRank, " axes a tensor may have");
    } else if (sizes_[depth] != count) {
      ragged();
    }
    for (std::int64_t i = 0; i < count; ++i) visit(PySequence_Fast_GET_ITEM(items.get(), i), depth + 1);
    if (count == 0) open_ = false;
  }
  [[noreturn]] static void ragged() {
    fail(ErrorCode::invalid_shape,
         "Can't convert non-rectangular Python sequence to Tensor: rows differ in length or depth.");
  }
  static Leaves kind(PyObject* value) {
    if (is_tensor(value) || is_variable(value) || is_open_size(value)) return Leaves::tensor;
    if (PyBool_Check(value)) return Leaves::boolean;
    if (PyLong_CheckExact(value)) {
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (overflow && !fits_unsigned(value))
        fail(ErrorCode::cannot_convert, "the integer ", repr_of(value), " is out of range: it needs more than 64 bits");
      const bool small = !overflow && number >= std::numeric_limits<std::int32_t>::min() &&
                         number <= std::numeric_limits<std::int32_t>::max();
      return small ? Leaves::integer : Leaves::long_integer;
    }
    if (PyFloat_CheckExact(value)) return Leaves::real;
    if (PyUnicode_Check(value) || PyBytes_Check(value)) return Leaves::text;
    return Leaves::numpy;  // or something that only NumPy may understand
  }
  static bool fits_unsigned(PyObject* value) {
    PyLong_AsUnsignedLongLong(value);
    const bool fits = !PyErr_Occurred();
    PyErr_Clear();
    return fits;
  }
  void meet(Leaves next) {
    const bool strings = leaves_ == Leaves::text || next == Leaves::text;
    if (strings && leaves_ != Leaves::none && leaves_ != next)
      fail(ErrorCode::cannot_convert,
           "Can't convert Python sequence with mixed types to Tensor: strings among numbers.");
    leaves_ = std::max(leaves_, next);
  }

  std::vector<std::int64_t> sizes_;
  bool open_ = true;  // no leaf or empty list met yet: deeper lists add axes
  Leaves leaves_ = Leaves::none;
};

template <class T>
T leaf(PyObject* value, DType dtype) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(value)) cannot_convert(value, dtype);
    return value == Py_True;
  } else if constexpr (std::is_integral_v<T>) {
    if (!PyLong_Check(value)) cannot_convert(value, dtype);
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (std::is_same_v<T, std::uint64_t> && overflow > 0) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(value);
      if (!PyErr_Occurred()) return static_cast<T>(large);
      PyErr_Clear();
    }
    if (overflow || !std::in_range<T>(number))
      fail(ErrorCode::cannot_convert, "the integer ", repr_of(value), " does not fit ", dtype);
    return static_cast<T>(number);
  } else {
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      cannot_convert(value, dtype);
    }
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(static_cast<float>(number));
    else return static_cast<T>(number);
  }
}

std::string string_leaf(PyObject* value) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_Check(value)) {
    if (PyBytes_AsStringAndSize(value, &data, &size) != 0) throw PythonErrorSet{};
    return {data, static_cast<std::size_t>(size)};
  }
  if (!PyUnicode_Check(value)) cannot_convert(value, DType::string);
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text) throw PythonErrorSet{};
  return {text, static_cast<std::size_t>(size)};
}

/// Calls f for each leaf, in order.
template <class F>
void for_leaves(PyObject* value, F f) {
  if (!is_sequence(value)) return f(value);
  const Object items(checked(PySequence_Fast(value, "expected a sequence")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    for_leaves(PySequence_Fast_GET_ITEM(items.get(), i), f);
}

const Decision* host_decision() {
  static const Decision* decision = Tensor(0).impl()->decision;
  return decision;
}

Tensor filled(PyObject* value, const Scan& scan, DType dtype) {
  const Shape shape{std::span<const std::int64_t>(scan.sizes())};
  if (dtype == DType::string) {
    std::vector<std::string> strings;
    for_leaves(value, [&](PyObject* item) { strings.push_back(string_leaf(item)); });
    return Tensor::from_strings(std::move(strings), shape);
  }
  if (scan.leaves() == Leaves::text) cannot_convert(value, dtype);
  Tensor tensor = Tensor::uninitialized({dtype, shape}, host_memory(), host_decision());
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = static_cast<T*>(tensor.impl()->storage->address());
    const T* end = out + shape.elements();
    for_leaves(value, [&](PyObject* item) {
      // Another thread may have lengthened the list since it was measured.
      if (out == end) fail(ErrorCode::cannot_convert, "the list changed while it was read");
      *out++ = leaf<T>(item, dtype);
    });
    if (out != end) fail(ErrorCode::cannot_convert, "the list changed while it was read");
  });
  return tensor;
}

/// A list with tensors in it: they are stacked by ops, so that gradients pass.
Tensor stacked(PyObject* list, std::optional<DType> dtype) {
  const Object items(checked(PySequence_Fast(list, "expected a sequence")));
  for_leaves(list, [&](PyObject* item) {
    if (!dtype && has_own_dtype(item)) dtype = value_of(item).dtype();
  });
  Tensors rows;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    rows.push_back(expand_dims(to_tensor_beside(PySequence_Fast_GET_ITEM(items.get(), i), dtype), 0));
  for (const Tensor& row : rows)
    if (row.shape() != rows[0].shape())
      fail(ErrorCode::shape_mismatch, "the tensors of a list must have one shape to become one tensor, got ",
           rows[0].shape(), " and ", row.shape(), " (with the axis of the list)");
  return concat(rows, 0);
}

PyObject* first_leaf(PyObject* value) {
  while ((PyList_Check(value) || PyTuple_Check(value)) && PySequence_Fast_GET_SIZE(value) > 0)
    value = PySequence_Fast_GET_ITEM(value, 0);
  return value;
}

/// Whether array.min() or array.max() is a number of 32 bits.
bool is_small(PyObject* array, const char* which) {
  const Object number(checked(PyObject_CallMethod(array, which, nullptr)));
  const Object whole(checked(PyNumber_Long(number.get())));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(whole.get(), &overflow);
  return !overflow && std::in_range<std::int32_t>(value);
}

/// Of a list with NumPy's numbers or arrays in it, as TensorFlow has it: whole numbers count as Python's do; the first
/// element says how wide the others are.
DType listed_dtype(PyObject* list, PyObject* array, const Tensor& whole) {
  const DType own = whole.dtype();
  if (is_integer(own)) {
    const bool small = whole.shape().elements() == 0 || (is_small(array, "min") && is_small(array, "max"));
    return small ? DType::i32 : own == DType::u64 ? own : DType::i64;
  }
  if (!is_floating(own)) return own;
  PyObject* first = first_leaf(list);
  const DType of_first = is_numpy(first) ? from_numpy(first, std::nullopt).dtype() : DType::f32;
  return is_floating(of_first) ? of_first : DType::f32;
}

DType natural_dtype(Leaves leaves) {
  switch (leaves) {
    case Leaves::boolean: return DType::boolean;
    case Leaves::integer: return DType::i32;
    case Leaves::long_integer: return DType::i64;
    case Leaves::text: return DType::string;
    default: return DType::f32;
  }
}

/// A plain number, the commonest value of all, without a scan; nothing for what needs one.
std::optional<Tensor> plain_number(PyObject* value, std::optional<DType> dtype) {
  if (PyFloat_CheckExact(value) && is_floating(dtype.value_or(DType::f32)))
    return Tensor::scalar(PyFloat_AS_DOUBLE(value), dtype.value_or(DType::f32));
  if (!PyLong_CheckExact(value) || !dtype || !(is_floating(*dtype) || is_integer(*dtype))) return std::nullopt;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) return std::nullopt;
  if (is_floating(*dtype)) return Tensor::scalar(static_cast<double>(number), *dtype);
  return Tensor::scalar(static_cast<std::int64_t>(number), *dtype);
}

Tensor convert(PyObject* value, std::optional<DType> dtype, bool is_wish) {
  if (std::optional<Tensor> number = plain_number(value, dtype)) return *std::move(number);
  if (is_open_size(value)) return open_size_tensor(value, dtype);
  if (is_tensor(value) || is_variable(value)) {
    Tensor tensor = value_of(value);
    if (dtype && !is_wish && tensor.dtype() != *dtype)
      fail(ErrorCode::dtype_mismatch, "Tensor conversion requested dtype ", *dtype, " for Tensor with dtype ",
           tensor.dtype(), "; use tf.cast");
    return tensor;
  }
  if (is_numpy(value)) return is_wish ? from_numpy(value, dtype) : cast_numpy(value, dtype);
  if (!is_sequence(value) && PyObject_HasAttrString(value, "__fspath__")) {  // pathlib's names of files
    const Object path(checked(PyOS_FSPath(value)));
    return convert(path.get(), dtype, is_wish);
  }
  if (Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(classes.shape)) {
    const Object sizes(checked(PyObject_CallMethod(value, "as_list", nullptr)));
    return convert(sizes.get(), dtype.value_or(DType::i32), is_wish);
  }
  const Scan scan(value);
  if (scan.leaves() == Leaves::tensor) return stacked(value, dtype);
  if (scan.leaves() == Leaves::numpy) {
    if (PyObject_HasAttrString(value, "__tf_tensor__")) {  // TensorFlow's protocol for what knows how to become one
      const Object made(checked(PyObject_CallMethod(value, "__tf_tensor__", nullptr)));
      if (!is_tensor(made.get()))
        fail(ErrorCode::cannot_convert, "__tf_tensor__ of ", repr_of(value), " gives ", repr_of(made.get()),
             ", which is no tensor");
      return convert(made.get(), dtype, is_wish);
    }
    const bool understood = is_sequence(value) || PyObject_HasAttrString(value, "__array__") ||
                            PyObject_CheckBuffer(value) || PyFloat_Check(value) || PyLong_Check(value);
    if (!understood)
      fail(ErrorCode::cannot_convert, "Attempt to convert a value (", repr_of(value), ") with an unsupported type (",
           repr_of(reinterpret_cast<PyObject*>(Py_TYPE(value))), ") to a Tensor.");
    const Object array(as_array(value));
    if (dtype || !is_sequence(value)) return from_numpy(array.get(), dtype);
    const Tensor whole = from_numpy(array.get(), std::nullopt);
    const DType listed = listed_dtype(value, array.get(), whole);
    return listed == whole.dtype() ? whole : cast(whole, listed);
  }
  return filled(value, scan, dtype.value_or(natural_dtype(scan.leaves())));
}

}  // namespace

Tensor to_tensor(PyObject* value, std::optional<DType> dtype) { return convert(value, dtype, false); }
Tensor to_tensor_beside(PyObject* value, std::optional<DType> dtype) { return convert(value, dtype, true); }

std::optional<DType>& autocast_dtype() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

DType read_dtype(PyObject* variable) {
  const DType own = variable_of(variable).dtype();
  if (!autocast_dtype() || !is_floating(own)) return own;
  PyObject* attributes = reinterpret_cast<VariableObject*>(variable)->attributes;
  return attributes && PyDict_GetItemString(attributes, "autocast") == Py_False ? own : *autocast_dtype();
}

Tensor value_of(PyObject* object) {
  if (is_tensor(object)) return tensor_of(object);
  require_no_trace_of(object);
  const Variable& variable = variable_of(object);
  const DType dtype = read_dtype(object);
  return dtype == variable.dtype() ? held_by(object) : cast(held_by(object), dtype);
}

bool has_own_dtype(PyObject* value) { return is_tensor(value) || is_variable(value); }

bool can_be_operand(PyObject* value) {
  return has_own_dtype(value) || PyFloat_Check(value) || PyLong_Check(value) || is_sequence(value) ||
         PyUnicode_Check(value) || PyBytes_Check(value) || is_numpy(value) || is_open_size(value);
}

DType to_dtype(PyObject* value) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (classes.dtypes[i] == value) return static_cast<DType>(i);
  std::string name;
  if (PyUnicode_Check(value)) name = string_leaf(value);
  else if (value == reinterpret_cast<PyObject*>(&PyFloat_Type)) name = "float32";
  else if (value == reinterpret_cast<PyObject*>(&PyUnicode_Type) || value == reinterpret_cast<PyObject*>(&PyBytes_Type))
    name = "string";
  else if (value != Py_None) name = numpy_dtype_name(value);
  if (name == "int") return DType::i64;  // Python's, as NumPy and Keras read it
  if (const std::optional<DType> dtype = parse_dtype(name)) return *dtype;
  fail(ErrorCode::unsupported_dtype, "Cannot convert ", repr_of(value), " to a dtype; there are ",
       (kFixedSize | DTypeSet{DType::string}).to_string());
}

PyObject* dtype_object(DType dtype) {
  PyObject* object = classes.dtypes[static_cast<int>(dtype)];
  if (!object) raise(PyExc_ImportError, "import tandemflow, not its inner module");
  Py_INCREF(object);
  return object;
}

PyObject* shape_object(const Shape& shape) {
  const Object sizes(checked(PyTuple_New(shape.rank())));
  for (int i = 0; i < shape.rank(); ++i) PyTuple_SET_ITEM(sizes.get(), i, axis_object(shape[i]));
  if (!classes.shape) raise(PyExc_ImportError, "import tandemflow, not its inner module");
  // Past __init__, which checks what is known to be right here and takes ten times as long.
  auto* type = reinterpret_cast<PyTypeObject*>(classes.shape);
  static PyObject* const slot = PyUnicode_InternFromString("_dims");
  Object shape_instance(checked(type->tp_alloc(type, 0)));
  if (PyObject_SetAttr(shape_instance.get(), slot, sizes.get()) != 0) throw PythonErrorSet{};
  return shape_instance.release();
}

std::int64_t to_integer(PyObject* value) {
  if (const auto open = open_size_in(value)) return *open;
  if (PyBool_Check(value) || PyFloat_Check(value)) raise(PyExc_TypeError, "expected an integer, got ", repr_of(value));
  const Object index(checked(PyNumber_Index(value)));
  const long long number = PyLong_AsLongLong(index.get());
  if (number == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return not_open(static_cast<std::int64_t>(number));
}

double to_real(PyObject* value) {
  if (const auto open = open_size_in(value)) return static_cast<double>(*open);
  const double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return not_open(number);
}

void append_ints(PyObject* value, std::vector<std::int64_t>& out) {
  if (value == Py_None) return;
  if (PyLong_Check(value)) return out.push_back(to_integer(value));
  if (PyUnicode_Check(value) || PyBytes_Check(value) || PyFloat_Check(value) || PyDict_Check(value))
    raise(PyExc_TypeError, "expected integers, got ", repr_of(value));
  if (has_own_dtype(value) || is_numpy(value)) {
    const Tensor tensor = to_tensor(value);
    if (const auto* open = open_sizes_in(tensor)) {
      out.insert(out.end(), open->begin(), open->end());
      return;
    }
    if (!is_integer(tensor.dtype())) fail(ErrorCode::dtype_mismatch, "expected integers, got ", tensor.spec());
    visit_dtype(tensor.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>)
        for (T number : tensor.data<T>()) out.push_back(not_open(static_cast<std::int64_t>(number)));
    });
    return;
  }
  if (PyIndex_Check(value) || is_open_size(value)) return out.push_back(to_integer(value));
  const Object items(checked(PySequence_Fast(value, "expected an integer or a sequence of integers")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (item == Py_None) raise(PyExc_TypeError, "expected integers, got None among them: a size must be known");
    append_ints(item, out);
  }
}

void register_python_classes(PyObject* dtypes, PyObject* shape_class, PyObject* reference_class) {
  for (int i = 0; i < kDTypeCount; ++i) {
    Py_XDECREF(classes.dtypes[i]);
    classes.dtypes[i] = checked(PySequence_GetItem(dtypes, i));
  }
  Py_INCREF(shape_class);
  Py_INCREF(reference_class);
  Py_XDECREF(classes.shape);
  Py_XDECREF(classes.reference);
  classes.shape = shape_class;
  classes.reference = reference_class;
}

PyObject* reference_class() { return classes.reference; }

}  // namespace tandem::python
