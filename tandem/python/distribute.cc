// What the replicas of a strategy need: their share of a batch, of random numbers, and of the state of the thread they
// stand for.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/autodiff/thread_context.h"
#include "tandem/base/log.h"
#include "tandem/core/run_queue.h"
#include "tandem/core/write_journal.h"
#include "tandem/dist/communicator.h"
#include "tandem/dist/even_shards.h"
#include "tandem/dist/forecast.h"
#include "tandem/dist/mirrored.h"
#include "tandem/exec/device_error.h"
#include "tandem/op/random_state.h"
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
  module.def("run_counts", [] {
    const RunQueue::Counts counts = RunQueue::counts();
    return nb::make_tuple(counts.runs, counts.waits);
  });
  module.attr("MOST_RUNS") = RunQueue::kMost;
}

/// An attempt at what replicas do op by op; `with attempt:` while they do it. Where a device fails, it is undone.
class Attempt {
 public:
  explicit Attempt(const MirroredStrategy& strategy)
      : group_(strategy.device_group()),
        home_(strategy.home()),
        numbers_(random_state().position()) {
    group_->part_from_lost();
    departures_ = group_->departures();
  }

  void enter() { before_ = std::exchange(WriteJournal::current(), &journal_); }
  void exit() { WriteJournal::current() = before_; }
  /// These, and what variables hold now, survive the devices.
  void keep(nb::handle tensors) const {
    bring_home(tensors_of(tensors), home_);
    bring_home(journal_.values(), home_);
  }
  /// Whether there is to be another, with the variables and random numbers that this one began with.
  bool repeats(int code, const std::string& message) {
    const Error error(static_cast<ErrorCode>(code), message);
    if (!goes_on_after(error, *group_, departures_)) return false;
    journal_.undo();
    random_state().set_position(numbers_);
    return true;
  }
  std::string stand_in(const std::string& device) const {
    return group_->stand_in(DeviceName::parse(device)).short_name();
  }

 private:
  std::shared_ptr<DeviceGroup> group_;
  std::string home_;
  std::uint64_t departures_ = 0;
  RandomState::Position numbers_;
  WriteJournal journal_;
  WriteJournal* before_ = nullptr;
};

/// People are told by Python's logger, on its main thread: whoever notices that a device fails does not wait for the
/// interpreter.
void tell_in_python(const std::string& line) {
  const auto tell = [](void* given) {
    const std::unique_ptr<std::string> text(static_cast<std::string*>(given));
    nb::module_::import_("tandemflow._logging").attr("get_logger")().attr("warning")("%s", *text);
    return 0;
  };
  auto text = std::make_unique<std::string>(line);
  if (Py_AddPendingCall(tell, text.get()) == 0) static_cast<void>(text.release());
  else log(LogLevel::warning, line);
}

/// How a group of devices divides batches, and which of them are left.
void add_group(nb::module_& module) {
  ReplicaDevices::set_teller(tell_in_python);
  nb::class_<Attempt>(module, "Attempt")
      .def("__enter__", &Attempt::enter)
      .def("__exit__", [](Attempt& self, nb::args) { self.exit(); })
      .def("keep", &Attempt::keep)
      .def("repeats", &Attempt::repeats)
      .def("stand_in", &Attempt::stand_in);
  nb::class_<Shards>(module, "Shards")
      .def(nb::init<Names>())
      .def_prop_ro("speeds", &Shards::speeds)
      .def_prop_ro("reason", &Shards::reason)
      .def_prop_ro("fixed", &Shards::fixed)
      .def("sizes", &Shards::sizes)
      .def("take_measured", &Shards::take_measured)
      .def("note_alone", &Shards::note_alone);
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
      .def("__init__",
           [](MirroredStrategy* self, const Names& devices, bool stops, bool sharded, const std::string& reduce_to) {
             using OnFailure = MirroredOptions::OnFailure;
             new (self) MirroredStrategy(devices, {.on_failure = stops ? OnFailure::stop : OnFailure::leave,
                                                   .sharded = sharded,
                                                   .reduce_to = reduce_to});
           })
      .def_prop_ro("devices", &MirroredStrategy::devices)
      .def_prop_ro("replica_devices", &MirroredStrategy::replica_devices)
      .def_prop_ro("num_replicas_in_sync", &MirroredStrategy::num_replicas_in_sync)
      .def("even_sizes", [](const MirroredStrategy& self, std::int64_t rows) { return even_rows(self, rows); })
      .def_prop_ro("division", &MirroredStrategy::division)
      .def_prop_ro("home", &MirroredStrategy::home)
      .def("homes",
           [](const MirroredStrategy& self, const std::vector<std::size_t>& bytes) { return self.homes(bytes); })
      .def("sizes", &MirroredStrategy::shard_rows)
      .def("set_speeds", &MirroredStrategy::set_speeds)
      .def("adapts", &MirroredStrategy::adapts)
      .def("explain", &MirroredStrategy::explain)
      .def("tell_slower",
           [](const MirroredStrategy& self, const std::string& line) { tell_slower(self.devices(), line); })
      .def("note_in_trace", [](const MirroredStrategy& self) { Trace::current()->note_group(self.device_group()); })
      .def(
          "attempt",
          [](const MirroredStrategy& self) {
            const auto group = self.device_group();
            return group && group->may_leave() ? new Attempt(self) : nullptr;
          },
          nb::rv_policy::take_ownership);
}

}  // namespace

void add_distribute(nb::module_& module) {
  nb::class_<SharedDraws>(module, "SharedDraws").def(nb::init<>());
  nb::class_<Draws>(module, "Draws")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Draws* self, SharedDraws& all, std::int64_t begin, std::int64_t rows, std::int64_t total) {
            new (self) Draws{.of_replica = ReplicaDraws(all, begin, rows, total)};
          },
          nb::keep_alive<1, 2>())
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
