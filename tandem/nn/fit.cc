// fit, evaluate and single steps.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tandem/nn/division.h"
#include "tandem/nn/model.h"
#include "tandem/nn/progress_bar.h"

namespace tandem {
namespace {

constexpr double kNoLimit = 1e9;        // seconds
constexpr double kBetweenLooks = 0.05;  // seconds from one drawing of the bar to the next

/// Tests on all batches.
void run_all(StepSource& source, const CompiledModel& state) {
  source.begin();
  while (source.run(state.test_step(), source.steps() < 0 ? 1 : source.steps(), kNoLimit) > 0) {}
}

Samples rows(const Samples& samples, std::int64_t first, std::int64_t count) {
  const Shard part{.begin = first, .rows = count};
  Tensors x, y;
  for (const Tensor& array : samples.x) x.push_back(rows_of(array, part));
  for (const Tensor& array : samples.y) y.push_back(rows_of(array, part));
  return {std::move(x), std::move(y), rows_of(samples.sample_weight, part)};
}

/// The weight of each sample by its class, which is a number or a row of a one at its place.
Tensor weights_by_class(const Tensor& y, const std::map<std::int64_t, double>& by_class) {
  const bool one_hot_rows = y.rank() > 1 && y.shape()[-1] > 1;
  const Tensor classes = cast(one_hot_rows ? argmax(y, -1) : reshape(y, Ints{-1}), DType::i64);
  std::vector<float> weights;
  for (const std::int64_t number : classes.to_vector<std::int64_t>()) {
    const auto found = by_class.find(number);
    weights.push_back(found == by_class.end() ? 1.0f : static_cast<float>(found->second));
  }
  const auto count = static_cast<std::int64_t>(weights.size());
  return Tensor::from(weights, {count});
}

void need_one_output(std::size_t outputs) {
  if (outputs != 1)
    fail(ErrorCode::invalid_argument, "fit: class_weight is for models with one output, this one has ", outputs);
}

Samples with_weights(const Samples& samples, const FitOptions& options) {
  Samples out = samples;
  if (options.sample_weight.defined()) out.sample_weight = options.sample_weight;
  if (options.class_weight.empty()) return out;
  need_one_output(samples.y.size());
  const Tensor weights = weights_by_class(samples.y[0], options.class_weight);
  out.sample_weight = out.sample_weight.defined() ? out.sample_weight * weights : weights;
  return out;
}

}  // namespace

/// One call of fit.
class Training {
 public:
  Training(Model& model, const FitOptions& options) : model_(model), state_(model.compiled()), options_(options) {
    if (options.validation_freq < 1)
      fail(ErrorCode::invalid_argument, "fit: validation_freq must be at least 1, got ", options.validation_freq);
    for (const CallbackRef& callback : options.callbacks) wants_batches_ = wants_batches_ || callback->wants_batches();
  }

  History run(StepSource& source, StepSource* validation) {
    int first = options_.initial_epoch;
    for (const CallbackRef& callback : options_.callbacks) first = callback->first_epoch(model_, first);
    model_.stop_training(Model::Stop::no);
    for (const CallbackRef& callback : options_.callbacks) callback->on_train_begin(model_);
    for (int epoch = first; epoch < options_.epochs && model_.stop_ == Model::Stop::no; ++epoch)
      run_epoch(epoch, source, validation);
    state_.optimizer()->finalize(model_.trainable_variables());
    for (const CallbackRef& callback : options_.callbacks) callback->on_train_end(model_);
    return std::move(history_);
  }

 private:
  void run_epoch(int epoch, StepSource& source, StepSource* validation) {
    if (options_.verbose) std::printf("Epoch %d/%d\n", epoch + 1, options_.epochs);
    for (const CallbackRef& callback : options_.callbacks) callback->on_epoch_begin(model_, epoch);
    source.begin();
    if (state_.strategy() && !division_)
      (division_ = &state_.division())->begin(source.sample());  // after the first order was drawn, as without one
    state_.reset();
    ProgressBar bar(options_.verbose, source.steps());
    const std::int64_t done = run_steps(source, bar);
    if (done == 0) fail(ErrorCode::invalid_argument, "fit: the dataset gave no batches");
    Logs logs = state_.read();
    if (validation && (epoch + 1) % options_.validation_freq == 0) {
      state_.reset();
      run_all(*validation, state_);
      for (const auto& [name, value] : state_.read()) logs["val_" + name] = value;
    }
    bar.finish(done, logs);
    for (const CallbackRef& callback : options_.callbacks) callback->on_epoch_end(model_, epoch, logs);
    for (const auto& [name, value] : logs) history_[name].push_back(value);
  }

  std::int64_t run_steps(StepSource& source, ProgressBar& bar) {
    const std::int64_t at_once = wants_batches_ ? 1 : source.steps() < 0 ? std::int64_t{1} << 40 : source.steps();
    std::int64_t done = 0;
    while (run_stretch(source, at_once)) {
      done = source.done();
      if (options_.verbose != 1 && !wants_batches_) continue;
      const Logs logs = state_.read();
      for (const CallbackRef& callback : options_.callbacks)
        if (callback->wants_batches()) callback->on_train_batch_end(model_, done - 1, logs);
      if (model_.stop_ == Model::Stop::now) break;
      if (done < source.steps()) bar.show(done, logs);
    }
    return done;
  }

  /// Runs some steps; false at the end.
  bool run_stretch(StepSource& source, std::int64_t at_once) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::int64_t before = source.done();
    const double limit =
        std::min(options_.verbose == 1 ? kBetweenLooks : kNoLimit, division_ ? division_->stretch() : kNoLimit);
    if (!source.run(state_.train_step(), at_once, limit)) return false;
    if (division_) division_->note(source.done() - before, std::chrono::duration<double>(Clock::now() - begin).count());
    return true;
  }

  Model& model_;
  const CompiledModel& state_;
  const FitOptions& options_;
  bool wants_batches_ = false;
  Division* division_ = nullptr;  // of batches among the replicas of a strategy
  History history_;
};

History Model::fit(const Samples& samples, const FitOptions& options) {
  compiled();  // or an error, before anything is cut
  Samples train = with_weights(samples, options);
  std::optional<Samples> validation = options.validation_data;
  if (!validation && options.validation_split != 0) {
    const std::int64_t all = train.x.at(0).shape()[0],
                       kept = static_cast<std::int64_t>(static_cast<double>(all) * (1 - options.validation_split));
    if (!(options.validation_split > 0 && options.validation_split < 1) || kept < 1 || kept == all)
      fail(ErrorCode::invalid_argument, "fit: validation_split = ", options.validation_split, " leaves ", kept, " of ",
           all, " samples for training; both parts need at least one");
    validation = rows(train, kept, all - kept);
    train = rows(train, 0, kept);
  }
  const auto steps = steps_of(train, options.batch_size, options.shuffle, "fit", options.steps_per_epoch);
  const auto check = validation_steps(validation, options);
  return Training(*this, options).run(*steps, check.get());
}

std::unique_ptr<StepSource> Model::validation_steps(const std::optional<Samples>& samples,
                                                    const FitOptions& options) const {
  if (options.validation_dataset) return steps_of(*options.validation_dataset, options.validation_steps);
  if (!samples) return nullptr;
  return steps_of(*samples, options.validation_batch_size ? options.validation_batch_size : options.batch_size, false,
                  "fit", options.validation_steps);
}

History Model::fit(const Dataset& dataset, const FitOptions& options) {
  if (options.validation_split != 0)
    fail(ErrorCode::invalid_argument, "fit: validation_split is for arrays; give validation_data beside a dataset");
  if (options.sample_weight.defined())
    fail(ErrorCode::invalid_argument,
         "fit: sample_weight is for arrays; a dataset gives (inputs, targets, sample weights)");
  BatchChange change;
  if (!options.class_weight.empty()) {
    need_one_output(graph_.outputs().size());
    change = [targets = graph_.input_count(), by_class = options.class_weight](Tensors batch) {
      const Tensor weights = weights_by_class(batch.at(targets), by_class);
      if (batch.size() > targets + 1) batch.back() = batch.back() * weights;
      else batch.push_back(weights);
      return batch;
    };
  }
  const auto steps = steps_of(dataset, options.steps_per_epoch, std::move(change));
  const auto check = validation_steps(options.validation_data, options);
  return Training(*this, options).run(*steps, check.get());
}

Logs Model::evaluate(const Samples& samples, std::int64_t batch_size) const {
  const CompiledModel& state = compiled();
  const auto steps = steps_of(samples, batch_size, false, "evaluate");
  state.reset();
  run_all(*steps, state);
  return state.read();
}

Logs Model::evaluate(const Dataset& dataset) const {
  const CompiledModel& state = compiled();
  const auto steps = steps_of(dataset, 0);
  state.reset();
  run_all(*steps, state);
  return state.read();
}

Logs Model::train_on_batch(const Samples& batch) {
  const CompiledModel& state = compiled();
  state.reset();
  state.train_step().call(batch.arrays());
  return state.read();
}

Logs Model::test_on_batch(const Samples& batch) const {
  const CompiledModel& state = compiled();
  state.reset();
  state.test_step().call(batch.arrays());
  return state.read();
}

}  // namespace tandem
