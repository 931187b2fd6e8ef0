// The loops of fit, evaluate and predict over arrays, without Python between the steps.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "tandem/dist/mirrored.h"
#include "tandem/nn/array_loop.h"
#include "tandem/op/shared_draws.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/run_op.h"

namespace tandem::python {
namespace {

std::int64_t run(ArrayLoop& loop, const Concrete& full, const Concrete* rest, std::int64_t first, std::int64_t last, double seconds) {
  const auto full_function = full.function;
  const auto rest_function = rest ? rest->function : nullptr;
  const WithoutGil without;
  return loop.run(*full_function, rest_function.get(), first, last, seconds);
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

/// `with draws.replica(begin, rows, total):` one replica draws its rows of what all share.
struct ReplicaDraws {
  SharedDraws& draws;
  std::int64_t begin, rows, total;
};

/// `with Unshared():` draws are for all replicas alike.
struct Unshared {
  SharedDraws* before = nullptr;
};

void add_draws(nb::module_& module) {
  nb::class_<Unshared>(module, "Unshared")
      .def(nb::init<>())
      .def("__enter__", [](Unshared& self) { self.before = SharedDraws::exchange(nullptr); })
      .def("__exit__", [](Unshared& self, nb::args) { SharedDraws::exchange(self.before); });
  nb::class_<ReplicaDraws>(module, "ReplicaDraws")
      .def("__enter__", [](ReplicaDraws& self) { self.draws.begin_replica(self.begin, self.rows, self.total); })
      .def("__exit__", [](ReplicaDraws& self, nb::args) { self.draws.end_replica(); });
  nb::class_<SharedDraws>(module, "SharedDraws")
      .def(nb::init<>())
      .def("replica", [](SharedDraws& self, std::int64_t begin, std::int64_t rows, std::int64_t total) {
        return ReplicaDraws{self, begin, rows, total};
      }, nb::keep_alive<0, 1>());
  module.def("shard_sizes", [](std::int64_t rows, const std::vector<double>& speeds) { return shard_sizes(rows, speeds); });
}

}  // namespace

void add_training(nb::module_& module) {
  add_draws(module);
  nb::class_<ArrayLoop>(module, "ArrayLoop")
      .def("__init__", [](ArrayLoop* self, nb::handle arrays, std::int64_t batch_size, const char* who) {
        new (self) ArrayLoop(tensors_in(arrays.ptr()), batch_size, who);
      })
      .def_prop_ro("rows", &ArrayLoop::rows)
      .def_prop_ro("steps", &ArrayLoop::steps)
      .def_prop_ro("remainder", &ArrayLoop::remainder)
      .def("shuffle", &ArrayLoop::shuffle)
      .def("batch", batch)
      .def("run", run, nb::arg("full"), nb::arg("rest").none(), nb::arg("first"), nb::arg("last"), nb::arg("seconds"))
      .def("results", results)
      .def("collect", &ArrayLoop::collect)
      .def("collected", collected);
}

}  // namespace tandem::python
