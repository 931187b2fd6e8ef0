// The parts of the inner module _tandem; each adds its functions.
#pragma once
#include <nanobind/nanobind.h>

#include "tandem/python/errors.h"
#include "tandem/python/objects.h"

namespace tandem::python {

namespace nb = nanobind;

inline nb::object to_object(Tensor tensor) { return nb::steal(wrap(std::move(tensor))); }

void add_functions(nb::module_& module);  // ops without a record, creation, random numbers
void add_runtime(nb::module_& module);    // device scopes, decisions, logging, faults
void add_config(nb::module_& module);     // how the devices are set up
void add_tape(nb::module_& module);
void add_tracing(nb::module_& module);
void add_open_sizes(nb::module_& module);
void add_training(nb::module_& module);
void add_distribute(nb::module_& module);
void add_files(nb::module_& module);
void add_lending(nb::module_& module);  // tensors over the memory of others
void add_datasets(nb::module_& module);
void add_readers(nb::module_& module);
void add_model_files(nb::module_& module);
void add_saved_functions(nb::module_& module);
void add_control_flow(nb::module_& module);
void add_python_calls(nb::module_& module);
void add_dataset_loops(nb::module_& module);
void add_graph_nodes(nb::module_& module);
void add_unique(nb::module_& module);  // the different values of a vector
void add_poisson(nb::module_& module);

}  // namespace tandem::python
