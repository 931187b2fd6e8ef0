// How the batches of a mirrored model are divided while it is trained: by the speed of the devices at first, then by
// how long steps take.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tandem/core/tensor.h"
#include "tandem/dist/shards.h"

namespace tandem {

class CompiledModel;

class Division {
 public:
  /// The model must outlive it. With steps of one's own, which may average over their rows, shards stay even.
  Division(const CompiledModel& model, bool own_steps) : model_(model), own_steps_(own_steps) {}

  /// A training begins whose batches are like this one, which may be unknown: with one, each device is timed. What was
  /// found for batches of the same size still holds.
  void begin(const Tensors& batch);
  /// Steps are to be told of after about so many seconds.
  double stretch() const;
  /// Takes how long some steps were. When a device has left, the search ends; the next training measures again.
  void note(std::int64_t steps, double seconds);

 private:
  /// Divides by the speed of each device alone; gives the fastest, with the seconds it takes for the batch.
  std::pair<double, std::string> measure(const Tensors& batch);

  const CompiledModel& model_;
  const bool own_steps_;
  std::string devices_, kind_;  // of the batches that tuner_ is for
  std::unique_ptr<Tuner> tuner_;
};

}  // namespace tandem
