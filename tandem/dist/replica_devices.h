// Which device computes for each replica of a strategy, and who stands in for one that has left.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/dist/shards.h"
#include "tandem/graph/device_group.h"

namespace tandem {

/// There are as many replicas as there were devices, also when one has left: programs have reckoned with their number,
/// and what was divided among them is computed by those that are left.
class ReplicaDevices final : public DeviceGroup {
 public:
  /// `reduce_to`: where variables are updated; empty: on the host.
  ReplicaDevices(std::shared_ptr<Shards> shards, bool may_leave, std::string reduce_to);

  std::size_t count() const { return own_.size(); }
  /// One a replica: its own device, or the one that stands in for that.
  std::vector<std::string> names() const;
  /// Where gradients are added up and variables updated.
  std::string home() const;
  const Shards& shards() const { return *shards_; }

  bool may_leave() const override { return may_leave_; }
  bool leave(const Error& error) override;
  void part_from_lost() override;
  std::uint64_t departures() const override { return departures_.load(std::memory_order_acquire); }
  DeviceName stand_in(const DeviceName& device) const override;

  /// Who tells people that a device has left; null: the log.
  using Teller = void (*)(const std::string& line);
  static void set_teller(Teller teller);

 private:
  /// What is to be told to people; empty when none has left. `now`: what becomes of the step.
  std::string take_out(const Error& error, std::string_view now);

  /// A device that is none of the group was given an op that nobody had placed: from now on the host does such ops.
  std::string without_help_of(const std::string& other, std::string_view message, std::string_view now);

  const std::shared_ptr<Shards> shards_;
  const bool may_leave_;
  const std::string reduce_to_;
  const std::vector<std::string> own_;  // by replica, as in the beginning
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::set<std::string> failed_helpers_;  // once each: an op that asks for one fails again
  std::atomic<std::uint64_t> departures_{0};
};

}  // namespace tandem
