#include "tandem/nn/step_source.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "tandem/core/run_queue.h"
#include "tandem/exec/run_ahead.h"

namespace tandem {

void ModelStep::call(const Tensors& batch) const {
  if (eager) eager(batch);
  else traced.call(batch, key);
}

Tensors Samples::arrays() const {
  Tensors all = x;
  all.insert(all.end(), y.begin(), y.end());
  if (sample_weight.defined()) all.push_back(sample_weight);
  return all;
}

namespace {

class ArraySteps final : public StepSource {
 public:
  ArraySteps(Tensors arrays, std::int64_t batch_size, bool shuffle, std::string_view who, std::int64_t most)
      : loop_(std::move(arrays), batch_size, who),
        shuffle_(shuffle),
        steps_(most > 0 ? std::min(most, loop_.steps()) : loop_.steps()) {}

  void begin() override {
    if (shuffle_) loop_.shuffle();
    next_ = 0;
  }
  std::int64_t run(const ModelStep& step, std::int64_t most, double seconds) override {
    if (next_ >= steps_) return 0;
    if (step.eager || functions_run_eagerly()) {
      step.call(loop_.batch(next_));
      ++next_;
      return 1;
    }
    const auto full = step.traced.concrete(loop_.batch(0), step.key);
    const auto rest = loop_.remainder() ? step.traced.concrete(loop_.batch(loop_.steps() - 1), step.key) : nullptr;
    const std::int64_t first = next_;
    const auto steps = [&] { next_ = loop_.run(*full, rest.get(), first, std::min(steps_, first + most), seconds); };
    if (asks_for_several_devices(full->graph())) RunQueue::perform(steps);  // waits for all of them, not for each
    else steps();
    return next_ - first;
  }
  std::int64_t done() const override { return next_; }
  Tensors sample() const override { return loop_.batch(0); }
  std::int64_t steps() const override { return steps_; }

 private:
  ArrayLoop loop_;
  bool shuffle_;
  std::int64_t steps_;
  std::int64_t next_ = 0;
};

class DatasetSteps final : public StepSource {
 public:
  DatasetSteps(const Dataset& dataset, std::int64_t steps_per_epoch, BatchChange change)
      : dataset_(dataset),
        limit_(steps_per_epoch),
        change_(std::move(change)) {
    if (limit_ <= 0 && dataset.cardinality() == -1)
      fail(ErrorCode::invalid_argument, "fit: the dataset never ends; give steps_per_epoch, or let it end with take()");
  }

  void begin() override {
    done_ = 0;
    if (limit_ <= 0 || !iterator_) {
      iterator_.emplace(dataset_.iterate());
      first_.reset();
    }
    if (!first_) first_ = next();
  }
  std::int64_t run(const ModelStep& step, std::int64_t most, double seconds) override {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::int64_t first = done_;
    while (done_ - first < most && (limit_ <= 0 || done_ < limit_)) {
      const std::optional<Tensors> batch = take();
      if (!batch) break;
      step.call(*batch);
      ++done_;
      if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    }
    RunQueue::await_all();
    return done_ - first;
  }
  std::int64_t done() const override { return done_; }
  Tensors sample() const override {
    const auto has_rows = [](const Tensor& tensor) { return tensor.rank() > 0 && tensor.dtype() != DType::string; };
    return first_ && std::ranges::all_of(*first_, has_rows) ? *first_ : Tensors();
  }
  std::int64_t steps() const override { return limit_ > 0 ? limit_ : dataset_.cardinality(); }

 private:
  /// The next batch; none at the end.
  std::optional<Tensors> take() { return first_ ? std::exchange(first_, std::nullopt) : next(); }
  std::optional<Tensors> next() {
    std::optional<Value> element = iterator_->next();
    if (!element && limit_ > 0 && done_ > 0) {
      iterator_.emplace(dataset_.iterate());
      element = iterator_->next();
    }
    if (!element) return std::nullopt;
    Tensors batch;
    for (const Leaf& leaf : element->leaves()) batch.push_back(leaf.tensor);
    return change_ ? change_(std::move(batch)) : batch;
  }

  Dataset dataset_;
  std::int64_t limit_;
  BatchChange change_;
  std::int64_t done_ = 0;
  std::optional<DatasetIterator> iterator_;
  std::optional<Tensors> first_;  // of a pass: taken when it begins
};

}  // namespace

std::unique_ptr<StepSource> steps_of(const Samples& samples, std::int64_t batch_size, bool shuffle,
                                     std::string_view who, std::int64_t most) {
  return std::make_unique<ArraySteps>(samples.arrays(), batch_size, shuffle, who, most);
}
std::unique_ptr<StepSource> steps_of(const Dataset& dataset, std::int64_t steps_per_epoch, BatchChange change) {
  return std::make_unique<DatasetSteps>(dataset, steps_per_epoch, std::move(change));
}

}  // namespace tandem
