// Where the batches of an epoch come from: arrays, or a dataset.
#pragma once
#include <memory>
#include <optional>

#include "tandem/data/dataset.h"
#include "tandem/nn/array_loop.h"
#include "tandem/autodiff/function.h"

namespace tandem {

/// Arrays that belong together row by row.
struct Samples {
  Tensors x, y;
  Tensor sample_weight = {};  // one a row; may be undefined

  Samples(Tensors inputs, Tensors targets, Tensor weights = {})
      : x(std::move(inputs)),
        y(std::move(targets)),
        sample_weight(std::move(weights)) {}
  Samples(Tensor input, Tensor target) : x{std::move(input)}, y{std::move(target)} {}
  /// Inputs, targets and, if there are any, the weights.
  Tensors arrays() const;
};

/// What is done with a batch: as one plan, or op by op, so that one can look inside.
struct ModelStep {
  const Function& traced;
  Function::Body eager = {};  // set: op by op
  std::string key = {};       // for Function::call

  void call(const Tensors& batch) const;
};

class StepSource {
 public:
  virtual ~StepSource() = default;
  /// Goes back to the first batch.
  virtual void begin() = 0;
  /// Runs steps until `most` are done or about `seconds` have passed; says how many. None: the batches are at their
  /// end. Where a step throws, the next run begins with its batch.
  virtual std::int64_t run(const ModelStep& step, std::int64_t most, double seconds) = 0;
  /// Steps since begin().
  virtual std::int64_t done() const = 0;
  /// A batch like those of run(), where one can be had without taking it; else none.
  virtual Tensors sample() const { return {}; }
  /// Below 0: not known.
  virtual std::int64_t steps() const = 0;
};

/// `most` steps an epoch, 0 for all of them.
std::unique_ptr<StepSource> steps_of(const Samples& samples, std::int64_t batch_size, bool shuffle,
                                     std::string_view who, std::int64_t most = 0);
/// A dataset of batches: (inputs, targets) or (inputs, targets, sample weights). With `steps_per_epoch` the next epoch
/// goes on where the last one ended. `change` is applied to every batch.
using BatchChange = std::function<Tensors(Tensors)>;
std::unique_ptr<StepSource> steps_of(const Dataset& dataset, std::int64_t steps_per_epoch, BatchChange change = {});

}  // namespace tandem
