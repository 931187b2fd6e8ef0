// The Python type Tensor.
#include "tandem/core/print.h"
#include "tandem/python/convert.h"
#include "tandem/python/function_object.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/objects.h"
#include "tandem/python/symbolic.h"

namespace tandem::python {
namespace {

void dealloc(PyObject* self) {
  Py_CLEAR(reinterpret_cast<TensorObject*>(self)->attributes);
  tensor_of(self).~Tensor();
  PyObject_Free(self);
}

PyObject* text_object(const std::string& text) {
  return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// The name that a traced function gave its argument; empty for others.
std::string given_name(PyObject* self) {
  PyObject* attributes = reinterpret_cast<TensorObject*>(self)->attributes;
  PyObject* name = attributes ? PyDict_GetItemString(attributes, "name") : nullptr;
  const char* utf8 = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return utf8 ? utf8 : "";
}

PyObject* to_str(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return text_object(tensor.is_symbolic() ? symbolic_str(tensor, given_name(self)) : tensor.to_string());
  });
}
PyObject* to_repr(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    return text_object(tensor.is_symbolic() ? symbolic_repr(tensor, given_name(self)) : tensor.repr());
  });
}

PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] { return dtype_object(tensor_of(self).dtype()); });
}
PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return shape_object(tensor_of(self).shape()); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self).rank()); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return text_object(tensor_of(self).device()); });
}
PyObject* get_priority(PyObject*, void*) { return PyFloat_FromDouble(100); }

PyGetSetDef properties[] = {{"dtype", get_dtype, nullptr, "The dtype of the elements.", nullptr},
                            {"shape", get_shape, nullptr, "The sizes of the axes.", nullptr},
                            {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
                            {"device", get_device, nullptr, "The device that produced it.", nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            // NumPy leaves array + tensor to the tensor because of it.
                            {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// What the tensor holds, for NumPy.
Tensor concrete_value(PyObject* self) {
  require_value(tensor_of(self), "as a NumPy array", "return it from the function and read it outside");
  return tensor_of(self);
}

PyObject* numpy(PyObject* self, PyObject*) {
  return guarded([&] { return to_numpy(concrete_value(self), self); });
}

/// numpy.asarray(tensor) calls it; its scalars must be arrays here. A view, unless dtype or copy ask for more.
PyObject* array(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"dtype", "copy", nullptr};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", const_cast<char**>(names), &dtype, &copy))
      throw PythonErrorSet{};
    Object result(array_of(concrete_value(self), self));
    if (dtype != Py_None) {
      const Object as_type(checked(PyObject_GetAttrString(result.get(), "astype")));
      const Object how(checked(Py_BuildValue("{s:O}", "copy", Py_False)));
      Object converted(checked(PyObject_Call(as_type.get(), Object(checked(PyTuple_Pack(1, dtype))).get(), how.get())));
      if (copy == Py_False && converted.get() != result.get())
        raise(PyExc_ValueError, "a tensor of ", tensor_of(self).dtype(), " as an array of another dtype is a copy");
      result = std::move(converted);
    }
    if (copy != Py_True) return result.release();
    return checked(PyObject_CallMethod(result.get(), "copy", nullptr));
  });
}

PyObject* format(PyObject* self, PyObject* spec) {
  return guarded([&] {
    const Object value(tensor_of(self).is_symbolic() ? to_str(self) : to_numpy(tensor_of(self)));
    return checked(PyObject_Format(value.get(), spec));
  });
}

PyObject* ref(PyObject* self, PyObject*) {
  return guarded([&] { return checked(PyObject_CallOneArg(reference_class(), self)); });
}

PyObject* get_shape_method(PyObject* self, PyObject*) { return get_shape(self, nullptr); }

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }  // the host

PyObject* copied(PyObject* self, PyObject*) {  // tensors never change: a copy is the tensor itself
  Py_INCREF(self);
  return self;
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Object module(checked(PyImport_ImportModule("tandemflow")));
    const Object constant(checked(PyObject_GetAttrString(module.get(), "constant")));
    const Object value(to_numpy(tensor_of(self)));
    const std::string name(dtype_name(tensor_of(self).dtype()));
    return checked(Py_BuildValue("O(Os)", constant.get(), value.get(), name.c_str()));
  });
}

PyMethodDef methods[] = {{"numpy", numpy, METH_NOARGS,
                          "numpy()\n--\n\nThe values as a read-only NumPy array without a copy, or as a NumPy scalar; "
                          ".numpy().copy() may be written to."},
                         {"__array__", as_method(array), METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"__dlpack__", as_method(to_dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
                         {"_repr_html_", repr_html, METH_NOARGS, nullptr},
                         {"__format__", format, METH_O, nullptr},
                         {"__copy__", copied, METH_NOARGS, nullptr},
                         {"__deepcopy__", copied, METH_O, nullptr},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"ref", ref, METH_NOARGS, "ref()\n--\n\nA hashable reference, for dictionaries and sets."},
                         {"get_shape", get_shape_method, METH_NOARGS, "get_shape()\n--\n\nThe sizes of the axes."},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject tensor_type = {
    .ob_base = {PyObject_HEAD_INIT(nullptr) 0},
    .tp_name = "tandemflow.Tensor",
    .tp_basicsize = sizeof(TensorObject),
    .tp_dealloc = dealloc,
    .tp_repr = to_repr,
    .tp_as_number = &operator_methods,
    .tp_as_sequence = &sequence_methods,
    .tp_as_mapping = &indexing_methods,
    .tp_hash = unhashable,
    .tp_str = to_str,
    .tp_as_buffer = &buffer_procedures,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A tensor: a value with a dtype and a shape. Made by ops and by tf.constant; it never changes.",
    .tp_richcompare = rich_compare,
    .tp_iter = iterate,
    .tp_methods = methods,
    .tp_getset = properties,
    .tp_dictoffset = offsetof(TensorObject, attributes),
};

PyObject* repr_html(PyObject* self, PyObject*) {
  return guarded([&] {
    const Object module(checked(PyImport_ImportModule("tandemflow._html")));
    return checked(PyObject_CallMethod(module.get(), "of_tensor", "O", self));
  });
}

PyObject* wrap(Tensor value) {
  auto* object = PyObject_New(TensorObject, &tensor_type);
  if (!object) throw PythonErrorSet{};
  new (&object->value) Tensor(std::move(value));
  object->attributes = nullptr;
  return reinterpret_cast<PyObject*>(object);
}

void ready_types() {
  for (PyTypeObject* type : {&tensor_type, &variable_type, &op_function_type, &function_type})
    if (PyType_Ready(type) != 0) throw PythonErrorSet{};
}

}  // namespace tandem::python
