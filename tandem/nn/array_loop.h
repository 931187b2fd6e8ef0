// Batches of rows out of host arrays, and the loop that feeds them to a traced step.
#pragma once
#include <vector>

#include "tandem/autodiff/graph_function.h"

namespace tandem {

/// Rows put one after another as they come: what predict returns.
class RowCollector {
 public:
  explicit RowCollector(std::int64_t rows) : rows_(rows) {}
  void add(const Tensor& batch);
  const Tensor& result() const { return out_; }

 private:
  std::int64_t rows_;
  std::int64_t filled_ = 0;
  Tensor out_;
};

/// Arrays that belong together row by row, cut into batches in some order.
class ArrayLoop {
 public:
  /// Throws where the arrays differ in their number of rows, have none, or the batch is not positive; `who` says for
  /// whom.
  ArrayLoop(Tensors arrays, std::int64_t batch_size, std::string_view who);

  std::int64_t rows() const { return rows_; }
  std::int64_t steps() const { return (rows_ + batch_size_ - 1) / batch_size_; }
  /// The rows of the last batch, if it is smaller than the others; else 0.
  std::int64_t remainder() const { return rows_ % batch_size_; }

  /// A new order, by the seed of the process: the same order in the same program.
  void shuffle();
  /// From now on every array of a batch comes in parts, one for each replica, of these numbers of rows; `rest` for the
  /// last, smaller batch. Empty: whole again.
  void divide(std::vector<std::int64_t> full, std::vector<std::int64_t> rest);
  /// One tensor an array and part; the rows are copied, unless they lie side by side and may be lent.
  Tensors batch(std::int64_t step, bool lends = false) const;

  /// Runs steps from `first` until `last` or until `seconds` have passed, and says where it stopped; at least one step
  /// is run, and done() is where it stopped, also when a step throws. `full` takes batches of batch_size rows, `rest`
  /// the last, smaller one.
  std::int64_t run(const GraphFunction& full, const GraphFunction* rest, std::int64_t first, std::int64_t last,
                   double seconds);
  std::int64_t done() const { return done_; }
  /// What the last step returned.
  const Tensors& results() const { return results_; }
  /// From now on run() puts the rows that the steps return together; collected() gives them, a tensor a result.
  void collect();
  Tensors collected() const;

 private:
  /// The batch of a step, gathered before or now; gathers one while devices are busy with another.
  Tensors take_batch(std::int64_t step, bool lends);
  void read_ahead(std::int64_t step, bool lends);
  Tensor rows_of(const Tensor& array, std::int64_t first, std::int64_t count, bool lends) const;

  Tensors arrays_;
  std::int64_t batch_size_;
  std::int64_t rows_;
  std::vector<std::int64_t> order_;  // empty: as they lie
  std::vector<std::int64_t> full_parts_, rest_parts_;
  Tensors ahead_;  // the batch of step ahead_of_
  std::int64_t ahead_of_ = -1, done_ = 0;
  Tensors results_;
  bool collects_ = false;
  std::vector<RowCollector> collected_;
};

}  // namespace tandem
