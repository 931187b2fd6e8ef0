// The decoder of the annealing: as Decoder, but only the last few gaps count, memory does not, and after a small change only
// what comes after it in the order is computed anew.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/place/decoder.h"
#include "tandem/place/gap_lane.h"

namespace tandem::placer {

class QuickDecoder {
 public:
  explicit QuickDecoder(const Problem& problem);

  Order order;
  Assignment assignment;
  std::vector<std::int32_t> position;  // [node] in the order

  void set(const Order& new_order, const Assignment& new_assignment);

  /// The makespan when everything from place `from` of the order on may have changed and what comes after `changed_until` has
  /// kept its device; kNever once it is certain not to fall below `bound`. commit() keeps the change.
  double evaluate(std::int32_t from, std::int32_t changed_until, double bound);
  double commit(std::int32_t from);

  /// A node that runs, or a copy.
  struct Activity {
    double start, length;
    std::int32_t value;  // a node; for a copy [node, device]
    std::int32_t lane;   // a device; for a copy a link, numbered after the devices
  };
  /// Finds latest ends, sequences of devices and links left as they are, and the least time after each node. They may be of
  /// a plan some changes ago: then evaluate() gives up a little too early or too late.
  void look_back();
  /// By start, as of the last look_back().
  std::span<const Activity> activities() const { return activities_; }

  /// The first place of the order that changes when `node` goes from its device to `to`: copies of its inputs may carry other bytes.
  std::int32_t first_affected(std::int32_t node, int to) const;

  double end(std::int32_t node) const { return kept_.end[static_cast<std::size_t>(node)]; }
  /// How much later the node could end, as of the last look_back().
  double slack(std::int32_t node) const { return latest_end_[static_cast<std::size_t>(node)] - end(node); }
  double latest_end(std::int32_t node) const { return latest_end_[static_cast<std::size_t>(node)]; }
  double makespan() const { return makespan_; }
  /// Nodes decoded so far.
  std::int64_t work() const { return work_; }

 private:
  struct Times {
    std::vector<double> end;               // [node]
    std::vector<double> arrival;           // [node, device]
    std::vector<std::int32_t> brought_at;  // [node, device]: place in the order of what caused the copy; or the stamp
  };
  template <bool kKeep>
  double run(std::int32_t from, std::int32_t changed_until, double bound);
  template <bool kKeep>
  double arrive(std::int32_t value, int device, std::int32_t from, std::int32_t place);
  void line_up();
  std::int64_t bytes_of(std::int32_t value, int device) const {
    const std::int64_t bytes = copy_bytes_[static_cast<std::size_t>(value)];
    return bytes >= 0 ? bytes : p_.crossing_bytes(value, device, assignment);
  }

  const Problem& p_;
  static constexpr std::int32_t kEvery = 8;  // places between states that can be gone back to
  std::size_t lanes_;
  std::vector<GapLane> now_;                 // devices, then links
  std::vector<GapLane> states_;              // [place / kEvery, lane]
  std::vector<double> makespans_;            // before place * kEvery
  Times kept_, tried_;
  std::vector<std::int64_t> copy_bytes_;     // [node] what every consumer reads; -1: they differ
  std::vector<double> path_;                 // [node]: least time after it, devices as they are
  std::vector<double> latest_end_;           // [node]
  std::vector<double> needed_;               // [node, device]: when the value has to be there
  std::vector<double> next_;                 // devices, then links: the latest start of what comes next
  std::vector<Activity> activities_;
  std::int32_t stamp_ = 0;
  double makespan_ = kNever;
  std::int64_t work_ = 0;
};

}  // namespace tandem::placer
