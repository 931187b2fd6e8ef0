#include "tandem/nn/compiled_model.h"

#include <algorithm>
#include <optional>

#include "tandem/dist/even_shards.h"
#include "tandem/nn/division.h"
#include "tandem/nn/optimizers.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

Tensors rows_of(const Tensors& arrays, const Shard& shard) {
  Tensors out;
  for (const Tensor& array : arrays) out.push_back(rows_of(array, shard));
  return out;
}

Batch rows_of(const Batch& batch, const Shard& shard) {
  return {rows_of(batch.inputs, shard), rows_of(batch.targets, shard), rows_of(batch.weights, shard)};
}

Tensor sum_of(const Tensor& a, const Tensor& b) { return !a.defined() ? b : b.defined() ? a + b : a; }

/// Tensors of the parts of a batch, in the order of their rows.
Tensor joined(const Tensors& parts) { return parts.size() == 1 ? parts[0] : concat(parts, 0); }

/// What a replica brings: its gradients, and the rows that some of them are made of.
Tensors with_rows(Tensors gradients, const RowNotes::Lists& rows) {
  for (const auto& list : rows)
    for (const auto& [values, indices] : list) gradients.insert(gradients.end(), {values, indices});
  return gradients;
}

/// Takes the rows, lists like those of `shape`, off what a replica brings and adds them to those of all.
Tensors without_rows(Tensors brought, const RowNotes::Lists& shape, RowNotes::Lists& all) {
  auto next = brought.begin() + static_cast<std::ptrdiff_t>(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    for (std::size_t k = 0; k < shape[i].size(); ++k, next += 2) all[i].push_back({next[0], next[1]});
  brought.resize(shape.size());
  return brought;
}

}  // namespace

CompiledModel::CompiledModel(const LayerGraph& graph, Steps& steps, bool own_steps, const std::string& name,
                             CompileOptions options)
    : graph_(graph),
      steps_(steps),
      own_steps_(own_steps),
      options_(std::move(options)),
      optimizer_(options_.optimizer_object ? options_.optimizer_object : make_optimizer(options_.optimizer)) {
  const std::size_t count = graph.outputs().size();
  if (!options_.losses.empty() && options_.losses.size() != count)
    fail(ErrorCode::invalid_argument, "compile: ", options_.losses.size(), " losses were given for ", count,
         " outputs");
  if (!options_.output_metrics.empty() && options_.output_metrics.size() != count)
    fail(ErrorCode::invalid_argument, "compile: ", options_.output_metrics.size(), " lists of metrics were given for ",
         count, " outputs");
  if (!options_.loss_weights.empty() && options_.loss_weights.size() != count)
    fail(ErrorCode::invalid_argument, "compile: ", options_.loss_weights.size(), " loss_weights were given for ", count,
         " outputs");
  for (std::size_t i = 0; i < count; ++i) add_output(i);
  const bool halves = std::ranges::any_of(
      graph.layers(), [](const LayerPtr& layer) { return layer->policy().name == "mixed_float16"; });
  if (halves && options_.auto_scale_loss && !optimizer_->scales_losses()) optimizer_->scale_losses();
  if (MirroredStrategy::current()) {
    strategy_ = *MirroredStrategy::current();
    division_ = std::make_unique<Division>(*this, own_steps_);
  }
  const auto body = [this](bool training) -> Function::Body {
    return [this, training](const Tensors& batch) -> Tensors {
      AddedLosses added;
      const Batch parts = split(batch);
      const Tensor loss = strategy_ && !own_steps_ ? run_mirrored(parts, training) : run_own_steps(parts, training);
      loss_.add(loss, parts.inputs[0].shape()[0]);
      return {loss};
    };
  };
  train_body_ = body(true);
  test_body_ = body(false);
  train_.emplace(train_body_, FunctionOptions{.name = name + " train step"});
  test_.emplace(test_body_, FunctionOptions{.name = name + " test step"});
}

CompiledModel::~CompiledModel() = default;

void CompiledModel::add_output(std::size_t index) {
  Output output;
  const bool several = graph_.outputs().size() > 1;
  const LayerPtr& layer = graph_.layer_of(index);
  const std::string prefix = several && layer ? layer->name() + "_" : "";
  if (!options_.loss_weights.empty()) output.weight = options_.loss_weights[index];
  const LossConfig& config = options_.losses.empty() ? options_.loss : options_.losses[index];
  if (const LossFunction own = options_.loss_function ? options_.loss_function : config.function) {
    output.reduction = config.arguments.reduction;
    output.loss = [own](const Tensor& y_true, const Tensor& y_pred) { return LossValues{own(y_true, y_pred)}; };
  } else {
    const LossRecord& record = find_loss(config.name);
    LossArguments arguments = config.arguments;
    arguments.from_logits = arguments.from_logits || options_.from_logits;
    if (!own_steps_ && !arguments.from_logits && !record.activation.empty() &&
        graph_.last_activation(index) == record.activation) {
      output.left_out = record.activation;
      arguments.from_logits = true;
    }
    output.reduction = arguments.reduction;
    output.loss = [values = record.values, arguments](const Tensor& y_true, const Tensor& y_pred) {
      return values(y_true, y_pred, arguments);
    };
  }
  if (several) output.mean.emplace(prefix + "loss");
  const auto watch = [&](const std::vector<MetricConfig>& metrics, bool weighted) {
    for (const MetricConfig& config : metrics) {
      MetricRef metric = make_metric(config);
      metric->rename(prefix + metric->name());
      output.metrics.push_back({std::move(metric), weighted});
    }
  };
  watch(options_.output_metrics.empty() ? options_.metrics : options_.output_metrics[index], false);
  watch(options_.weighted_metrics, true);
  as_logits_.push_back(!output.left_out.empty());
  outputs_.push_back(std::move(output));
}

Logs CompiledModel::read() const {
  std::optional<DeviceScope> at_home;  // as when they are updated
  if (strategy_) at_home.emplace(strategy_->home());
  Logs logs{{"loss", loss_.result()}};
  for (const Mean& mean : means_) logs[mean.name()] = mean.result();
  for (const Output& output : outputs_) {
    if (output.mean) logs[output.mean->name()] = output.mean->result();
    for (const auto& [metric, weighted] : output.metrics) logs[metric->name()] = metric->result();
  }
  return logs;
}

void CompiledModel::reset() const {
  std::optional<DeviceScope> at_home;
  if (strategy_) at_home.emplace(strategy_->home());
  loss_.reset();
  for (const Mean& mean : means_) mean.reset();
  for (const Output& output : outputs_) {
    if (output.mean) output.mean->reset();
    for (const auto& [metric, weighted] : output.metrics) metric->reset();
  }
}

Batch CompiledModel::split(const Tensors& batch) const {
  const std::size_t inputs = graph_.input_count(), arrays = inputs + outputs_.size();
  if (batch.size() != arrays && batch.size() != arrays + 1)
    fail(ErrorCode::wrong_arity, "the model has ", inputs, " inputs and ", outputs_.size(),
         " outputs, so that a batch has ", arrays, " arrays, and one more with sample weights; got ", batch.size());
  const auto at = [&](std::size_t index) { return batch.begin() + static_cast<std::ptrdiff_t>(index); };
  return {{at(0), at(inputs)}, {at(inputs), at(arrays)}, batch.size() > arrays ? batch.back() : Tensor()};
}

Tensor CompiledModel::loss_of(const Output& output, const Tensor& y_true, const Tensor& y_pred, const Tensor& mask,
                              const Tensor& weights, std::int64_t all) const {
  return reduced(output.loss(y_true, y_pred), weights, mask, output.reduction, y_pred.shape()[0], all);
}

Tensor CompiledModel::penalties(const Tensors& added) const {
  Tensor sum;
  for (const Tensor& loss : added) sum = sum_of(sum, loss);
  for (const LayerPtr& layer : graph_.layers())
    for (const Tensor& loss : layer->losses()) sum = sum_of(sum, loss);
  return sum;
}

void CompiledModel::constrain() const {
  for (const LayerPtr& layer : graph_.layers()) layer->constrain();
}

Outputs CompiledModel::forward(const Tensors& inputs, bool training) const {
  if (AddedLosses* added = AddedLosses::current()) added->clear();  // of an earlier pass in the same step
  Outputs made = graph_.run_masked(inputs, Tensors(inputs.size()), training, as_logits_);
  for (Tensor& value : made.values) value = at_least_float32(value);
  return made;
}

Tensor CompiledModel::loss_of(const Batch& batch, const Outputs& made) const {
  const AddedLosses* added = AddedLosses::current();
  return loss_of(batch, made, added ? added->values() : Tensors());
}

Tensor CompiledModel::loss_of(const Batch& batch, const Outputs& made, const Tensors& added) const {
  const std::int64_t rows = made.values.at(0).shape()[0];
  const ReplicaContext* replica = get_replica_context();
  const std::int64_t all = replica && replica->rows == rows ? replica->total : rows;
  Tensor total = penalties(added);
  if (total.defined() && all != rows) total = total * (static_cast<double>(rows) / static_cast<double>(all));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const Tensor loss = loss_of(output, batch.targets[i], made.values.at(i), made.masks[i], batch.weights, all);
    if (output.mean)
      output.mean->add(all == rows ? loss : loss * (static_cast<double>(all) / static_cast<double>(rows)), rows);
    total = sum_of(total, output.weight == 1 ? loss : loss * output.weight);
  }
  return total;
}

void CompiledModel::update_metrics(const Batch& batch, const Outputs& made) const {
  std::optional<DeviceScope> at_home;  // replicas share them, and what lies there survives the loss of a device
  if (strategy_ && get_replica_context()) at_home.emplace(strategy_->home());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    for (const auto& [metric, weighted] : outputs_[i].metrics)
      metric->update(batch.targets[i], {made.values.at(i), outputs_[i].left_out}, weighted ? batch.weights : Tensor());
}

void CompiledModel::minimize(GradientTape& tape, const Tensor& loss) const {
  const std::vector<Variable> variables = trainable_variables();
  const RowNotes notes;
  const Tensors gradients = tape.gradient(optimizer_->scaled_loss(loss), Tensors(variables.begin(), variables.end()));
  const RowNotes::Lists rows = notes.of_all(gradients);
  const ReplicaContext* replica = get_replica_context();
  if (!replica || !replica->thread) {
    optimizer_->apply_gradients(variables, gradients, {}, rows);
    return constrain();
  }
  const auto together = [&](const PerReplica& brought) -> Tensors {
    PerReplica present;
    std::vector<std::string> devices;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      if (brought[i].empty()) continue;
      present.push_back(brought[i]);
      devices.push_back(strategy_->replica_devices()[i]);
    }
    if (!present.empty()) apply(variables, present, devices, rows);  // a model without variables has nothing to bring
    return {};
  };
  replica->merge_call(together, with_rows(gradients, rows));
}

void CompiledModel::apply(const std::vector<Variable>& variables, const PerReplica& brought,
                          const std::vector<std::string>& devices, const RowNotes::Lists& shape) const {
  const DeviceScope at_home(strategy_->home());
  RowNotes::Lists rows(shape.size());
  PerReplica gradients;
  for (const Tensors& one : brought) gradients.push_back(without_rows(one, shape, rows));
  std::vector<std::size_t> bytes;
  for (const Variable& variable : variables) bytes.push_back(variable.value().spec().bytes());
  const std::vector<std::string> homes = strategy_->homes(bytes);
  const Tensors sums = LocalCommunicator(devices, homes).all_reduce(gradients, ReduceOp::sum);
  optimizer_->apply_gradients(
      variables, sums, homes.size() == variables.size() && homes.size() > 1 ? homes : std::vector<std::string>(), rows);
  constrain();
}

Tensor CompiledModel::learn(const Batch& batch) const {
  GradientTape tape;
  const Outputs outputs = forward(batch.inputs, true);
  const Tensor loss = steps_.compute_loss(batch, outputs);
  update_metrics(batch, outputs);
  minimize(tape, loss);
  return loss;
}

Tensor CompiledModel::check(const Batch& batch) const {
  const Outputs outputs = forward(batch.inputs, false);
  const Tensor loss = steps_.compute_loss(batch, outputs);
  update_metrics(batch, outputs);
  return loss;
}

Tensors CompiledModel::gradients(const Tensors& arrays) const {
  const Batch batch = split(arrays);
  GradientTape tape;
  const AddedLosses added;
  const auto [outputs, masks] = forward(batch.inputs, false);
  Tensor loss = penalties(added.values());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    loss = sum_of(loss,
                  loss_of(outputs_[i], batch.targets[i], outputs[i], masks[i], batch.weights, outputs[i].shape()[0]) *
                      outputs_[i].weight);
  const std::vector<Variable> variables = trainable_variables();
  Tensors found = tape.gradient(loss, Tensors(variables.begin(), variables.end()));
  std::erase_if(found, [](const Tensor& gradient) { return !gradient.defined(); });
  return found.empty() ? Tensors{loss} : found;
}

ReplicaGroup CompiledModel::replicas_for(const Batch& batch) const {
  const std::int64_t rows = batch.inputs[0].shape()[0];
  // Steps of one's own may average over their rows: as many replicas as ever. Ours are divided among the devices that
  // are left.
  std::vector<Shard> shards =
      own_steps_ ? shards_of(strategy_->replica_devices(), even_rows(*strategy_, rows)) : strategy_->shards(rows);
  return {
      .shards = std::move(shards), .total = rows, .home = strategy_->home(), .device_group = strategy_->device_group()};
}

Tensor CompiledModel::run_own_steps(const Batch& batch, bool training) const {
  const auto step = [&](const Batch& part) { return training ? steps_.train_step(part) : steps_.test_step(part); };
  if (!strategy_) return step(batch);
  const PerReplica shares = run_replicas(replicas_for(batch), [&](const Shard& shard) -> Tensors {
    const AddedLosses added;
    return {step(rows_of(batch, shard))};
  });
  const DeviceScope at_home(strategy_->home());
  Tensor loss;
  for (const Tensors& share : shares) loss = sum_of(loss, share[0]);
  return loss;
}

Tensor CompiledModel::run_mirrored(const Batch& batch, bool training) const {
  const ReplicaGroup group = replicas_for(batch);
  const std::int64_t rows = group.total;
  std::map<std::int64_t, Outputs> parts;  // by first row
  std::vector<Variable> variables;
  RowNotes::Lists made_of;  // of one replica: lists of the same lengths in all
  std::map<std::int64_t, Tensor> costs;  // what layers added
  const PerReplica brought = run_replicas(group, [&](const Shard& shard) -> Tensors {
    const Batch mine = rows_of(batch, shard);
    std::optional<GradientTape> tape;
    if (training) tape.emplace();
    const AddedLosses added;
    const auto [outputs, masks] = forward(mine.inputs, training);
    parts[shard.begin] = {outputs, masks};
    Tensor loss;
    for (const Tensor& one : added.values())
      loss = sum_of(loss, one * (static_cast<double>(shard.rows) / static_cast<double>(rows)));
    if (loss.defined()) costs[shard.begin] = loss;
    bring_home(outputs, group.home);
    if (!training) return {};
    if (shard.begin == group.shards[0].begin) loss = sum_of(loss, penalties({}));  // of the variables: once
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      loss = sum_of(
          loss, loss_of(outputs_[i], mine.targets[i], outputs[i], masks[i], mine.weights, rows) * outputs_[i].weight);
    variables = trainable_variables();
    const RowNotes notes;
    const Tensors gradients =
        tape->gradient(optimizer_->scaled_loss(loss), Tensors(variables.begin(), variables.end()));
    return with_rows(gradients, made_of = notes.of_all(gradients));
  });
  const DeviceScope at_home(strategy_->home());
  Outputs whole;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Tensors outputs, masks;
    for (const auto& [begin, made] : parts) {
      outputs.push_back(made.values[i]);
      masks.push_back(made.masks[i]);
    }
    whole.values.push_back(joined(outputs));
    whole.masks.push_back(masks[0].defined() ? joined(masks) : Tensor());
  }
  Tensors added;
  for (const auto& [begin, cost] : costs) added.push_back(cost);
  const Tensor loss = loss_of(batch, whole, added);
  update_metrics(batch, whole);
  if (training) apply(variables, brought, group.devices(), made_of);
  return loss;
}

}  // namespace tandem
