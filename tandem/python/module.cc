// The inner module of the package: types, ops, and what the parts add.
#include "tandem/python/module.h"

#include "tandem/op/op_def.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/function_object.h"

namespace tandem::python {
namespace {

nb::dict all_ops() {
  nb::dict ops;
  for (const OpDef* op : op_list()) ops[nb::str(op->name.data(), op->name.size())] = nb::steal(make_op_function(*op));
  return ops;
}

nb::list all_errors() {
  nb::list out;
  for (const ErrorInfo& info : error_list())
    out.append(nb::make_tuple(static_cast<int>(info.code), nb::str(info.name.data(), info.name.size())));
  return out;
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    set_error_in_flight();
  } catch (const PythonErrorSet&) {}
}

}  // namespace
}  // namespace tandem::python

NB_MODULE(_tandem, module) {
  using namespace tandem::python;
  nb::set_leak_warnings(false);  // what lives until the interpreter ends (functions kept by users) is no leak
  nb::register_exception_translator(translate);
  ready_types();
  module.attr("Tensor") = nb::borrow(reinterpret_cast<PyObject*>(&tensor_type));
  module.attr("Variable") = nb::borrow(reinterpret_cast<PyObject*>(&variable_type));
  module.attr("OpFunction") = nb::borrow(reinterpret_cast<PyObject*>(&op_function_type));
  module.attr("FunctionCore") = nb::borrow(reinterpret_cast<PyObject*>(&function_type));
  module.attr("version") = TANDEM_VERSION;
  module.attr("dtype_names") = [] {
    nb::list names;
    for (int i = 0; i < tandem::kDTypeCount; ++i)
      names.append(nb::str(tandem::dtype_name(static_cast<tandem::DType>(i)).data()));
    return names;
  }();
  module.def("ops", all_ops, "Every op's function by name.");
  module.def("error_list", all_errors, "Codes and names of the errors.");
  module.def("register_error_class", [](int code, nb::handle type) { register_error_class(code, type.ptr()); });
  module.def("register_classes", [](nb::handle dtypes, nb::handle shape, nb::handle reference) {
    register_python_classes(dtypes.ptr(), shape.ptr(), reference.ptr());
  });
  module.def(
      "add_methods",
      [](nb::handle type, nb::dict methods) {
        auto* of = reinterpret_cast<PyTypeObject*>(type.ptr());
        if (PyDict_Update(of->tp_dict, methods.ptr()) != 0) throw PythonErrorSet{};
        PyType_Modified(of);
      },
      "Gives Tensor or Variable methods that are written in Python.");
  add_functions(module);
  add_unique(module);
  add_poisson(module);
  add_runtime(module);
  add_config(module);
  add_tape(module);
  add_files(module);
  add_lending(module);
  add_datasets(module);
  add_readers(module);
  add_model_files(module);
  add_traced_functions(module);
  add_saved_functions(module);
  add_tracing(module);
  add_open_sizes(module);
  add_training(module);
  add_distribute(module);
  add_control_flow(module);
  add_python_calls(module);
  add_dataset_loops(module);
  add_graph_nodes(module);
}
