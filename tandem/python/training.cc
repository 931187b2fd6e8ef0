// The loops of fit, evaluate and predict over arrays, without Python between the steps.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "tandem/core/run_queue.h"
#include "tandem/exec/run_ahead.h"
#include "tandem/nn/array_loop.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/run_op.h"

namespace tandem::python {
namespace {

std::int64_t run(ArrayLoop& loop, const Concrete& full, const Concrete* rest, std::int64_t first, std::int64_t last,
                 double seconds) {
  const auto full_function = full.function;
  const auto rest_function = rest ? rest->function : nullptr;
  const WithoutGil without;
  const auto steps = [&] { return loop.run(*full_function, rest_function.get(), first, last, seconds); };
  if (!asks_for_several_devices(full_function->graph())) return steps();
  RunQueue::perform(steps);  // waits for all of them, not for each
  return loop.done();
}

nb::list batch(const ArrayLoop& loop, std::int64_t step) {
  nb::list out;
  for (Tensor& tensor : loop.batch(step)) out.append(to_object(std::move(tensor)));
  return out;
}

nb::object results(const ArrayLoop& loop, const Concrete& of) {
  Tensors values = loop.results();
  return nb::steal(nest(of.structure.get(), values));
}

/// What the steps returned, put together, nested as one step returns it.
nb::object collected(const ArrayLoop& loop, const Concrete& of) {
  Tensors values = loop.collected();
  return nb::steal(nest(of.structure.get(), values));
}

}  // namespace

void add_training(nb::module_& module) {
  nb::class_<ArrayLoop>(module, "ArrayLoop")
      .def("__init__", [](ArrayLoop* self, nb::handle arrays, std::int64_t batch_size,
                          const char* who) { new (self) ArrayLoop(tensors_in(arrays.ptr()), batch_size, who); })
      .def_prop_ro("rows", &ArrayLoop::rows)
      .def_prop_ro("steps", &ArrayLoop::steps)
      .def_prop_ro("remainder", &ArrayLoop::remainder)
      .def("shuffle", &ArrayLoop::shuffle)
      .def("divide", &ArrayLoop::divide)
      .def("batch", batch)
      .def("run", run, nb::arg("full"), nb::arg("rest").none(), nb::arg("first"), nb::arg("last"), nb::arg("seconds"))
      .def("results", results)
      .def("collect", &ArrayLoop::collect)
      .def("collected", collected);
}

}  // namespace tandem::python
