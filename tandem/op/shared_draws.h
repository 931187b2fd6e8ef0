// Random numbers of a step that is divided among replicas: each takes, for its rows, those that one device would draw
// for the whole batch, so that results do not depend on the division.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// What the replicas of one step have drawn, in the order of the program.
struct SharedDraws {
  Tensors drawn;
};

/// While it is in force, this thread draws for the rows [begin, begin + rows) of `total`.
class ReplicaDraws {
 public:
  ReplicaDraws(SharedDraws& all, std::int64_t begin, std::int64_t rows, std::int64_t total)
      : all_(all),
        begin_(begin),
        rows_(rows),
        total_(total) {}

  /// What is in force on this thread; null outside of replicas.
  static ReplicaDraws* current() { return current_; }
  /// Null for what belongs to all replicas, such as the first values of variables; returns what was in force.
  static ReplicaDraws* exchange(ReplicaDraws* draws) { return std::exchange(current_, draws); }
  /// make(shape) for the whole batch, once for all replicas; then the rows of this one. Numbers whose first axis is not
  /// the rows of the batch are drawn for this replica alone.
  Tensor draw(const Shape& shape, const std::function<Tensor(const Shape&)>& make);

 private:
  static thread_local ReplicaDraws* current_;
  SharedDraws& all_;
  std::int64_t begin_, rows_, total_;
  std::size_t next_ = 0;
};

}  // namespace tandem
