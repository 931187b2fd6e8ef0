// The function of an op: one Python type for all, its parameters read from the record.
#include <algorithm>
#include <array>
#include <vector>

#include "tandem/op/ops.h"
#include "tandem/python/convert.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/objects.h"
#include "tandem/python/open_sizes.h"
#include "tandem/python/run_op.h"
#include "tandem/python/string_operators.h"

namespace tandem::python {
namespace {

constexpr int kMaxParameters = 20;  // inputs, attributes and name

struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  int parameter_count;
  std::array<PyObject*, kMaxParameters> names;  // interned
};

using Given = std::array<PyObject*, kMaxParameters>;  // borrowed; null where not given

int input_count(const OpDef& op) { return op.inputs.size(); }

/// Arguments of TensorFlow that are ours under another name; what changes nothing here has none.
struct Spelling {
  std::string_view op, theirs, ours;
};
constexpr Spelling kSpellings[] = {
    {"matmul", "adjoint_a", "transpose_a"},
    {"matmul", "adjoint_b", "transpose_b"},
    {"matmul", "a_is_sparse", ""},
    {"matmul", "b_is_sparse", ""},
    {"matmul", "grad_a", ""},
    {"matmul", "grad_b", ""},
};
constexpr int kUnknown = -1, kIgnored = -2;

int find_spelling(const OpFunction& f, std::string_view name) {
  for (const Spelling& known : kSpellings) {
    if (f.op->name != known.op || name != known.theirs) continue;
    for (int i = 0; i < f.parameter_count; ++i)
      if (known.ours == PyUnicode_AsUTF8(f.names[static_cast<std::size_t>(i)])) return i;
    return kIgnored;
  }
  return kUnknown;
}

int find_parameter(const OpFunction& f, PyObject* name) {
  for (int i = 0; i < f.parameter_count; ++i)
    if (f.names[static_cast<std::size_t>(i)] == name) return i;
  for (int i = 0; i < f.parameter_count; ++i)
    if (PyUnicode_Compare(f.names[static_cast<std::size_t>(i)], name) == 0) return i;
  return find_spelling(f, PyUnicode_AsUTF8(name));
}

/// Whether an argument has two names, of which one is given with False: that one says nothing.
bool says_nothing(const OpFunction& f, int at, PyObject* earlier, PyObject* later) {
  const auto stands_for = [&](const Spelling& known) {
    return f.op->name == known.op && known.ours == PyUnicode_AsUTF8(f.names[static_cast<std::size_t>(at)]);
  };
  return (earlier == Py_False || later == Py_False) && std::ranges::any_of(kSpellings, stands_for);
}

Given match_arguments(const OpFunction& f, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
  Given given{};
  if (positional > f.parameter_count)
    raise(PyExc_TypeError, f.op->name, "() takes at most ", f.parameter_count, " arguments, ", positional,
          " were given");
  for (Py_ssize_t i = 0; i < positional; ++i) given[static_cast<std::size_t>(i)] = args[i];
  const Py_ssize_t count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywords, i);
    const int at = find_parameter(f, name);
    if (at == kIgnored) continue;
    if (at == kUnknown)
      raise(PyExc_TypeError, f.op->name, "() got an unexpected keyword argument '", PyUnicode_AsUTF8(name), "'");
    PyObject*& place = given[static_cast<std::size_t>(at)];
    if (place && !says_nothing(f, at, place, args[positional + i]))
      raise(PyExc_TypeError, f.op->name, "() got multiple values for argument '", PyUnicode_AsUTF8(name), "'");
    if (!place || place == Py_False) place = args[positional + i];
  }
  return given;
}

/// The tensors of a call. What is a tensor already is used in place; the rest is converted and kept here.
class Inputs {
 public:
  Inputs(const OpDef& op, const Given& given) : op_(op), given_(given) {
    if (op.variadic) gather_list();
    else gather_fixed();
  }
  std::span<const TensorRef> refs() const { return refs_of(); }

 private:
  static constexpr std::size_t kInline = 10;

  PyObject* required(int i) const {
    PyObject* value = given_[static_cast<std::size_t>(i)];
    if (!value) raise(PyExc_TypeError, op_.name, "() missing required argument: '", op_.inputs[i], "'");
    return value;
  }
  bool is_free(int i) const { return op_.free_dtypes >> i & 1; }

  void gather_fixed() {
    const int count = op_.inputs.size();
    bool all_tensors = true;
    for (int i = 0; i < count; ++i) all_tensors &= is_tensor(required(i));
    kept_.reserve(all_tensors ? 0 : static_cast<std::size_t>(count));
    std::optional<DType> shared;
    if (!all_tensors) shared = shared_dtype();
    for (int i = 0; i < count; ++i) {
      PyObject* value = given_[static_cast<std::size_t>(i)];
      if (is_tensor(value)) {
        add(tensor_of(value));
        continue;
      }
      kept_.push_back(to_tensor_beside(value, is_free(i) ? std::nullopt : shared));
      if (!shared && !is_free(i)) shared = kept_.back().dtype();
      add(kept_.back());
    }
  }

  /// The dtype of the first tensor among the inputs that share one.
  std::optional<DType> shared_dtype() const {
    for (int i = 0; i < op_.inputs.size(); ++i) {
      PyObject* value = given_[static_cast<std::size_t>(i)];
      if (is_free(i)) continue;
      if (is_tensor(value)) return tensor_of(value).dtype();
      if (is_variable(value)) return read_dtype(value);
    }
    return std::nullopt;
  }

  /// The last parameter is a list of tensors; those before it are single ones.
  void gather_list() {
    const int fixed = op_.inputs.size() - 1;
    std::vector<PyObject*> values;
    for (int i = 0; i < fixed; ++i) values.push_back(required(i));
    PyObject* last = required(fixed);
    const bool is_one = has_own_dtype(last) || is_numpy(last);
    const Object items(is_one ? nullptr : checked(PySequence_Fast(last, "expected a list of tensors")));
    if (!items) values.push_back(last);
    else
      values.insert(values.end(), PySequence_Fast_ITEMS(items.get()),
                    PySequence_Fast_ITEMS(items.get()) + PySequence_Fast_GET_SIZE(items.get()));
    std::optional<DType> shared;
    for (PyObject* value : values)
      if (!shared && has_own_dtype(value)) shared = value_of(value).dtype();
    kept_.reserve(values.size());
    for (PyObject* value : values) {
      kept_.push_back(to_tensor_beside(value, shared));
      if (!shared) shared = kept_.back().dtype();
    }
    more_.assign(kept_.begin(), kept_.end());
  }

  void add(const Tensor& tensor) { new (&refs_[count_++ * sizeof(TensorRef)]) TensorRef(tensor); }
  std::span<const TensorRef> refs_of() const {
    if (op_.variadic) return more_;
    return {reinterpret_cast<const TensorRef*>(refs_), count_};
  }

  const OpDef& op_;
  const Given& given_;
  alignas(TensorRef) unsigned char refs_[kInline * sizeof(TensorRef)];
  std::size_t count_ = 0;
  std::vector<Tensor> kept_;
  std::vector<TensorRef> more_;
};

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) text = text.substr(1, text.size() - 2);
  return std::string(text);
}

/// The record's default: Python text.
void put_default(AttrWriter& writer, const OpDef& op, const AttrDef& def) {
  const std::string_view word = def.default_value;
  if (word.empty()) raise(PyExc_TypeError, op.name, "() missing required argument: '", def.name, "'");
  const std::string value(word);
  switch (def.kind) {
    case AttrKind::integer: writer.put(static_cast<std::int64_t>(std::stoll(value))); return;
    case AttrKind::real: writer.put(std::stod(value)); return;
    case AttrKind::boolean: writer.put(value == "True"); return;
    case AttrKind::dtype: writer.put(parse_dtype(unquoted(value)).value()); return;
    case AttrKind::choice: writer.put(std::string_view(unquoted(value))); return;
    case AttrKind::ints: {
      std::vector<std::int64_t> ints;
      if (value != "None" && value != "[]" && value != "()") ints.push_back(std::stoll(value));
      writer.put(ints);
      return;
    }
  }
}

/// An axis or a size that is computed inside a trace: the function runs op by op then.
void require_known(const OpDef& op, const AttrDef& def, PyObject* value) {
  if (PyList_Check(value) || PyTuple_Check(value))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      require_known(op, def, PySequence_Fast_GET_ITEM(value, i));
  if (is_tensor(value) && tensor_of(value).is_symbolic() && !open_sizes_in(tensor_of(value)))
    fail(ErrorCode::cannot_trace, op.name, ": ", def.name,
         " depends on values, so it cannot be part of a traced function; call it outside the function");
}

void put_attr(AttrWriter& writer, const OpDef& op, const AttrDef& def, PyObject* value) {
  const bool use_default = !value || (value == Py_None && !def.default_value.empty());
  if (use_default) return put_default(writer, op, def);
  require_known(op, def, value);
  switch (def.kind) {
    case AttrKind::integer: writer.put(to_integer(value)); return;
    case AttrKind::real: writer.put(to_real(value)); return;
    case AttrKind::dtype: writer.put(to_dtype(value)); return;
    case AttrKind::boolean: {
      const int truth = PyObject_IsTrue(value);
      if (truth < 0) throw PythonErrorSet{};
      writer.put(truth != 0);
      return;
    }
    case AttrKind::choice: {
      const char* word = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
      if (!word) raise(PyExc_TypeError, op.name, "(): ", def.name, " must be a string, one of ", def.choices);
      writer.put(std::string_view(lower_case(word)));
      return;
    }
    case AttrKind::ints: {
      std::vector<std::int64_t> ints;
      append_ints(value, ints);
      writer.put(ints);
      return;
    }
  }
}

const Attrs kNoAttrs{};

PyObject* outputs_to_python(std::span<Tensor> outputs) {
  if (outputs.size() == 1) return wrap(std::move(outputs[0]));
  Object list(checked(PyList_New(static_cast<Py_ssize_t>(outputs.size()))));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(std::move(outputs[i])));
  return list.release();
}

/// A list of axes without any, which is not the same as no list: that means all of them.
bool reduces_nothing(const OpDef& op, PyObject* axis) {
  if (!axis || axis == Py_None || PyLong_Check(axis) || !op.name.starts_with("reduce_")) return false;
  require_known(op, op.attrs[0], axis);
  std::vector<std::int64_t> axes;
  append_ints(axis, axes);
  return axes.empty();
}

PyObject* call_op(const OpFunction& f, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
  const OpDef& op = *f.op;
  const Given given = match_arguments(f, args, positional, keywords);
  const Inputs inputs(op, given);
  if (op.attrs.size() > 0 && op.attrs[0].name == "axis" &&
      reduces_nothing(op, given[static_cast<std::size_t>(input_count(op))]))
    return wrap(identity(*inputs.refs()[0]));
  std::array<Tensor, 8> outputs;
  const std::span<Tensor> results(outputs.data(), static_cast<std::size_t>(op.outputs));
  if (op.attrs.size() == 0) {
    OpCall call{op, inputs.refs(), kNoAttrs, results};
    run_op(call);
    return outputs_to_python(results);
  }
  AttrWriter writer(op);
  for (int i = 0; i < op.attrs.size(); ++i)
    put_attr(writer, op, op.attrs[i], given[static_cast<std::size_t>(input_count(op) + i)]);
  OpCall call{op, inputs.refs(), writer.done(), results};
  run_op(call);
  return outputs_to_python(results);
}

/// The call as (name of the op, its positional arguments, the named ones).
Object described(const OpFunction& f, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
  const Object list(checked(PyTuple_New(positional))), named(checked(PyDict_New()));
  for (Py_ssize_t i = 0; i < positional; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(list.get(), i, args[i]);
  }
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(keywords, i), args[positional + i]) != 0) throw PythonErrorSet{};
  const Object name(
      checked(PyUnicode_FromStringAndSize(f.op->name.data(), static_cast<Py_ssize_t>(f.op->name.size()))));
  return Object(checked(PyTuple_Pack(3, name.get(), list.get(), named.get())));
}

/// What `ask` returns with Python's error put aside; null, and the error as it was, where that is NotImplemented.
template <class F>
PyObject* asked(F ask) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* result = guarded(ask);
  if (result == Py_NotImplemented) {
    Py_DECREF(result);
    PyErr_Restore(type, value, trace);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

/// The operands of a call, those in lists too.
std::vector<PyObject*> operands_of(PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
  std::vector<PyObject*> out;
  const Py_ssize_t count = positional + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
  for (Py_ssize_t i = 0; i < count; ++i) {
    out.push_back(args[i]);
    if (!PyList_Check(args[i]) && !PyTuple_Check(args[i])) continue;
    out.insert(out.end(), PySequence_Fast_ITEMS(args[i]),
               PySequence_Fast_ITEMS(args[i]) + PySequence_Fast_GET_SIZE(args[i]));
  }
  return out;
}

bool may_be_strings(PyObject* operand) {
  if (is_tensor(operand)) return tensor_of(operand).dtype() == DType::string;
  if (PyList_Check(operand) || PyTuple_Check(operand))
    return PySequence_Fast_GET_SIZE(operand) > 0 && may_be_strings(PySequence_Fast_GET_ITEM(operand, 0));
  return PyUnicode_Check(operand) || PyBytes_Check(operand);
}

/// Operands that are no tensors may know what an op does with them: their class has __tandem_op__(name, args, kwargs),
/// which returns the result or NotImplemented. Strings have a module for that. Called with Python's error set; null,
/// and the error as it was, where nobody knows.
PyObject* asked_operands(const OpFunction& f, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
  bool has_strings = false;
  for (PyObject* operand : operands_of(args, positional, keywords)) {
    has_strings |= may_be_strings(operand);
    if (Py_TYPE(operand) == &tensor_type || Py_TYPE(operand) == &variable_type) continue;
    PyObject* result = asked([&]() -> PyObject* {
      const Object method(PyObject_GetAttrString(operand, "__tandem_op__"));
      if (!method) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
      }
      return checked(PyObject_Call(method.get(), described(f, args, positional, keywords).get(), nullptr));
    });
    if (result) return result;
  }
  if (!has_strings) return nullptr;
  return asked([&] { return run_on_strings(described(f, args, positional, keywords).get()); });
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* keywords) {
  const auto& f = *reinterpret_cast<OpFunction*>(self);
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  PyObject* result = guarded([&] { return call_op(f, args, positional, keywords); });
  return result ? result : asked_operands(f, args, positional, keywords);
}

void dealloc(PyObject* self) {
  auto* f = reinterpret_cast<OpFunction*>(self);
  for (int i = 0; i < f->parameter_count; ++i) Py_DECREF(f->names[static_cast<std::size_t>(i)]);
  PyObject_Free(self);
}

PyObject* text_object(std::string_view text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* get_name(PyObject* self, void*) { return text_object(reinterpret_cast<OpFunction*>(self)->op->name); }
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("tandemflow"); }

std::string parameter_doc(const OpDef& op) {
  std::string out = "\n\nArgs:\n";
  for (int i = 0; i < op.inputs.size(); ++i) {
    out += "  " + std::string(op.inputs[i]) + ": ";
    out += op.variadic && i == op.inputs.size() - 1 ? "a list of tensors.\n" : "a tensor, or what converts to one.\n";
  }
  for (const AttrDef& def : op.attrs) {
    static constexpr const char* kKinds[] = {"an integer", "a number", "a bool", "a dtype",
                                             "an integer or a list of integers"};
    out += "  " + std::string(def.name) + ": ";
    out += def.kind == AttrKind::choice ? "one of " + std::string(def.choices) : kKinds[static_cast<int>(def.kind)];
    if (!def.default_value.empty()) out += "; " + std::string(def.default_value) + " when not given";
    out += ".\n";
  }
  out += "  name: ignored.\n\n";
  if (op.outputs > 1) out += "Returns: a list of " + std::to_string(op.outputs) + " tensors.\n\n";
  return out + "Dtypes: " + op.dtypes.to_string() + ".\n";
}

PyObject* get_doc(PyObject* self, void*) {
  const OpDef& op = *reinterpret_cast<OpFunction*>(self)->op;
  return text_object(std::string(op.doc) + parameter_doc(op));
}

/// "(x, y, name=None)", from which the package makes the signature.
std::string signature_text(const OpDef& op) {
  std::string out = "(";
  for (std::string_view input : op.inputs) out += std::string(input) + ", ";
  bool has_default = false;
  for (const AttrDef& def : op.attrs) {
    has_default |= !def.default_value.empty();
    out += def.name;
    const bool quoted = def.kind == AttrKind::dtype;
    if (!def.default_value.empty())
      out += "=" + (quoted ? "'" + std::string(def.default_value) + "'" : std::string(def.default_value));
    else if (has_default) out += "=None";  // Python allows no parameter without a default behind one with
    out += ", ";
  }
  return out + "name=None)";
}

PyObject* get_text_signature(PyObject* self, void*) {
  return text_object(signature_text(*reinterpret_cast<OpFunction*>(self)->op));
}

PyObject* get_signature(PyObject* self, void*) {
  return guarded([&] {
    const Object module(checked(PyImport_ImportModule("tandemflow._signature")));
    return checked(PyObject_CallMethod(module.get(), "from_text", "s",
                                       signature_text(*reinterpret_cast<OpFunction*>(self)->op).c_str()));
  });
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<op %s>", std::string(reinterpret_cast<OpFunction*>(self)->op->name).c_str());
}

PyGetSetDef properties[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                            {"__qualname__", get_name, nullptr, nullptr, nullptr},
                            {"__module__", get_module, nullptr, nullptr, nullptr},
                            {"__doc__", get_doc, nullptr, nullptr, nullptr},
                            {"__text_signature__", get_text_signature, nullptr, nullptr, nullptr},
                            {"__signature__", get_signature, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

PyTypeObject op_function_type = {
    .ob_base = {PyObject_HEAD_INIT(nullptr) 0},
    .tp_name = "tandemflow.OpFunction",
    .tp_basicsize = sizeof(OpFunction),
    .tp_dealloc = dealloc,
    .tp_vectorcall_offset = offsetof(OpFunction, vectorcall),
    .tp_repr = represent,
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_getset = properties,
};

PyObject* make_op_function(const OpDef& op) {
  auto* f = PyObject_New(OpFunction, &op_function_type);
  if (!f) throw PythonErrorSet{};
  f->vectorcall = vectorcall;
  f->op = &op;
  f->parameter_count = 0;
  const auto add = [&](std::string_view name) {
    PyObject* text = text_object(name);
    PyUnicode_InternInPlace(&text);
    f->names[static_cast<std::size_t>(f->parameter_count++)] = text;
  };
  for (std::string_view input : op.inputs) add(input);
  for (const AttrDef& def : op.attrs) add(def.name);
  add("name");
  return reinterpret_cast<PyObject*>(f);
}

}  // namespace tandem::python
