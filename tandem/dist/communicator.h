// What the replicas of a step do together: the one contract between strategies and whatever connects devices, be it the
// memory of one process or, later, a network.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

enum class ReduceOp { sum, mean };

/// Of one or more tensors of one shape.
Tensor sum_of(const Tensors& parts);

/// `brought[i]` is what replica i of this process brings: as many tensors for each, undefined where it has none. The
/// calls may be traced; what a traced call gives is computed when the plan runs. All processes make the same calls in
/// one order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Replicas of all processes, and the number of this process's first.
  virtual int size() const = 0;
  virtual int first() const = 0;

  /// The sums or means over all replicas; undefined where nobody has a tensor.
  virtual Tensors all_reduce(std::span<const Tensors> brought, ReduceOp op) = 0;
  /// What all replicas bring, in their order, along an axis.
  virtual Tensors all_gather(std::span<const Tensors> brought, int axis) = 0;
  /// What the process of replica `root` brings, for all.
  virtual Tensors broadcast(const Tensors& values, int root) = 0;
  /// Returns when every process has come here.
  virtual void barrier() = 0;
};

/// The replicas of one process. Small tensors that have to leave a device's own memory cross in buckets, one copy each,
/// which starts when the last tensor of the bucket is there, while the backward pass goes on: gradients come last layer
/// first.
class LocalCommunicator final : public Communicator {
 public:
  /// `devices`: one a replica. `homes`: where each tensor is reduced; one name holds for all.
  LocalCommunicator(std::vector<std::string> devices, std::vector<std::string> homes);

  int size() const override { return static_cast<int>(devices_.size()); }
  int first() const override { return 0; }
  Tensors all_reduce(std::span<const Tensors> brought, ReduceOp op) override;
  Tensors all_gather(std::span<const Tensors> brought, int axis) override;
  Tensors broadcast(const Tensors& values, int root) override;
  void barrier() override {}

  /// Which tensors cross together, in the order in which they cross; for messages and tests.
  std::vector<std::vector<std::size_t>> buckets(std::span<const Tensors> brought) const;

 private:
  const std::string& home(std::size_t tensor) const { return homes_[homes_.size() == 1 ? 0 : tensor]; }
  void check(std::span<const Tensors> brought, const char* who) const;

  std::vector<std::string> devices_, homes_;
  bool copies_ = false;  // a device has memory of its own
};

/// Where each of some tensors lives when they are spread over devices: the largest first, each to the device that has
/// the fewest bytes so far.
std::vector<std::string> spread(std::span<const std::size_t> bytes, const std::vector<std::string>& devices);

}  // namespace tandem
