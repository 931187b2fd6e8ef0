// The Python types written by hand for speed: Tensor, Variable and the function of an op.
#pragma once
#include <Python.h>

#include <optional>

#include "tandem/autodiff/variable.h"
#include "tandem/op/op_def.h"

namespace tandem::python {

struct TensorObject {
  PyObject_HEAD Tensor value;
  PyObject* attributes;  // a dict once somebody has set one: layers note masks so
};
struct VariableObject {
  PyObject_HEAD Variable value;
  PyObject* attributes;  // a dict once somebody has set one
  PyObject* weak_references;
  PyObject* open_shape;  // the TensorShape of a variable that may take values of several shapes, else null
  PyObject* own_values;  // of replicas: a strategy and a variable for each (tandemflow/_own_values.py), else null
};

extern PyTypeObject tensor_type;
extern PyTypeObject variable_type;
extern PyTypeObject op_function_type;

inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == &tensor_type; }
inline bool is_variable(PyObject* object) { return Py_TYPE(object) == &variable_type; }
inline Tensor& tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->value; }
inline Variable& variable_of(PyObject* object) { return reinterpret_cast<VariableObject*>(object)->value; }

/// New references.
PyObject* wrap(Tensor value);
PyObject* wrap(Variable value);
/// The object of the variable with this id, borrowed; null when it is gone.
PyObject* find_variable(std::uint64_t id);
/// A trace has one shape for a variable: functions that meet one of several run op by op.
void require_no_trace_of(PyObject* variable);
/// What this thread's variables are named under: "dense/" inside `with tf.name_scope("dense")`, else empty.
std::string& name_scope();
PyObject* make_op_function(const OpDef& op);

/// A method that takes keywords, as method tables want it.
template <class F>
PyCFunction as_method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Prepares the types; call once.
void ready_types();

/// The methods and operators that tensors and variables share.
extern PyNumberMethods operator_methods;
extern PyMappingMethods indexing_methods;
extern PySequenceMethods sequence_methods;
extern PyBufferProcs buffer_procedures;  // of tensors
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* keywords);
/// For notebooks.
PyObject* repr_html(PyObject* self, PyObject*);
PyObject* rich_compare(PyObject* a, PyObject* b, int comparison);
Py_hash_t unhashable(PyObject* self);
PyObject* iterate(PyObject* self);
/// tensor[key]: integers, slices, Ellipsis and None.
Tensor index_tensor(const Tensor& tensor, PyObject* key);

/// What a variable holds; of one that replicas have by themselves, the replica's own or what all make together.
Tensor held_by(PyObject* variable);
/// What a tensor or variable holds; floating variables are read in the dtype of `autocast`, if there is
/// one and the variable does not say `autocast = False`.
Tensor value_of(PyObject* object);
DType read_dtype(PyObject* variable);
/// Of the calling thread: how layers of mixed precision read their variables.
std::optional<DType>& autocast_dtype();

}  // namespace tandem::python
