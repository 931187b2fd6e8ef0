// Files of traced functions; python/tandemflow/saved_model.py says what else belongs to an object.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/autodiff/saved_function.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"

namespace tandem::python {
namespace {

/// (dtype, sizes) pairs; a size of None is open.
std::vector<InputSpec> to_inputs(nb::handle list) {
  std::vector<InputSpec> inputs;
  for (nb::handle item : list) {
    InputSpec input{.dtype = to_dtype(nb::object(item[0]).ptr())};
    for (nb::handle size : nb::object(item[1]))
      input.shape.push_back(size.is_none() ? InputSpec::kAny : nb::cast<std::int64_t>(size));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// For each trace that is needed the shapes of all inputs.
nb::list sample_shapes(nb::handle inputs) {
  nb::list out;
  for (const Specs& specs : size_samples(to_inputs(inputs))) {
    nb::list shapes;
    for (const TensorSpec& spec : specs)
      shapes.append(std::vector<std::int64_t>(spec.shape().begin(), spec.shape().end()));
    out.append(shapes);
  }
  return out;
}

/// `functions`: (name, inputs, traces, notes).
void save(const std::string& path, nb::list functions, nb::list variables, const std::string& notes) {
  FunctionsToSave what{.notes = notes};
  for (nb::handle item : functions) {
    FunctionToSave function{.name = nb::cast<std::string>(item[0]),
                            .inputs = to_inputs(nb::object(item[1])),
                            .notes = nb::cast<std::string>(item[3])};
    for (nb::handle trace : nb::object(item[2])) function.traces.push_back(nb::cast<Concrete&>(trace).function);
    what.functions.push_back(std::move(function));
  }
  for (nb::handle variable : variables) what.variables.push_back(variable_of(variable.ptr()));
  const WithoutGil others;
  save_functions(path, what);
}

std::shared_ptr<SavedFunctions> load(const std::string& path) {
  const WithoutGil others;
  return std::make_shared<SavedFunctions>(load_functions(path));
}

nb::list variables_of(const SavedFunctions& saved) {
  nb::list out;
  for (const Variable& variable : saved.variables) out.append(nb::steal(wrap(variable)));
  return out;
}

std::vector<std::string> names_of(const SavedFunctions& saved) {
  std::vector<std::string> names;
  for (const SavedFunctions::Entry& entry : saved.functions) names.push_back(entry.name);
  return names;
}

/// Part of the trace in progress, or op by op.
nb::list call(const SavedFunctions& saved, std::size_t index, nb::handle arguments) {
  nb::list out;
  for (const Tensor& result : saved.functions.at(index).function.call(tensors_in(arguments.ptr())))
    out.append(to_object(result));
  return out;
}

}  // namespace

void add_saved_functions(nb::module_& module) {
  nb::class_<SavedFunctions>(module, "SavedFunctions")
      .def("names", names_of)
      .def("notes", [](const SavedFunctions& saved) { return saved.notes; })
      .def("function_notes",
           [](const SavedFunctions& saved, std::size_t index) { return saved.functions.at(index).notes; })
      .def("variables", variables_of)
      .def("call", call);
  module.def("sample_shapes", sample_shapes);
  module.def("save_functions", save);
  module.def("load_functions", load);
}

}  // namespace tandem::python
