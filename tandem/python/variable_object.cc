// The Python type Variable.
#include <unordered_map>

#include "tandem/core/print.h"
#include "tandem/op/ops.h"
#include "tandem/python/convert.h"
#include "tandem/python/device_scopes.h"
#include "tandem/python/function_object.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/objects.h"
#include "tandem/python/strategy_scope.h"
#include "tandem/python/symbolic.h"

namespace tandem::python {
namespace {

/// By id; the interpreter's lock guards it.
std::unordered_map<std::uint64_t, PyObject*>& living_variables() {
  static std::unordered_map<std::uint64_t, PyObject*> map;
  return map;
}

void dealloc(PyObject* self) {
  auto* object = reinterpret_cast<VariableObject*>(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->attributes);
  Py_CLEAR(object->open_shape);
  Py_CLEAR(object->own_values);
  const auto known = living_variables().find(variable_of(self).id());
  if (known != living_variables().end() && known->second == self) living_variables().erase(known);
  variable_of(self).~Variable();
  Py_TYPE(self)->tp_free(self);
}

/// Keeps what was given as an attribute of the variable.
void keep(PyObject* variable, const char* name, PyObject* value) {
  if (value && PyObject_SetAttrString(variable, name, value) < 0) throw PythonErrorSet{};
}

bool fits(PyObject* wanted, const Shape& shape) {
  const Object given(shape_object(shape));
  const Object answer(checked(PyObject_CallMethod(given.get(), "is_compatible_with", "O", wanted)));
  return answer.get() == Py_True;
}

std::string text_of(PyObject* object) {
  const Object text(checked(PyObject_Str(object)));
  return PyUnicode_AsUTF8(text.get());
}

/// The TensorShape of shape=, if it leaves something open; the initial value must fit it.
PyObject* open_shape(PyObject* wanted, const Shape& shape) {
  if (!fits(wanted, shape))
    raise(PyExc_ValueError, "tf.Variable: the initial_value has shape ", shape,
          ", which does not fit shape=", text_of(wanted));
  const Object given(shape_object(shape));
  Object whole(checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(given.get())), wanted)));
  const Object defined(checked(PyObject_CallMethod(whole.get(), "is_fully_defined", nullptr)));
  return defined.get() == Py_True ? nullptr : whole.release();
}

PyObject* open_shape_of(PyObject* variable) { return reinterpret_cast<VariableObject*>(variable)->open_shape; }

/// Gives a variable whose shape is open a place for values of another shape.
void move_to_shape_of(const Tensor& value, PyObject* self) {
  Variable& variable = variable_of(self);
  if (value.shape() == variable.shape() || value.dtype() != variable.dtype()) return;
  if (!fits(open_shape_of(self), value.shape()))
    raise(PyExc_ValueError, "variable '", variable.name(), "' takes values of shape ", text_of(open_shape_of(self)),
          ", got shape ", value.shape());
  Variable moved(value, variable.trainable(), variable.name());
  living_variables().erase(variable.id());
  living_variables().emplace(moved.id(), self);
  variable = std::move(moved);
}

/// Accepts what TensorFlow accepts; what has no meaning here is ignored.
/// What stands for a variable of complex numbers, which is written in Python; null when they are none.
PyObject* complex_variable(PyObject* initial, PyObject* dtype, bool trainable, const std::string& name) {
  const Object module(checked(PyImport_ImportModule("tandemflow._complex_variable")));
  Object made(checked(
      PyObject_CallMethod(module.get(), "made", "OOOs", initial, dtype, trainable ? Py_True : Py_False, name.c_str())));
  return made.get() == Py_None ? nullptr : made.release();
}

/// A variable lies on the device of the scope it is made in, wherever its first value comes from.
Tensor where_it_was_asked_for(const Tensor& value) {
  const std::optional<DeviceName> device = requested_device();
  if (!device || in_strategy_scope || value.is_symbolic() || value.device() == device->long_name()) return value;
  return identity(value);
}

bool is_on_read(PyObject* synchronization) { return text_of(synchronization).ends_with("ON_READ"); }

/// A strategy and a variable for each of its replicas; null where they have one value in common.
PyObject* own_values(const Tensor& value, const std::string& name, PyObject* aggregation, bool on_read) {
  const Object module(checked(PyImport_ImportModule("tandemflow._own_values"))), initial(wrap(value));
  Object made(checked(PyObject_CallMethod(module.get(), "made", "OsOO", initial.get(), name.c_str(),
                                          aggregation ? aggregation : Py_None, on_read ? Py_True : Py_False)));
  return made.get() == Py_None ? nullptr : made.release();
}

PyObject* own_values_of(PyObject* variable) { return reinterpret_cast<VariableObject*>(variable)->own_values; }

PyObject* make(PyTypeObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"initial_value",
                                  "trainable",
                                  "validate_shape",
                                  "caching_device",
                                  "name",
                                  "variable_def",
                                  "dtype",
                                  "import_scope",
                                  "constraint",
                                  "synchronization",
                                  "aggregation",
                                  "shape",
                                  "experimental_enable_variable_lifting",
                                  nullptr};
    PyObject *initial = nullptr, *trainable = Py_None, *ignored = nullptr, *dtype = Py_None, *constraint = nullptr,
             *shape = Py_None;
    PyObject *synchronization = nullptr, *aggregation = nullptr;
    const char* name = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOOzOOOOOOOO:Variable", const_cast<char**>(names), &initial,
                                     &trainable, &ignored, &ignored, &name, &ignored, &dtype, &ignored, &constraint,
                                     &synchronization, &aggregation, &shape, &ignored))
      throw PythonErrorSet{};
    if (!initial || initial == Py_None)
      raise(PyExc_ValueError,
            "tf.Variable needs an initial_value: a tensor, a number, a list, or a function that makes one");
    note_variable_creation();
    Object made;
    if (PyCallable_Check(initial) && !has_own_dtype(initial)) {
      made = Object(checked(PyObject_CallNoArgs(initial)));
      initial = made.get();
    }
    const bool on_read = synchronization && is_on_read(synchronization);
    const bool is_trainable = trainable == Py_None ? !on_read : PyObject_IsTrue(trainable) == 1;
    const std::string full_name = name_scope() + (name ? name : "Variable");
    Tensor value;
    try {
      value = to_tensor(initial, dtype == Py_None ? std::nullopt : std::optional(to_dtype(dtype)));
    } catch (const Error&) {
      if (PyObject* other = complex_variable(initial, dtype, is_trainable, full_name)) return other;
      throw;
    }
    value = where_it_was_asked_for(value);
    Object open(shape == Py_None ? nullptr : open_shape(shape, value.shape()));
    Object variable(wrap(Variable(value, is_trainable, full_name)));
    reinterpret_cast<VariableObject*>(variable.get())->open_shape = open.release();
    keep(variable.get(), "constraint", constraint);
    keep(variable.get(), "synchronization", synchronization);
    keep(variable.get(), "aggregation", aggregation);
    if (in_strategy_scope) keep(variable.get(), "_mirrored", Py_True);
    if (in_strategy_scope && (on_read || aggregation))
      reinterpret_cast<VariableObject*>(variable.get())->own_values =
          own_values(value, full_name, aggregation, on_read);
    return variable.release();
  });
}

/// A variable of a layer, an optimizer or a metric has a path, "dense/kernel", and is Keras' Variable: called by its
/// last part.
PyObject* path_of(PyObject* self) {
  PyObject* attributes = reinterpret_cast<VariableObject*>(self)->attributes;
  return attributes ? PyDict_GetItemString(attributes, "path") : nullptr;
}

/// As Keras shows its Variables.
std::string described_by(PyObject* path, PyObject* self) {
  const Variable& variable = variable_of(self);
  const std::string start = "<Variable path=" + text_of(path) + ", shape=" + tuple_text(variable.shape()) +
                            ", dtype=" + std::string(dtype_name(variable.dtype()));
  if (held_by(self).is_symbolic()) return start + ">";
  const Object array(checked(PyObject_CallMethod(self, "numpy", nullptr)));
  return start + ", value=" + text_of(array.get()) + ">";
}

std::string described(PyObject* self) {
  if (PyObject* path = path_of(self)) return described_by(path, self);
  const Variable& variable = variable_of(self);
  const std::string shape = open_shape_of(self) ? text_of(open_shape_of(self)) : tuple_text(variable.shape());
  const std::string start =
      "<tf.Variable '" + variable.name() + ":0' shape=" + shape + " dtype=" + std::string(dtype_name(variable.dtype()));
  const Tensor held = held_by(self);
  if (held.is_symbolic()) return start + ">";
  const std::string value = numpy_value_repr(held);
  return start + ", numpy=" + (value.find('\n') == value.npos ? "" : "\n") + value + ">";
}

PyObject* text_object(const std::string& text) {
  return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}
PyObject* to_repr(PyObject* self) {
  return guarded([&] { return text_object(described(self)); });
}

PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] {
    Object dtype(dtype_object(variable_of(self).dtype()));
    return path_of(self) ? checked(PyObject_GetAttrString(dtype.get(), "keras_name")) : dtype.release();
  });
}
PyObject* get_shape(PyObject* self, void*) {
  return guarded(
      [&] { return open_shape_of(self) ? Py_NewRef(open_shape_of(self)) : shape_object(variable_of(self).shape()); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(variable_of(self).shape().rank()); }
PyObject* get_name(PyObject* self, void*) {
  return guarded([&] { return text_object(variable_of(self).name() + (path_of(self) ? "" : ":0")); });
}
/// What was said last; tapes go by how the variable was made, which gives frozen ones gradients that nobody asks for.
constexpr const char* kTrainable = "_trainable";
PyObject* get_trainable(PyObject* self, void*) {
  PyObject* attributes = reinterpret_cast<VariableObject*>(self)->attributes;
  PyObject* said = attributes ? PyDict_GetItemString(attributes, kTrainable) : nullptr;
  return said ? Py_NewRef(said) : PyBool_FromLong(variable_of(self).trainable());
}
int set_trainable(PyObject* self, PyObject* value, void*) {
  const int trainable = value ? PyObject_IsTrue(value) : -1;
  if (!value) PyErr_SetString(PyExc_AttributeError, "trainable cannot be deleted");
  if (trainable < 0) return -1;
  return PyObject_SetAttrString(self, kTrainable, trainable ? Py_True : Py_False);
}
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return text_object(variable_of(self).cell()->read().device()); });
}
PyObject* get_priority(PyObject*, void*) { return PyFloat_FromDouble(100); }

/// How replicas use it: as it was made, else as TensorFlow's default says.
struct HowReplicasUseIt {
  const char *name, *kinds, *fallback;
};
constexpr HowReplicasUseIt kAggregation{"aggregation", "VariableAggregation", "NONE"},
    kSynchronization{"synchronization", "VariableSynchronization", "AUTO"};

PyObject* get_how(PyObject* self, void* which) {
  return guarded([&] {
    const auto& [name, kinds, fallback] = *static_cast<const HowReplicasUseIt*>(which);
    PyObject* attributes = reinterpret_cast<VariableObject*>(self)->attributes;
    if (PyObject* given = attributes ? PyDict_GetItemString(attributes, name) : nullptr) return Py_NewRef(given);
    const Object module(checked(PyImport_ImportModule("tandemflow._graph_names")));
    const Object kind(checked(PyObject_GetAttrString(module.get(), kinds)));
    const bool mirrored = attributes && PyDict_GetItemString(attributes, "_mirrored") && which == &kSynchronization;
    return checked(PyObject_GetAttrString(kind.get(), mirrored ? "ON_WRITE" : fallback));
  });
}
int set_how(PyObject* self, PyObject* value, void* which) {
  const Object attributes(PyObject_GenericGetDict(self, nullptr));
  if (!attributes.get()) return -1;
  const char* name = static_cast<const HowReplicasUseIt*>(which)->name;
  return value ? PyDict_SetItemString(attributes.get(), name, value) : PyDict_DelItemString(attributes.get(), name);
}

PyObject* get_own_values(PyObject* self, void*) {
  return Py_NewRef(own_values_of(self) ? own_values_of(self) : Py_None);
}

PyGetSetDef properties[] = {
    {"_own_values", get_own_values, nullptr, nullptr, nullptr},
    {"dtype", get_dtype, nullptr, "The dtype of the elements.", nullptr},
    {"shape", get_shape, nullptr, "The sizes of the axes.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"name", get_name, nullptr, "The name, with TensorFlow's ':0'.", nullptr},
    {"trainable", get_trainable, set_trainable, "Whether tapes watch it by themselves.", nullptr},
    {"device", get_device, nullptr, "The device that holds the value.", nullptr},
    {"aggregation", get_how, set_how, "What becomes of the values that replicas assign.",
     const_cast<HowReplicasUseIt*>(&kAggregation)},
    {"synchronization", get_how, set_how, "When replicas agree about it.",
     const_cast<HowReplicasUseIt*>(&kSynchronization)},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

using Assign = const Variable& (Variable::*)(const Tensor&) const;

/// A variable that was made with an aggregation or in the scope of a strategy is assigned once for all replicas
/// (tandemflow/_replica.py); false: by the caller, alone.
bool assigned_together(PyObject* self, const char* method, PyObject* value) {
  PyObject* attributes = reinterpret_cast<VariableObject*>(self)->attributes;
  if (!attributes ||
      (!PyDict_GetItemString(attributes, "aggregation") && !PyDict_GetItemString(attributes, "_mirrored")))
    return false;
  const Object module(checked(PyImport_ImportModule("tandemflow._replica")));
  const Object done(checked(PyObject_CallMethod(module.get(), "assigned_together", "OsO", self, method, value)));
  return PyObject_IsTrue(done.get()) == 1;
}

template <Assign kAssign>
constexpr const char* kMethod = kAssign == &Variable::assign       ? "assign"
                                : kAssign == &Variable::assign_add ? "assign_add"
                                                                   : "assign_sub";

/// assign(value, use_locking=False, name=None, read_value=True): returns the variable.
template <Assign kAssign>
PyObject* assign(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"value", "use_locking", "name", "read_value", nullptr};
    static const char* delta_names[] = {"delta", "use_locking", "name", "read_value", nullptr};
    const bool is_assign = kAssign == &Variable::assign;
    PyObject *value = nullptr, *ignored = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOO", const_cast<char**>(is_assign ? names : delta_names),
                                     &value, &ignored, &ignored, &ignored))
      throw PythonErrorSet{};
    require_no_trace_of(self);
    if (!assigned_together(self, kMethod<kAssign>, value)) {
      const Tensor given = to_tensor_beside(value, variable_of(self).dtype());
      if (is_assign && open_shape_of(self)) move_to_shape_of(given, self);
      (variable_of(self).*kAssign)(given);
    }
    Py_INCREF(self);
    return self;
  });
}

PyObject* read(PyObject* self, PyObject*) {
  return guarded([&] {
    require_no_trace_of(self);
    return wrap(held_by(self));
  });
}
PyObject* numpy(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor value = held_by(self);
    require_value(value, "as a NumPy array", "return it from the function and read it outside");
    return to_numpy(value);
  });
}
PyObject* array(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    const Object value(wrap(held_by(self)));
    const Object method(checked(PyObject_GetAttrString(value.get(), "__array__")));
    return checked(PyObject_Call(method.get(), args, keywords));
  });
}
PyObject* format(PyObject* self, PyObject* spec) {
  return guarded([&] {
    const Object text(to_repr(self));
    return checked(PyObject_Format(text.get(), spec));
  });
}
PyObject* ref(PyObject* self, PyObject*) {
  return guarded([&] { return checked(PyObject_CallOneArg(reference_class(), self)); });
}

PyMethodDef methods[] = {
    {"assign", as_method(assign<&Variable::assign>), METH_VARARGS | METH_KEYWORDS, "Replaces the value."},
    {"assign_add", as_method(assign<&Variable::assign_add>), METH_VARARGS | METH_KEYWORDS, "Adds to the value."},
    {"assign_sub", as_method(assign<&Variable::assign_sub>), METH_VARARGS | METH_KEYWORDS, "Subtracts from the value."},
    {"value", read, METH_NOARGS, "value()\n--\n\nThe value as it is now."},
    {"read_value", read, METH_NOARGS, "read_value()\n--\n\nThe value as it is now."},
    {"numpy", numpy, METH_NOARGS,
     "numpy()\n--\n\nThe values as they are now, as a read-only NumPy array without a copy; .numpy().copy() may be "
     "written to."},
    {"_repr_html_", repr_html, METH_NOARGS, nullptr},
    {"__array__", as_method(array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__format__", format, METH_O, nullptr},
    {"ref", ref, METH_NOARGS, "ref()\n--\n\nA hashable reference, for dictionaries and sets."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject variable_type = {
    .ob_base = {PyObject_HEAD_INIT(nullptr) 0},
    .tp_name = "tandemflow.Variable",
    .tp_basicsize = sizeof(VariableObject),
    .tp_dealloc = dealloc,
    .tp_repr = to_repr,
    .tp_as_number = &operator_methods,
    .tp_as_sequence = &sequence_methods,
    .tp_as_mapping = &indexing_methods,
    .tp_hash = unhashable,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc =
        "Variable(initial_value, trainable=True, name=None, dtype=None)\n--\n\n"
        "A tensor that can be assigned. Ops read its value; gradient tapes watch it when it is trainable.",
    .tp_richcompare = rich_compare,
    .tp_weaklistoffset = offsetof(VariableObject, weak_references),
    .tp_iter = iterate,
    .tp_methods = methods,
    .tp_getset = properties,
    .tp_dictoffset = offsetof(VariableObject, attributes),
    .tp_new = make,
};

std::string& name_scope() {
  thread_local std::string scope;
  return scope;
}

PyObject* wrap(Variable value) {
  auto* object = PyObject_New(VariableObject, &variable_type);
  if (!object) throw PythonErrorSet{};
  new (&object->value) Variable(std::move(value));
  object->attributes = object->weak_references = object->open_shape = object->own_values = nullptr;
  living_variables().emplace(object->value.id(), reinterpret_cast<PyObject*>(object));
  return reinterpret_cast<PyObject*>(object);
}

void require_no_trace_of(PyObject* variable) {
  if (!is_variable(variable) || !open_shape_of(variable) || !Trace::current()) return;
  const Object errors(checked(PyImport_ImportModule("tandemflow.errors")));
  const Object type(checked(PyObject_GetAttrString(errors.get(), "OpByOpError")));
  raise(type.get(), "variable '", variable_of(variable).name(), "' takes values of several shapes (",
        text_of(open_shape_of(variable)), ")");
}

Tensor held_by(PyObject* variable) {
  if (!own_values_of(variable)) [[likely]]
    return variable_of(variable).value();
  const Object module(checked(PyImport_ImportModule("tandemflow._own_values")));
  const Object value(checked(PyObject_CallMethod(module.get(), "value_of", "O", variable)));
  return tensor_of(value.get());
}

PyObject* find_variable(std::uint64_t id) {
  const auto found = living_variables().find(id);
  return found == living_variables().end() ? nullptr : found->second;
}

}  // namespace tandem::python
