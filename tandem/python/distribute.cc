// What the replicas of a strategy need: their share of a batch, of random numbers, and of the state of the thread they stand for.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/autodiff/thread_context.h"
#include "tandem/dist/communicator.h"
#include "tandem/dist/mirrored.h"
#include "tandem/op/shared_draws.h"
#include "tandem/python/function_object.h"
#include "tandem/python/module.h"
#include "tandem/python/tensor_lists.h"

namespace tandem::python {
namespace {

/// `with draws:` puts draws in force; none: draws are for all replicas alike.
struct Draws {
  std::optional<ReplicaDraws> of_replica = {};
  ReplicaDraws* before = nullptr;
  void enter() { before = ReplicaDraws::exchange(of_replica ? &*of_replica : nullptr); }
  void exit() { ReplicaDraws::exchange(before); }
};

/// `with context:` on a thread that works in the place of another, which waits.
struct TakenOver {
  ThreadContext context = ThreadContext::current(), before = {};
  void* tracing = exchange_tracing(nullptr);
  std::optional<DType> autocast = autocast_dtype();
  TakenOver() { exchange_tracing(tracing); }
  void enter() {
    before = context.exchange();
    exchange_tracing(tracing);
    autocast_dtype() = autocast;
  }
  void exit() {
    before.exchange();
    exchange_tracing(nullptr);
  }
};

using Names = std::vector<std::string>;

/// A list of lists, one a replica.
std::vector<Tensors> brought(nb::handle lists) {
  std::vector<Tensors> out;
  for (nb::handle one : lists) out.push_back(tensors_of(one));
  return out;
}

nb::list all_reduce(nb::handle lists, const Names& devices, const Names& homes, bool mean) {
  return list_of(LocalCommunicator(devices, homes).all_reduce(brought(lists), mean ? ReduceOp::mean : ReduceOp::sum));
}

nb::list all_gather(nb::handle lists, const Names& devices, const Names& homes, int axis) {
  return list_of(LocalCommunicator(devices, homes).all_gather(brought(lists), axis));
}

}  // namespace

void add_distribute(nb::module_& module) {
  nb::class_<SharedDraws>(module, "SharedDraws").def(nb::init<>());
  nb::class_<Draws>(module, "Draws")
      .def(nb::init<>())
      .def("__init__", [](Draws* self, SharedDraws& all, std::int64_t begin, std::int64_t rows, std::int64_t total) {
        new (self) Draws{.of_replica = ReplicaDraws(all, begin, rows, total)};
      }, nb::keep_alive<1, 2>())
      .def("__enter__", &Draws::enter)
      .def("__exit__", [](Draws& self, nb::args) { self.exit(); });
  nb::class_<TakenOver>(module, "ThreadContext")
      .def(nb::init<>())
      .def("__enter__", &TakenOver::enter)
      .def("__exit__", [](TakenOver& self, nb::args) { self.exit(); });
  module.def("all_reduce", all_reduce);
  module.def("all_gather", all_gather);
  module.def("spread", [](const std::vector<std::size_t>& bytes, const Names& devices) { return spread(bytes, devices); });
  module.def("shard_sizes", [](std::int64_t rows, const std::vector<double>& speeds) { return shard_sizes(rows, speeds); });
}

}  // namespace tandem::python
