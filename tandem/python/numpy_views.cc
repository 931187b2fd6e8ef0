// Tensors as NumPy arrays: views of the values, by NumPy's C interface, which costs a tenth of calling its Python
// functions.
#include "tandem/python/numpy_bridge.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <atomic>

#include "tandem/python/errors.h"
#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

std::atomic<bool> gives_copies = false;

/// NumPy's interface is imported at first need: programs that never look at values do without NumPy.
void need_numpy() {
  if (!PyArray_API && _import_array() != 0) throw PythonErrorSet{};
}

int type_number(DType dtype) {
  switch (dtype) {
    case DType::f16: return NPY_FLOAT16;
    case DType::f32: return NPY_FLOAT32;
    case DType::f64: return NPY_FLOAT64;
    case DType::i8: return NPY_INT8;
    case DType::u8: return NPY_UINT8;
    case DType::i32: return NPY_INT32;
    case DType::i64: return NPY_INT64;
    case DType::i16: return NPY_INT16;
    case DType::u16: return NPY_UINT16;
    case DType::u32: return NPY_UINT32;
    case DType::u64: return NPY_UINT64;
    case DType::boolean: return NPY_BOOL;
    default: return NPY_OBJECT;
  }
}

PyArray_Descr* descriptor(DType dtype) {
  need_numpy();
  return reinterpret_cast<PyArray_Descr*>(
      checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype)))));
}

/// What the host can read; others may go on while a device is waited for.
const void* values(const Tensor& tensor) {
  if (tensor.storage().space().is_host()) return tensor.raw_data();
  const WithoutGil without;
  return tensor.raw_data();
}

std::array<npy_intp, kMaxRank> sizes_of(const Shape& shape) {
  std::array<npy_intp, kMaxRank> sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[static_cast<std::size_t>(i)] = shape[i];
  return sizes;
}

/// A new array for values that are made for it.
Object fresh_array(const Shape& shape, int type) {
  need_numpy();
  auto sizes = sizes_of(shape);
  return Object(checked(PyArray_SimpleNew(shape.rank(), sizes.data(), type)));
}

PyObject* bytes_of(const std::string& s) {
  return checked(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

PyObject* array_of_strings(const Tensor& tensor) {
  const auto& strings = tensor.strings();
  Object array = fresh_array(tensor.shape(), NPY_OBJECT);
  auto** items = static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
  for (std::size_t i = 0; i < strings.size(); ++i) {
    PyObject* before = items[i];
    items[i] = bytes_of(strings[i]);
    Py_XDECREF(before);
  }
  return array.release();
}

/// NumPy has bfloat16 only where ml_dtypes is installed; elsewhere the values come as float32, which is exact.
PyObject* array_of_bfloats(const Tensor& tensor) {
  const auto* values_here = static_cast<const BFloat16*>(values(tensor));
  Object array = fresh_array(tensor.shape(), NPY_FLOAT32);
  auto* floats = static_cast<float*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
  for (std::int64_t i = 0; i < tensor.size(); ++i) floats[i] = static_cast<float>(values_here[i]);
  const Object module(PyImport_ImportModule("ml_dtypes"));
  if (!module) {
    PyErr_Clear();
    return array.release();
  }
  const Object dtype(checked(PyObject_GetAttrString(module.get(), "bfloat16")));
  return checked(PyObject_CallMethod(array.get(), "astype", "O", dtype.get()));
}

}  // namespace

PyObject* array_of(const Tensor& tensor, PyObject* owner) {
  if (tensor.dtype() == DType::string) return array_of_strings(tensor);
  if (tensor.dtype() == DType::bf16) return array_of_bfloats(tensor);
  if (tensor.size() == 0) return fresh_array(tensor.shape(), type_number(tensor.dtype())).release();
  Object keeper = owner ? Object::borrowed(owner) : Object(wrap(tensor));
  void* const data = const_cast<void*>(values(tensor));
  auto sizes = sizes_of(tensor.shape());
  PyArray_Descr* const dtype = descriptor(tensor.dtype());  // NewFromDescr takes it
  Object array(checked(PyArray_NewFromDescr(&PyArray_Type, dtype, tensor.rank(), sizes.data(), nullptr, data,
                                            NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED, nullptr)));
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.get()), keeper.release()) != 0)
    throw PythonErrorSet{};
  return array.release();
}

void give_copies(bool copies) { gives_copies.store(copies, std::memory_order_relaxed); }

PyObject* to_numpy(const Tensor& tensor, PyObject* owner) {
  if (tensor.rank() != 0 && gives_copies.load(std::memory_order_relaxed)) {
    const Object view(array_of(tensor, owner));
    return checked(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(view.get()), NPY_CORDER));
  }
  if (tensor.rank() != 0) return array_of(tensor, owner);
  if (tensor.dtype() == DType::string) return bytes_of(tensor.strings()[0]);
  if (tensor.dtype() == DType::bf16) {
    const Object array(array_of_bfloats(tensor));
    return checked(PyObject_GetItem(array.get(), Object(checked(PyTuple_New(0))).get()));
  }
  const Object dtype(reinterpret_cast<PyObject*>(descriptor(tensor.dtype())));
  return checked(
      PyArray_Scalar(const_cast<void*>(values(tensor)), reinterpret_cast<PyArray_Descr*>(dtype.get()), nullptr));
}

}  // namespace tandem::python
