// What runs in the replicas of a strategy, and what becomes of their results.
#include <algorithm>
#include <numeric>

#include "tandem/autodiff/custom_gradient.h"
#include "tandem/core/write_journal.h"
#include "tandem/dist/even_shards.h"
#include "tandem/dist/mirrored.h"
#include "tandem/dist/replica_threads.h"
#include "tandem/exec/device_error.h"
#include "tandem/graph/trace.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/random_state.h"
#include "tandem/op/shared_draws.h"

namespace tandem {
namespace {

thread_local const ReplicaContext* current_context = nullptr;

/// What the replicas that have something have at place k.
Tensors column(const PerReplica& values, std::size_t k, const char* who) {
  Tensors found;
  for (const Tensors& one : values) {
    if (one.empty()) continue;
    if (k >= one.size()) fail(ErrorCode::invalid_argument, who, ": place ", k, " of ", one.size(), " values");
    found.push_back(one[k]);
  }
  if (found.empty()) fail(ErrorCode::invalid_argument, who, ": no replica has a value");
  return found;
}

Tensor divided(const Tensor& total, std::int64_t count) { return total / static_cast<double>(count); }

/// While it lives, ops of this thread are those of one replica: on its device, with its random numbers.
class ReplicaScope {
 public:
  ReplicaScope(SharedDraws& all, const ReplicaGroup& group, const Shard& shard)
      : on_(shard.device),
        context_{.replica = shard.replica, .begin = shard.begin, .rows = shard.rows, .total = group.total},
        draws_(all, shard.begin, shard.rows, group.total),
        before_(ReplicaDraws::exchange(&draws_)) {
    current_context = &context_;
  }
  ~ReplicaScope() {
    ReplicaDraws::exchange(before_);
    current_context = nullptr;
  }
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

  void meets(std::shared_ptr<ReplicaThread> thread, std::shared_ptr<const ReplicaGroup> group) {
    context_.thread = std::move(thread);
    context_.group = std::move(group);
  }

 private:
  DeviceScope on_;
  ReplicaContext context_;
  ReplicaDraws draws_;
  ReplicaDraws* before_;
};

}  // namespace

Tensor rows_of(const Tensor& array, const Shard& shard) {
  if (!array.defined()) return array;
  const DeviceScope on_host("/CPU:0");
  Ints begin(static_cast<std::size_t>(array.rank()), 0), size(array.shape().begin(), array.shape().end());
  begin[0] = shard.begin;
  size[0] = shard.rows;
  return slice(array, begin, size);
}

const ReplicaContext* get_replica_context() { return current_context; }

std::vector<std::string> ReplicaGroup::devices() const {
  std::vector<std::string> out;
  for (const Shard& shard : shards) out.push_back(shard.device);
  return out;
}

namespace {

std::vector<Tensors> run_once(const ReplicaGroup& given, const std::function<Tensors(const Shard&)>& function) {
  const auto group = std::make_shared<const ReplicaGroup>(given);
  std::vector<Tensors> results(group->shards.size());
  SharedDraws draws;
  if (group->shards.size() == 1) {
    const ReplicaScope scope(draws, *group, group->shards[0]);
    results[0] = function(group->shards[0]);
    return results;
  }
  std::vector<std::shared_ptr<ReplicaThread>> threads;
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.push_back(std::make_shared<ReplicaThread>([&, i] {
      ReplicaScope scope(draws, *group, group->shards[i]);
      scope.meets(threads[i], group);
      results[i] = function(group->shards[i]);
    }));
  run_together(threads);
  return results;
}

/// Puts a journal in force while it lives.
class Journalled {
 public:
  explicit Journalled(WriteJournal& journal) : before_(std::exchange(WriteJournal::current(), &journal)) {}
  ~Journalled() { WriteJournal::current() = before_; }
  Journalled(const Journalled&) = delete;
  Journalled& operator=(const Journalled&) = delete;

 private:
  WriteJournal* before_;
};

/// Has those compute that are left.
void settle(ReplicaGroup& group) {
  for (Shard& shard : group.shards)
    shard.device = group.device_group->stand_in(DeviceName::parse(shard.device)).short_name();
}

/// For ops that run at once.
std::vector<Tensors> run_until_done(ReplicaGroup group, const std::function<Tensors(const Shard&)>& function) {
  DeviceGroup& devices = *group.device_group;
  devices.part_from_lost();
  settle(group);
  const RandomState::Position numbers = random_state().position();
  for (;;) {
    const std::uint64_t before = devices.departures();
    WriteJournal journal;
    try {
      const Journalled writes(journal);
      std::vector<Tensors> results = run_once(group, function);
      for (const Tensors& made : results) bring_home(made, group.home);
      bring_home(journal.values(), group.home);
      return results;
    } catch (const Error& error) {
      if (!goes_on_after(error, devices, before)) throw;
    }
    journal.undo();
    random_state().set_position(numbers);
    settle(group);
  }
}

}  // namespace

std::vector<Tensors> run_replicas(ReplicaGroup group, const std::function<Tensors(const Shard&)>& function) {
  if (current_context)
    fail(ErrorCode::invalid_argument, "a replica was begun inside a replica; call run outside, once for all");
  if (!group.device_group) return run_once(group, function);
  if (Trace* trace = Trace::current()) trace->note_group(group.device_group);
  else if (group.device_group->may_leave()) return run_until_done(std::move(group), function);
  return run_once(group, function);
}

void bring_home(std::span<const Tensor> tensors, std::string_view home) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.is_symbolic()) continue;
    const Device* device = tensor.storage().space().device();
    if (device && device->name().short_name() != home) tensor.raw_data();
  }
}

Tensors ReplicaContext::all_reduce(ReduceOp op, const Tensors& values) const {
  if (!thread) return values;
  const auto forward = [context = *this, op](const Tensors& in) -> WithGradient {
    const auto merge = [group = context.group, op](const PerReplica& brought) {
      return PerReplica(brought.size(), LocalCommunicator(group->devices(), {group->home}).all_reduce(brought, op));
    };
    return {context.thread->meet("all_reduce", in, merge),
            [context, op](const Tensors& gradients, const Tensors&) { return context.all_reduce(op, gradients); }};
  };
  return late_gradient(values, forward);
}

Tensor ReplicaContext::all_gather(const Tensor& value, int axis) const {
  if (!thread) return value;
  const int along = axis < 0 ? axis + value.rank() : axis;
  if (along < 0 || along >= value.rank())
    fail(ErrorCode::invalid_axis, "all_gather: axis ", axis, " of ", value.shape());
  const auto forward = [context = *this, along](const Tensors& in) -> WithGradient {
    // Beside the whole, where the rows of each replica begin: they follow one another in the order of the replicas.
    const auto merge = [group = context.group, along](const PerReplica& brought) {
      std::vector<std::size_t> order(brought.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, {}, [&](std::size_t i) { return group->shards[i].replica; });
      PerReplica ordered, out(brought.size());
      std::vector<std::string> devices;
      std::int64_t begin = 0;
      for (const std::size_t i : order) {
        ordered.push_back({brought[i][0]});
        devices.push_back(group->shards[i].device);
        out[i] = {Tensor(), Tensor::scalar(begin, DType::i64)};
        begin += brought[i][0].shape()[along];
      }
      const Tensor whole = LocalCommunicator(devices, {group->home}).all_gather(ordered, along)[0];
      for (Tensors& one : out) one[0] = whole;
      return out;
    };
    const Tensors answer = context.thread->meet("all_gather", in, merge);
    const auto backward = [context, along, shape = in[0].shape(), begin = answer[1].item<std::int64_t>()](
                              const Tensors& gradients, const Tensors&) {
      const Tensor total = context.all_reduce(ReduceOp::sum, gradients[0]);
      Ints first(static_cast<std::size_t>(total.rank()), 0), size(total.shape().begin(), total.shape().end());
      first[static_cast<std::size_t>(along)] = begin;
      size[static_cast<std::size_t>(along)] = shape[along];
      return Tensors{slice(total, first, size)};
    };
    return {{answer[0]}, backward};
  };
  return late_gradient({value}, forward)[0];
}

Tensors ReplicaContext::merge_call(const std::function<Tensors(const PerReplica&)>& merge,
                                   const Tensors& values) const {
  if (!thread) return merge({values});
  const auto for_all = [group = group, merge](const PerReplica& brought) {
    int most = 0;
    for (const Shard& shard : group->shards) most = std::max(most, shard.replica);
    PerReplica by_replica(static_cast<std::size_t>(most) + 1);
    for (std::size_t i = 0; i < brought.size(); ++i)
      by_replica[static_cast<std::size_t>(group->shards[i].replica)] = brought[i];
    return PerReplica(brought.size(), merge(by_replica));
  };
  return thread->meet("merge_call", values, for_all);
}

void ReplicaContext::update_together(const std::function<void(const Tensors&)>& update, const Tensors& values) const {
  if (!thread) return update(values);
  const auto merge = [group = group, update](const PerReplica& brought) {
    const DeviceScope at_home(group->home);
    Tensors averages(brought[0].size());
    for (std::size_t i = 0; i < brought.size(); ++i) {
      const double share = static_cast<double>(group->shards[i].rows) / static_cast<double>(group->total);
      for (std::size_t k = 0; k < averages.size(); ++k) {
        const Tensor part = brought[i][k] * share;
        averages[k] = i == 0 ? part : averages[k] + part;
      }
    }
    update(averages);
    return PerReplica(brought.size());
  };
  thread->meet("an update of moving averages", values, merge);
}

PerReplica MirroredStrategy::distribute(const Tensors& batch) const {
  if (batch.empty() || batch[0].rank() < 1)
    fail(ErrorCode::invalid_argument, "distribute: needs tensors with a first axis of samples");
  PerReplica out;
  Shard shard;
  for (const std::int64_t rows : even_rows(*this, batch[0].shape()[0])) {
    shard.rows = rows;
    out.emplace_back();
    for (const Tensor& tensor : batch) out.back().push_back(rows_of(tensor, shard));
    shard.begin += rows;
  }
  return out;
}

PerReplica MirroredStrategy::run(const std::function<Tensors(const Tensors&)>& function,
                                 const PerReplica& inputs) const {
  const std::vector<std::string> devices = replica_devices();
  if (inputs.size() != devices.size())
    fail(ErrorCode::wrong_arity, "run: there are ", devices.size(), " replicas, inputs for ", inputs.size());
  ReplicaGroup group{.home = home(), .device_group = device_group()};
  const bool tells = std::any_of(inputs.begin(), inputs.end(), [](const Tensors& one) { return !one.empty(); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tells && inputs[i].empty()) continue;
    const bool has_rows = !inputs[i].empty() && inputs[i][0].rank() > 0;
    const std::int64_t rows = has_rows ? inputs[i][0].shape()[0] : 1;
    if (rows > 0) group.shards.push_back({devices[i], group.total, rows, static_cast<int>(i)});
    group.total += rows;
  }
  std::ranges::stable_partition(group.shards, works_alone, &Shard::device);
  PerReplica results(inputs.size());
  if (group.shards.empty()) return results;
  std::vector<std::size_t> replicas;
  for (const Shard& shard : group.shards) replicas.push_back(static_cast<std::size_t>(shard.replica));
  std::vector<Tensors> made = run_replicas(
      std::move(group), [&](const Shard& shard) { return function(inputs[static_cast<std::size_t>(shard.replica)]); });
  for (std::size_t k = 0; k < replicas.size(); ++k) results[replicas[k]] = std::move(made[k]);
  return results;
}

Tensor MirroredStrategy::reduce(ReduceOp op, const PerReplica& values, std::size_t k, std::optional<int> axis) const {
  const DeviceScope at_home(home());
  const Tensors parts = column(values, k, "reduce");
  if (!axis)
    return op == ReduceOp::sum ? sum_of(parts) : divided(sum_of(parts), static_cast<std::int64_t>(parts.size()));
  Tensors sums;
  std::int64_t count = 0;
  for (const Tensor& part : parts) {
    sums.push_back(reduce_sum(part, {*axis}));
    count += part.shape()[*axis < 0 ? *axis + part.rank() : *axis];
  }
  return op == ReduceOp::sum ? sum_of(sums) : divided(sum_of(sums), count);
}

Tensors MirroredStrategy::experimental_local_results(const PerReplica& values, std::size_t k) const {
  return column(values, k, "experimental_local_results");
}

Tensor MirroredStrategy::gather(const PerReplica& values, int axis, std::size_t k) const {
  const DeviceScope at_home(home());
  const Tensors parts = column(values, k, "gather");
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

Tensors MirroredStrategy::sum(const PerReplica& values) const {
  PerReplica brought;
  std::vector<std::string> from;
  const std::vector<std::string> devices = replica_devices();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    brought.push_back(values[i]);
    from.push_back(Trace::current() ? devices.at(i) : home());  // what has run at once is at home already
  }
  return LocalCommunicator(from, {home()}).all_reduce(brought, ReduceOp::sum);
}

Tensor compute_average_loss(const Tensor& per_example_loss, const Tensor& sample_weight,
                            std::optional<std::int64_t> global_batch_size) {
  if (per_example_loss.rank() == 0)
    fail(ErrorCode::invalid_argument, "compute_average_loss: needs a loss an example, got one number");
  if (global_batch_size && *global_batch_size < 0)
    fail(ErrorCode::invalid_argument, "compute_average_loss: global_batch_size must not be negative, got ",
         *global_batch_size);
  const ReplicaContext* context = current_context;
  const std::int64_t own = per_example_loss.shape()[0];
  const std::int64_t rows = global_batch_size.value_or(context && context->rows == own ? context->total : own);
  Tensor losses = per_example_loss;
  if (sample_weight.defined()) {
    Ints shape(sample_weight.shape().begin(), sample_weight.shape().end());
    shape.resize(static_cast<std::size_t>(losses.rank()), 1);
    losses = losses * cast(reshape(sample_weight, shape), losses.dtype());
  }
  return rows == 0 ? zeros_like(reduce_sum(losses)) : divided(reduce_sum(losses), rows);
}

Tensor scale_regularization_loss(const Tensor& loss) {
  const ReplicaContext* context = current_context;
  if (!context || context->total == 0) return loss;
  return loss * (static_cast<double>(context->rows) / static_cast<double>(context->total));
}

}  // namespace tandem
