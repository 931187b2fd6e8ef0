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
  /// Throws where the arrays differ in their number of rows, have none, or the batch is not positive; `who` says for whom.
  ArrayLoop(Tensors arrays, std::int64_t batch_size, std::string_view who);

  std::int64_t rows() const { return rows_; }
  std::int64_t steps() const { return (rows_ + batch_size_ - 1) / batch_size_; }
  /// The rows of the last batch, if it is smaller than the others; else 0.
  std::int64_t remainder() const { return rows_ % batch_size_; }

  /// A new order, by the seed of the process: the same order in the same program.
  void shuffle();
  /// One tensor an array; the rows are copied.
  Tensors batch(std::int64_t step) const;

  /// Runs steps from `first` until `last` or until `seconds` have passed, and says where it stopped; at least one step
  /// is run. `full` takes batches of batch_size rows, `rest` the last, smaller one.
  std::int64_t run(const GraphFunction& full, const GraphFunction* rest, std::int64_t first, std::int64_t last, double seconds);
  /// What the last step returned.
  const Tensors& results() const { return results_; }
  /// From now on run() puts the rows that the steps return together; collected() gives them, a tensor a result.
  void collect();
  Tensors collected() const;

 private:
  Tensor rows_of(const Tensor& array, std::int64_t first, std::int64_t count) const;

  Tensors arrays_;
  std::int64_t batch_size_;
  std::int64_t rows_;
  std::vector<std::int64_t> order_;  // empty: as they lie
  Tensors results_;
  bool collects_ = false;
  std::vector<RowCollector> collected_;
};

}  // namespace tandem
