// NumPy's files.
#include <nanobind/stl/string.h>

#include "tandem/files/npy.h"
#include "tandem/core/print.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

nb::dict named(NamedTensors tensors) {
  nb::dict out;
  for (auto& [name, tensor] : tensors) out[name.c_str()] = to_object(std::move(tensor));
  return out;
}

}  // namespace

void add_files(nb::module_& module) {
  module.def("load_npy", [](const std::string& path) { return to_object(load_npy(path)); });
  module.def("save_npy",
             [](const std::string& path, nb::handle tensor) { save_npy(path, to_tensor(tensor.ptr())); });
  module.def("load_npz", [](const std::string& path) { return named(load_npz(path)); });
  module.def("save_npz", [](const std::string& path, nb::dict tensors, bool compressed) {
    NamedTensors all;
    for (auto [name, tensor] : tensors) all.emplace(nb::cast<std::string>(name), to_tensor(tensor.ptr()));
    save_npz(path, all, compressed);
  });
  module.def("numpy_str", [](nb::handle tensor) { return numpy_str(to_tensor(tensor.ptr())); });
  module.def("numpy_repr", [](nb::handle tensor) { return numpy_repr(to_tensor(tensor.ptr())); });
}

}  // namespace tandem::python
