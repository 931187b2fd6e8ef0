// What the replicas of a strategy need: their share of a batch, of random numbers, and of the state of the thread they stand for.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/autodiff/thread_context.h"
#include "tandem/core/run_queue.h"
#include "tandem/dist/communicator.h"
#include "tandem/dist/mirrored.h"
#include "tandem/op/shared_draws.h"
#include "tandem/python/function_object.h"
#include "tandem/python/module.h"
#include "tandem/python/strategy_scope.h"
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

/// Steps that a thread of their own does while the caller goes on.
void add_runs(nb::module_& module) {
  RunQueue::set_around_waits([](const std::function<void()>& wait) {
    if (!Py_IsInitialized() || !PyGILState_Check()) return wait();
    const WithoutGil without;
    wait();
  });
  module.def("await_runs", [] { RunQueue::await_all(); });
  module.def("dropped_runs", RunQueue::take_dropped);
  module.def("run_counts", [] {
    const RunQueue::Counts counts = RunQueue::counts();
    return nb::make_tuple(counts.runs, counts.waits);
  });
  module.attr("MOST_RUNS") = RunQueue::kMost;
}

/// How a group of devices divides batches, and which of them are left.
void add_group(nb::module_& module) {
  nb::class_<Shards>(module, "Shards")
      .def(nb::init<Names>())
      .def_prop_ro("speeds", &Shards::speeds)
      .def_prop_ro("reason", &Shards::reason)
      .def_prop_ro("fixed", &Shards::fixed)
      .def("sizes", &Shards::sizes)
      .def("take_measured", &Shards::take_measured);
  nb::class_<Tuner>(module, "Tuner")
      .def(nb::init<std::shared_ptr<Shards>>())
      .def(nb::init<std::shared_ptr<Shards>, double>())
      .def_ro_static("PATIENCE", &Tuner::kPatience)
      .def_ro_static("STRETCH", &Tuner::kStretch)
      .def("note", &Tuner::note)
      .def_prop_ro("settled", &Tuner::settled)
      .def("set_single", &Tuner::set_single)
      .def("slower_together", &Tuner::slower_together);
  nb::class_<MirroredStrategy>(module, "MirroredGroup")
      .def("__init__", [](MirroredStrategy* self, const Names& devices, bool stops, bool sharded, const std::string& reduce_to) {
        using OnFailure = MirroredOptions::OnFailure;
        new (self) MirroredStrategy(devices, {.on_failure = stops ? OnFailure::stop : OnFailure::leave, .sharded = sharded, .reduce_to = reduce_to});
      })
      .def_prop_ro("devices", &MirroredStrategy::devices)
      .def_prop_ro("division", &MirroredStrategy::division)
      .def_prop_ro("home", &MirroredStrategy::home)
      .def("homes", [](const MirroredStrategy& self, const std::vector<std::size_t>& bytes) { return self.homes(bytes); })
      .def("sizes", &MirroredStrategy::shard_rows)
      .def("set_speeds", &MirroredStrategy::set_speeds)
      .def("adapts", &MirroredStrategy::adapts)
      .def("explain", &MirroredStrategy::explain)
      .def("leave", [](const MirroredStrategy& self, int code, const std::string& message) { return self.leave(static_cast<ErrorCode>(code), message); });
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
  module.def("set_strategy_scope", [](bool inside) { in_strategy_scope = inside; });
  add_runs(module);
  add_group(module);
}

}  // namespace tandem::python
