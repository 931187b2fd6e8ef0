// The same model on several devices, each with its part of every batch.
//
//   MirroredStrategy strategy;                 // all GPUs; the CPU where there is none
//   const auto scope = strategy.scope();
//   Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
//   model.compile({.loss = "sparse_categorical_crossentropy"});
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Rows for each replica, their sum `rows`: by speed, so that the last finishes as early as it can.
std::vector<std::int64_t> shard_sizes(std::int64_t rows, std::span<const double> speeds);

/// The rows [begin, begin + rows) of a batch, and where they are computed.
struct Shard {
  std::string device;
  std::int64_t begin = 0, rows = 0;
};

/// Copies share what was measured.
class MirroredStrategy {
 public:
  /// Throws for devices that do not exist and for one that is given twice.
  explicit MirroredStrategy(std::vector<std::string> devices = {});

  int num_replicas_in_sync() const { return static_cast<int>(devices().size()); }
  const std::vector<std::string>& devices() const;
  /// Divides batches by these speeds from now on (rows a second, one a device).
  void set_speeds(std::vector<double> speeds) const;
  /// Shards that have rows; devices that work on their own first, the CPU, which works on the calling thread, last.
  std::vector<Shard> shards(std::int64_t rows) const;
  /// How batches are divided, and why.
  std::string explain() const;

  /// While it lives, models that this thread compiles are mirrored.
  class Scope {
   public:
    explicit Scope(const MirroredStrategy& strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  [[nodiscard]] Scope scope() const { return Scope(*this); }
  /// The strategy whose scope this is; null: none.
  static const MirroredStrategy* current();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tandem
