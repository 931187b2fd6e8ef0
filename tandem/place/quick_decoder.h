// The decoder of the annealing: as Decoder, but only the last few gaps count and nothing waits for memory; it also
// knows how late everything could be without moving the end.
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

  /// The makespan of order and assignment as they are now; kNever once it is certain not to fall below `bound`.
  double evaluate(double bound);
  /// By how much what was evaluated last exceeds the memory of the devices, as shares of what they have: nothing here
  /// waits for room. What ends and what begins at nearly the same time counts as one after the other.
  double overrun();
  /// Keeps what was evaluated last, sorts the order by start and finds out how late everything could be.
  void accept();

  /// What is kept, each node as early as the first copy that is made for it: what is copied early may leave its device
  /// early.
  Order order_by_copies() const;

  double start(std::int32_t node) const { return kept_.start[static_cast<std::size_t>(node)]; }
  double end(std::int32_t node) const { return kept_.end[static_cast<std::size_t>(node)]; }
  /// How long it takes from the latest start of the node to the end of all.
  double rest_from(std::int32_t node) const { return rest_[static_cast<std::size_t>(node)]; }
  /// For each device, when all that the node reads could be there, nothing in the way, and how long it takes from its
  /// end there to the end of all.
  void look_around(std::int32_t node, std::span<double> ready, std::span<double> after) const;
  double makespan() const { return makespan_; }
  /// Of what was evaluated last.
  double tried_makespan() const { return tried_.makespan; }
  bool critical(std::int32_t node, double slack) const { return start(node) + rest_from(node) >= makespan_ - slack; }
  /// What a device does, by time.
  std::span<const std::int32_t> queue(int device) const {
    return {queues_.data() + device * p_.nodes, queue_sizes_[static_cast<std::size_t>(device)]};
  }
  /// When each of them ends, and how long it takes from its latest start to the end of all.
  std::span<const double> queue_ends(int device) const {
    return {queue_ends_.data() + device * p_.nodes, queue(device).size()};
  }
  std::span<const double> queue_rests(int device) const {
    return {queue_rests_.data() + device * p_.nodes, queue(device).size()};
  }
  int kept_device(std::int32_t node) const { return kept_assignment_[static_cast<std::size_t>(node)]; }
  double load(int device) const { return loads_[static_cast<std::size_t>(device)]; }
  /// What has been decoded so far, in nodes with one or two inputs; what decoding all takes.
  std::int64_t work() const { return work_ / 4; }
  std::int64_t size() const { return (p_.nodes + kEdgeWork * static_cast<std::int64_t>(p_.inputs.list.size())) / 4; }

 private:
  struct Copy {
    std::int32_t value, device, lane;
    double start, length;
  };
  struct Times {
    std::vector<double> start, end;  // [node]
    std::vector<double> arrival;  // [node, device]; negative: not there
    std::vector<Copy> copies;  // in the order in which they were decoded; what is kept: by start
    double makespan = kNever;
  };
  double bring(std::int32_t value, int device);
  void sort_by_start();
  void look_back();
  std::int64_t bytes_of(std::int32_t value, int device) const {
    const std::int64_t bytes = copy_bytes_[static_cast<std::size_t>(value)];
    return bytes >= 0 ? bytes : p_.crossing_bytes(value, device, assignment);
  }

  void find_holds();
  /// Time is told apart as finely as this where bytes are counted: sorting what begins and ends would take longer than
  /// decoding it.
  static constexpr std::size_t kSlots = 256;

  const Problem& p_;
  std::vector<double> held_;  // [node, device]: until when
  std::vector<std::int64_t> levels_;  // [device, slot]: bytes more than before
  std::size_t lanes_;
  std::vector<GapLane> now_;  // devices, then links
  Times kept_, tried_;
  Assignment kept_assignment_;
  std::vector<std::int64_t> copy_bytes_;  // [node] what every consumer reads; -1: they differ
  std::vector<double> rest_;  // [node]
  std::vector<MoveTime<double>> moves_to_;  // [to, from]
  std::vector<double> needed_;  // [node, device]: time from when the value has to be there to the end
  std::vector<double> next_;  // devices, then links: time from the latest start of what comes next to the end
  std::vector<std::int32_t> queues_;  // [device, place]
  std::vector<double> queue_ends_, queue_rests_;  // [device, place]
  std::vector<std::size_t> queue_sizes_, queue_left_;
  std::vector<double> loads_;
  double makespan_ = kNever;
  static constexpr std::int64_t kEdgeWork = 2, kCopyWork = 4;
  std::int64_t work_ = 0;  // four are a node with one or two inputs
};

}  // namespace tandem::placer
