// Random numbers of a step that is divided among replicas: each takes, for its rows, those that one device would draw for
// the whole batch, so that results do not depend on the division.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

class SharedDraws {
 public:
  SharedDraws() = default;
  ~SharedDraws() { end_replica(); }
  SharedDraws(const SharedDraws&) = delete;
  SharedDraws& operator=(const SharedDraws&) = delete;

  /// From now on this thread draws for rows [begin, begin + rows) of `total`.
  void begin_replica(std::int64_t begin, std::int64_t rows, std::int64_t total);
  void end_replica();

  /// What is in force on this thread; null outside of replicas.
  static SharedDraws* current() { return current_; }
  /// For what belongs to all replicas, such as the first values of variables; returns what was in force.
  static SharedDraws* exchange(SharedDraws* draws) { return std::exchange(current_, draws); }
  /// make(shape) for the whole batch, once for all replicas; then the rows of this one. Numbers whose first axis is not
  /// the rows of the batch are drawn for this replica alone.
  Tensor draw(const Shape& shape, const std::function<Tensor(const Shape&)>& make);

 private:
  static thread_local SharedDraws* current_;
  std::int64_t begin_ = 0, rows_ = 0, total_ = 0;
  std::size_t next_ = 0;
  Tensors drawn_;  // in the order of the program
};

}  // namespace tandem
