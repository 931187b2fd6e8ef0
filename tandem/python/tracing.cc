// Traces that nobody runs (what shapes would come out?) and the way out of a trace.
#include <nanobind/stl/optional.h>

#include <optional>

#include "tandem/graph/trace.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

/// `with ShapeTrace() as trace:` ops inside infer dtypes and shapes and compute nothing.
class ShapeTrace {
 public:
  void enter() { trace_.emplace(); }
  void exit() { trace_.reset(); }
  nb::object parameter(nb::handle shape, nb::handle dtype) {
    std::vector<std::int64_t> sizes;
    append_ints(shape.ptr(), sizes);
    return to_object(trace_.value().parameter({to_dtype(dtype.ptr()), Shape(std::span<const std::int64_t>(sizes))}));
  }

 private:
  std::optional<Trace> trace_;
};

/// `with LiftOut():` ops inside run at once, whatever is being traced.
class LiftOut {
 public:
  void enter() { scope_.emplace(); }
  void exit() { scope_.reset(); }

 private:
  std::optional<InitScope> scope_;
};

template <class T>
nb::class_<T> add_context(nb::module_& module, const char* name) {
  return nb::class_<T>(module, name)
      .def(nb::init<>())
      .def(
          "__enter__",
          [](T& self) -> T& {
            self.enter();
            return self;
          },
          nb::rv_policy::reference)
      .def("__exit__", [](T& self, nb::args) { self.exit(); });
}

}  // namespace

/// Returns what was in force before; None: none.
nb::object set_autocast(nb::handle dtype) {
  const std::optional<DType> before = autocast_dtype();
  autocast_dtype() = dtype.is_none() ? std::nullopt : std::optional(to_dtype(dtype.ptr()));
  return before ? nb::steal(dtype_object(*before)) : nb::none();
}

void add_tracing(nb::module_& module) {
  module.def("set_autocast", set_autocast, nb::arg("dtype").none());
  add_context<ShapeTrace>(module, "ShapeTrace").def("parameter", &ShapeTrace::parameter);
  add_context<LiftOut>(module, "LiftOut");
}

}  // namespace tandem::python
