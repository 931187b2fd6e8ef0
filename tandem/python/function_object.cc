// The Python type below tf.function. A call like one before goes straight to its plan; the others are sorted out by the
// package (python/tandemflow/_function.py), which gives tensors, a key for all else, and the structure of the
// arguments.
#include "tandem/python/function_object.h"

#include <nanobind/nanobind.h>

#include <map>

#include "tandem/graph/trace.h"
#include "tandem/python/call_pattern.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

namespace nb = nanobind;

/// Calls remembered at most; a program that alternates between more goes through Python.
constexpr std::size_t kMostRemembered = 8;

struct Remembered {
  CallPattern pattern;
  Concrete concrete;
  bool takes_long;
};

/// Whether variables may be made while a function is traced, and were.
struct Creation {
  bool allowed;
  bool happened = false;
};

/// A trace in progress on this thread: what goes into the Python function and how its results are nested.
struct Tracing {
  Tracing(PyObject* arguments, Creation& creation) : arguments(arguments), creation(creation) { current = this; }
  ~Tracing() { current = outer; }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  PyObject* arguments;  // a structure with slots for tensors
  Creation& creation;
  /// Of the results, for every time that the function was run; the latest last.
  std::vector<std::pair<std::shared_ptr<const void>, Object>> structures = {};
  Tracing* outer = current;
  static thread_local Tracing* current;
};
thread_local Tracing* Tracing::current = nullptr;

struct State;

/// A call that Python sorts out, and which trace it led to.
struct SlowCall {
  explicit SlowCall(State& state) : state(state) { current = this; }
  ~SlowCall() { current = outer; }
  SlowCall(const SlowCall&) = delete;
  SlowCall& operator=(const SlowCall&) = delete;

  State& state;
  Tensors arguments = {};
  Concrete concrete = {};
  SlowCall* outer = current;
  static thread_local SlowCall* current;
};
thread_local SlowCall* SlowCall::current = nullptr;

struct State {
  explicit State(PyObject* self) : self(self) {}

  PyObject* self;
  std::optional<Function> function;
  std::vector<Remembered> remembered;  // the latest first
  /// How the results of each trace are nested, by what `function` notes of it; those that it has dropped go at the next
  /// trace.
  std::map<std::weak_ptr<const void>, Object, std::owner_less<>> structures;
  bool traced = false;  // variables may be made no more
  bool must_check = false;  // the first trace made variables: does the next one?

  Tensors body(const Tensors& parameters);
  Concrete concrete(const Tensors& arguments, const std::string& key, PyObject* structure, const OpenAxes& open);
  void check_creation(const Tensors& arguments, PyObject* structure);
  void remember(const CallArguments& call, SlowCall& slow);
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  State* state;
};
State& state_of(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self)->state; }

/// What goes wrong with open sizes may go well when they are known: then the function is traced with them.
[[noreturn]] void fail_trace() {
  if (!Trace::current()->is_open() || !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonErrorSet{};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Object kept[] = {Object(type), Object(value), Object(traceback)};
  const Object message(value ? PyObject_Str(value) : nullptr);
  const char* words = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  PyErr_Clear();
  std::string_view reason = words ? words : "it failed";
  if (const std::string code = error_id(ErrorCode::cannot_trace) + " "; reason.starts_with(code))
    reason.remove_prefix(code.size());
  fail(ErrorCode::cannot_trace, reason);
}

Tensors State::body(const Tensors& parameters) {
  Tracing& tracing = *Tracing::current;
  const Object list(checked(PyList_New(static_cast<Py_ssize_t>(parameters.size()))));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(parameters[i]));
  const Object made(PyObject_CallMethod(self, "_trace", "OO", tracing.arguments, list.get()));
  if (!made) fail_trace();
  PyObject *leaves, *structure;
  if (!PyArg_ParseTuple(made.get(), "OO", &leaves, &structure)) throw PythonErrorSet{};
  tracing.structures.emplace_back(std::make_shared<char>(), Object::borrowed(structure));
  return tensors_in(leaves);
}

/// TensorFlow's rule: variables are made at the first call only. That the second does not is seen by tracing again.
void State::check_creation(const Tensors& arguments, PyObject* structure) {
  Creation creation{.allowed = false};
  Tracing tracing(structure, creation);
  Trace trace;
  Tensors parameters;
  for (const Tensor& argument : arguments) parameters.push_back(trace.parameter(argument.spec()));
  body(parameters);
  must_check = false;
}

Concrete State::concrete(const Tensors& arguments, const std::string& key, PyObject* structure, const OpenAxes& open) {
  Creation creation{.allowed = !traced};
  Tracing tracing(structure, creation);
  Concrete out{.function = function->concrete(arguments, key, open)};
  if (!tracing.structures.empty()) {
    traced = true;
    must_check = must_check || creation.happened;
    std::erase_if(structures, [](const auto& entry) { return entry.first.expired(); });
    for (auto& [note, nesting] : tracing.structures) structures.emplace(note, std::move(nesting));
  }
  if (must_check) check_creation(arguments, structure);
  out.structure = Object::borrowed(structures.at(out.function->origin().note).get());
  return out;
}

void State::remember(const CallArguments& call, SlowCall& slow) {
  std::optional<CallPattern> pattern = CallPattern::of(call);
  std::vector<TensorRef> tensors;
  if (!pattern || !pattern->fits(call, tensors) || tensors.size() != slow.arguments.size()) return;
  for (std::size_t i = 0; i < tensors.size(); ++i)  // keywords may come in another order than parameters
    if (tensors[i]->impl() != slow.arguments[i].impl()) return;
  if (remembered.size() == kMostRemembered) remembered.pop_back();
  const bool is_long = takes_long(*slow.concrete.function);
  remembered.insert(remembered.begin(), {*std::move(pattern), std::move(slow.concrete), is_long});
}

// --- Calls ---

PyObject* call_by_python(PyObject* self, const CallArguments& call) {
  const Object args(checked(PyTuple_New(call.positional))), keywords(checked(PyDict_New()));
  for (Py_ssize_t i = 0; i < call.positional; ++i) {
    Py_INCREF(call.values[i]);
    PyTuple_SET_ITEM(args.get(), i, call.values[i]);
  }
  for (Py_ssize_t i = call.positional; i < call.count(); ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.names, i - call.positional), call.values[i]) != 0)
      throw PythonErrorSet{};
  SlowCall slow(state_of(self));
  Object result(checked(PyObject_CallMethod(self, "_call", "OO", args.get(), keywords.get())));
  if (slow.concrete.function) state_of(self).remember(call, slow);
  return result.release();
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  return guarded([&] {
    const CallArguments call{args, PyVectorcall_NARGS(flags), names};
    if (functions_run_eagerly() || Trace::current()) return call_by_python(self, call);
    thread_local std::vector<TensorRef> tensors;  // keeps its memory; used up before anything else is called
    for (const Remembered& entry : state_of(self).remembered) {
      if (!entry.pattern.fits(call, tensors)) continue;
      const std::shared_ptr<const GraphFunction> function = entry.concrete.function;
      const Object structure = Object::borrowed(entry.concrete.structure.get());
      return run_concrete(function, tensors, structure.get(), entry.takes_long);
    }
    return call_by_python(self, call);
  });
}

// --- Methods for the package ---

struct Prepared {
  Tensors arguments;
  std::string key;
  PyObject* structure;
  OpenAxes open;
};

OpenAxes open_axes_in(PyObject* masks) {
  OpenAxes open;
  const Object items(checked(PySequence_Fast(masks, "expected a list of open axes")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    open.push_back(static_cast<std::uint32_t>(to_integer(PySequence_Fast_GET_ITEM(items.get(), i))));
  return open;
}

Prepared parse(PyObject* args) {
  PyObject *list, *structure, *open;
  const char* key;
  if (!PyArg_ParseTuple(args, "OsOO", &list, &key, &structure, &open)) throw PythonErrorSet{};
  return {tensors_in(list), key, structure, open_axes_in(open)};
}

PyObject* configure(PyObject* self, PyObject* name) {
  return guarded([&] {
    const char* utf8 = PyUnicode_AsUTF8(name);
    if (!utf8) throw PythonErrorSet{};
    State& state = state_of(self);
    state.function.emplace(
        [&state](const Tensors& p) { return state.body(p); },
        FunctionOptions{.name = utf8, .note = [] { return Tracing::current->structures.back().first; }});
    Py_RETURN_NONE;
  });
}

/// Inside another function that is traced: becomes part of it.
PyObject* run_inside(State& state, const Prepared& call) {
  Creation alone{.allowed = true};
  Tracing tracing(call.structure, Tracing::current ? Tracing::current->creation : alone);
  Tensors results = state.function->call(call.arguments, call.key);
  return nest(tracing.structures.back().second.get(), results);
}

PyObject* run(PyObject* self, PyObject* args) {
  return guarded([&] {
    State& state = state_of(self);
    Prepared call = parse(args);
    if (Trace::current()) return run_inside(state, call);
    for (const Tensor& argument : call.arguments)
      if (argument.is_symbolic())
        fail(ErrorCode::cannot_trace, "a ", argument.spec(),
             " tensor is passed that belongs to a trace which has ended; ",
             "return it from its function, or assign it to a variable");
    Concrete concrete = state.concrete(call.arguments, call.key, call.structure, call.open);
    const std::vector<TensorRef> refs(call.arguments.begin(), call.arguments.end());
    Object result(run_concrete(concrete.function, refs, concrete.structure.get(), takes_long(*concrete.function)));
    if (SlowCall::current && &SlowCall::current->state == &state) {
      SlowCall::current->arguments = std::move(call.arguments);
      SlowCall::current->concrete = std::move(concrete);
    }
    return result.release();
  });
}

PyObject* concrete(PyObject* self, PyObject* args) {
  return guarded([&] {
    const Prepared call = parse(args);
    if (Trace::current())
      fail(ErrorCode::cannot_trace, "get_concrete_function was called while a function is traced; call it outside");
    return nb::cast(state_of(self).concrete(call.arguments, call.key, call.structure, call.open)).release().ptr();
  });
}

PyObject* tracing_count(PyObject* self, PyObject*) {
  return guarded([&] { return checked(PyLong_FromLong(state_of(self).function->tracing_count())); });
}

PyObject* retraces(PyObject* self, PyObject*) {
  return guarded([&] {
    nb::list out;
    for (const Retrace& retrace : state_of(self).function->retraces())
      out.append(nb::make_tuple(retrace.reason.c_str(), retrace.nodes, retrace.microseconds));
    return out.release().ptr();
  });
}

PyMethodDef methods[] = {
    {"_configure", configure, METH_O, nullptr},     {"_run", run, METH_VARARGS, nullptr},
    {"_concrete", concrete, METH_VARARGS, nullptr}, {"_tracing_count", tracing_count, METH_NOARGS, nullptr},
    {"_retraces", retraces, METH_NOARGS, nullptr},  {nullptr, nullptr, 0, nullptr}};

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    Object self(checked(type->tp_alloc(type, 0)));
    auto* object = reinterpret_cast<FunctionObject*>(self.get());
    object->vectorcall = vectorcall;
    object->state = new State(self.get());
    object->state->function.emplace([](const Tensors& p) { return p; });
    return self.release();
  });
}

void dealloc(PyObject* self) {
  delete reinterpret_cast<FunctionObject*>(self)->state;
  Py_TYPE(self)->tp_free(self);
}

}  // namespace

void note_variable_creation() {
  if (!Trace::current() || !Tracing::current) return;
  Creation& creation = Tracing::current->creation;
  if (!creation.allowed)
    raise(
        PyExc_ValueError,
        "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only "
        "created once or created outside tf.function.");
  creation.happened = true;
}

void* exchange_tracing(void* tracing) { return std::exchange(Tracing::current, static_cast<Tracing*>(tracing)); }

PyTypeObject function_type = {
    .ob_base = {PyObject_HEAD_INIT(nullptr) 0},
    .tp_name = "tandemflow.FunctionCore",
    .tp_basicsize = sizeof(FunctionObject),
    .tp_dealloc = dealloc,
    .tp_vectorcall_offset = offsetof(FunctionObject, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_methods = methods,
    .tp_new = make,
};

}  // namespace tandem::python
