// DLPack: tensors handed to and taken from other libraries without a copy. The structures are the protocol's,
// version 1.0 and the unversioned one before it.
#include <memory>

#include "tandem/python/convert.h"
#include "tandem/core/lent_memory.h"
#include "tandem/python/module.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/symbolic.h"

namespace tandem::python {
namespace {

struct DLDevice {
  std::int32_t type, id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor tensor;
};
constexpr std::int32_t kHost = 1, kPinnedHost = 3;
constexpr std::uint64_t kReadOnly = 1;
enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };
constexpr const char *kOld = "dltensor", *kNew = "dltensor_versioned";
constexpr const char *kUsedOld = "used_dltensor", *kUsedNew = "used_dltensor_versioned";

constexpr struct {
  DType dtype;
  DLDataType type;
} kTypes[] = {{DType::f16, {kFloat, 16, 1}},   {DType::f32, {kFloat, 32, 1}}, {DType::f64, {kFloat, 64, 1}},
              {DType::bf16, {kBFloat, 16, 1}}, {DType::i8, {kInt, 8, 1}},     {DType::u8, {kUInt, 8, 1}},
              {DType::i32, {kInt, 32, 1}},     {DType::i64, {kInt, 64, 1}},   {DType::i16, {kInt, 16, 1}},
              {DType::u16, {kUInt, 16, 1}},    {DType::u32, {kUInt, 32, 1}},  {DType::u64, {kUInt, 64, 1}},
              {DType::boolean, {kBool, 8, 1}}};

DLDataType type_of(DType dtype) {
  for (const auto& known : kTypes)
    if (known.dtype == dtype) return known.type;
  raise(PyExc_BufferError, "DLPack has no ", dtype);
}

DType dtype_of(const DLDataType& type) {
  for (const auto& known : kTypes)
    if (known.type.code == type.code && known.type.bits == type.bits && known.type.lanes == type.lanes)
      return known.dtype;
  raise(PyExc_TypeError, "from_dlpack: no dtype here holds DLPack's code ", int{type.code}, " of ", int{type.bits},
        " bits and ", type.lanes, " lanes; convert it first, for example to float32 or int64");
}

/// What others hold: the structure they asked for, the tensor, and its sizes.
template <class Managed>
struct Handed {
  Managed managed{};
  Tensor tensor;
  std::int64_t shape[kMaxRank], strides[kMaxRank];

  explicit Handed(Tensor given) : tensor(std::move(given)) {
    std::int64_t step = 1;
    for (int i = tensor.rank() - 1; i >= 0; --i) {
      shape[i] = tensor.shape()[i];
      strides[i] = step;
      step *= shape[i];
    }
    managed.tensor = {
        const_cast<void*>(tensor.raw_data()), {kHost, 0}, tensor.rank(), type_of(tensor.dtype()), shape, strides, 0};
    managed.context = this;
    managed.deleter = [](Managed* self) { delete static_cast<Handed*>(self->context); };
  }
};

template <class Managed>
void drop_unused(PyObject* capsule) {
  const char* name = std::is_same_v<Managed, DLManagedTensor> ? kOld : kNew;
  if (!PyCapsule_IsValid(capsule, name)) return;  // somebody took it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
PyObject* capsule_of(std::unique_ptr<Handed<Managed>> handed) {
  const char* name = std::is_same_v<Managed, DLManagedTensor> ? kOld : kNew;
  PyObject* capsule = checked(PyCapsule_New(&handed->managed, name, drop_unused<Managed>));
  handed.release();  // the capsule's now
  return capsule;
}

bool knows_versions(PyObject* max_version) {
  if (max_version == Py_None) return false;
  const Object first(checked(PySequence_GetItem(max_version, 0)));
  return to_integer(first.get()) >= 1;
}

/// (type, id) of the device the values are asked for on; only the host has them.
void require_host(PyObject* device) {
  if (device == Py_None) return;
  const Object type(checked(PySequence_GetItem(device, 0)));
  if (to_integer(type.get()) != kHost)
    raise(PyExc_BufferError, "__dlpack__: the values are handed out on the host, DLPack's device (1, 0), got type ",
          to_integer(type.get()));
}

bool is_dense(const DLTensor& tensor) {
  if (!tensor.strides) return true;
  std::int64_t step = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) return false;
    step *= tensor.shape[i];
  }
  return true;
}

template <class Managed>
Tensor taken(Managed* managed) {
  const DLTensor& given = managed->tensor;
  if (given.device.type != kHost && given.device.type != kPinnedHost)
    raise(PyExc_BufferError, "from_dlpack: the tensor is on a device of DLPack's type ", given.device.type,
          "; bring it to the host first");
  if (given.ndim > kMaxRank)
    raise(PyExc_ValueError, "from_dlpack: ", given.ndim, " axes; at most ", kMaxRank, " are possible");
  if (!is_dense(given))
    raise(PyExc_ValueError,
          "from_dlpack: the values do not lie side by side, row by row; make a contiguous copy first");
  const TensorSpec spec(dtype_of(given.dtype),
                        Shape(std::span<const std::int64_t>(given.shape, static_cast<std::size_t>(given.ndim))));
  char* const data = static_cast<char*>(given.data) + given.byte_offset;
  return lent_tensor(spec, data, Tensor(0).impl()->decision, [managed] {
    if (managed->deleter) managed->deleter(managed);
  });
}

template <class Managed>
Tensor take(PyObject* capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  Tensor tensor = taken(managed);
  if (PyCapsule_SetName(capsule, used) != 0) throw PythonErrorSet{};
  return tensor;
}

/// Asks for version 1; libraries before it do not know the argument.
Object capsule_from(PyObject* object) {
  const Object method(checked(PyObject_GetAttrString(object, "__dlpack__")));
  const Object none(checked(PyTuple_New(0)));
  const Object newest(checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)));
  Object capsule(PyObject_Call(method.get(), none.get(), newest.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = Object(PyObject_CallNoArgs(method.get()));
  }
  checked(capsule.get());
  return capsule;
}

Tensor from_dlpack(PyObject* value) {
  if (!PyCapsule_CheckExact(value) && !PyObject_HasAttrString(value, "__dlpack__"))
    raise(PyExc_TypeError, "from_dlpack needs a DLPack capsule or an object with __dlpack__, got ",
          Py_TYPE(value)->tp_name);
  const Object capsule = PyCapsule_CheckExact(value) ? Object::borrowed(value) : capsule_from(value);
  if (PyCapsule_IsValid(capsule.get(), kNew)) return take<DLManagedTensorVersioned>(capsule.get(), kNew, kUsedNew);
  if (PyCapsule_IsValid(capsule.get(), kOld)) return take<DLManagedTensor>(capsule.get(), kOld, kUsedOld);
  raise(PyExc_ValueError, "from_dlpack: the capsule holds no tensor, or one that was taken already");
}

}  // namespace

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", const_cast<char**>(names), &stream, &max_version,
                                     &device, &copy))
      throw PythonErrorSet{};
    Tensor tensor = tensor_of(self);
    require_value(tensor, "as a DLPack tensor", "return it from the function and hand it on outside");
    type_of(tensor.dtype());  // strings end here
    require_host(device);
    if (copy == Py_True)
      tensor = Tensor::from_bytes(tensor.raw_data(), static_cast<std::size_t>(tensor.size()), tensor.spec());
    if (!knows_versions(max_version)) return capsule_of(std::make_unique<Handed<DLManagedTensor>>(std::move(tensor)));
    auto handed = std::make_unique<Handed<DLManagedTensorVersioned>>(std::move(tensor));
    handed->managed.major = 1;
    handed->managed.flags = copy == Py_True ? 0 : kReadOnly;
    return capsule_of(std::move(handed));
  });
}

void add_lending(nb::module_& module) {
  module.def("from_dlpack", [](nb::handle value) { return to_object(from_dlpack(value.ptr())); });
  module.def("numpy_gives_copies", &give_copies, nb::arg("copies"));
  module.def(
      "lend",
      [](nb::handle array) -> nb::object {
        if (!is_numpy(array.ptr())) return nb::none();
        const std::optional<Tensor> tensor = lend_numpy(array.ptr());
        return tensor ? to_object(*tensor) : nb::none();
      },
      "A tensor over a NumPy array's own memory, for as long as the array does not change; None where that cannot be.");
}

}  // namespace tandem::python
