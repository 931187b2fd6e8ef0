#include "tandem/place/exact.h"

#include <algorithm>
#include <array>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class ExactSearch {
 public:
  ExactSearch(const Problem& problem, double limit, std::int64_t steps)
      : p_(problem),
        sequencer_(problem),
        limit_(limit),
        steps_(steps),
        head_(at(p_.nodes)),
        work_(at(p_.devices)),
        link_work_(at(p_.devices) * at(p_.devices)),
        crosses_(at(p_.nodes)),
        assigned_(p_.members.size()),
        device_(p_.members.size()),
        assignment_(at(p_.nodes)) {
    for (int v = 0; v < p_.nodes; ++v) left_ += least_cost(v);
  }

  Exact run() {
    // One assignment whose orders do not end must not keep the others from being looked at.
    if (p_.any_limited) {
      most_per_assignment_ = steps_ / 500;
      assign(0);
    }
    if (!p_.any_limited || (skipped_ && steps_ >= 0)) {
      most_per_assignment_ = kNoLimit;
      skipped_ = false;
      assign(0);
    }
    result_.complete = steps_ >= 0 && !skipped_;
    return std::move(result_);
  }

 private:
  double least_cost(int node) const {
    double least = kNever;
    for (int d = 0; d < p_.devices; ++d)
      if (p_.may(node, d)) least = std::min(least, p_.us(node, d));
    return least;
  }

  /// When the node could start there at the earliest: copies over one link follow each other.
  double head_on(int node, int device) const {
    double head = 0;
    std::array<std::pair<double, double>, kMostInputs> copies;  // ready, length
    for (int from = 0; from < p_.devices; ++from) {
      std::size_t count = 0;
      for (const Neighbour& input : p_.inputs[node]) {
        if (assignment_[at(input.node)] != from) continue;
        const double end = head_[at(input.node)] + p_.us(input.node, from);
        if (from == device) head = std::max(head, end);
        else if (!p_.linked(from, device)) return kNever;
        else if (count < copies.size()) copies[count++] = {end, p_.crossing(from, device, input.bytes)};
      }
      std::sort(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(count));
      double link = 0;
      for (std::size_t i = 0; i < count; ++i) link = std::max(link, copies[i].first) + copies[i].second;
      head = std::max(head, link);
    }
    return head;
  }

  void assign(int placed) {
    if (--steps_ < 0) return;
    if (placed == p_.nodes) return sequence();
    const std::int32_t node = p_.topological[at(placed)], group = p_.group[at(node)];
    struct Choice {
      double value, head;
      int device;
    };
    std::array<Choice, kMostDevices> choices;
    std::size_t count = 0;
    for (int d = 0; d < p_.devices; ++d) {
      if (!p_.may(node, d) || (assigned_[at(group)] && device_[at(group)] != d)) continue;
      const double head = head_on(node, d), value = head + p_.us(node, d) + p_.after(node, d);
      if (value < limit_) choices[count++] = {value, head, d};
    }
    std::stable_sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Choice& a, const Choice& b) { return a.value < b.value; });
    for (std::size_t i = 0; i < count && steps_ >= 0; ++i)
      if (choices[i].value < limit_) try_device(placed, node, choices[i].device, choices[i].head);
  }

  void try_device(int placed, std::int32_t node, int device, double head) {
    const auto group = at(p_.group[at(node)]);
    const double cost = p_.us(node, device), least = least_cost(node);
    const bool was_assigned = assigned_[group];
    assigned_[group] = true;
    device_[group] = static_cast<std::uint8_t>(device);
    assignment_[at(node)] = static_cast<std::uint8_t>(device);
    head_[at(node)] = head;
    work_[at(device)] += cost;
    left_ -= least;
    total_ += cost;
    std::uint64_t new_crossings = 0;  // by input, in order; a node has few
    std::size_t nth = 0;
    bool hopeful = work_[at(device)] < limit_ && (total_ + left_) / p_.devices < limit_;
    for (const Neighbour& input : p_.inputs[node]) {
      const int from = assignment_[at(input.node)];
      if (from != device && !(crosses_[at(input.node)] >> device & 1)) {
        crosses_[at(input.node)] |= std::uint64_t{1} << device;
        new_crossings |= std::uint64_t{1} << nth;
        double& link = link_work_[p_.pair(from, device)];
        link += p_.crossing(from, device, input.bytes);
        hopeful = hopeful && link < limit_;
      }
      ++nth;
    }
    known_ |= std::uint64_t{1} << node;
    if (hopeful && may_fit(placed + 1)) assign(placed + 1);
    known_ &= ~(std::uint64_t{1} << node);
    nth = 0;
    for (const Neighbour& input : p_.inputs[node])
      if (new_crossings >> nth++ & 1) {
        crosses_[at(input.node)] &= ~(std::uint64_t{1} << device);
        link_work_[p_.pair(assignment_[at(input.node)], device)] -=
            p_.crossing(assignment_[at(input.node)], device, input.bytes);
      }
    total_ -= cost;
    left_ += least;
    work_[at(device)] -= cost;
    assigned_[group] = was_assigned;
  }

  /// Where memory is short most assignments fail for it, and often the first few nodes show it. The last is asked when
  /// it is sequenced.
  bool may_fit(int placed) {
    return !p_.any_limited || p_.nodes > 64 || placed == p_.nodes || sequencer_.may_fit(assignment_, known_, steps_);
  }

  void sequence() {
    const std::int64_t given = std::min(steps_, most_per_assignment_);
    std::int64_t left = given;
    const double makespan = sequencer_.run(assignment_, limit_, left);
    if (left < 0) skipped_ = true;
    steps_ -= given - left;
    if (makespan == kNever) return;
    limit_ = result_.makespan = makespan;
    result_.timeline = sequencer_.timeline();
    result_.assignment = assignment_;
  }

  static constexpr std::size_t kMostInputs = 64;
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  const Problem& p_;
  Sequencer sequencer_;
  double limit_;
  std::int64_t steps_, most_per_assignment_ = kNoLimit;
  bool skipped_ = false;  // an assignment for which that did not suffice
  std::vector<double> head_;
  std::vector<double> work_, link_work_;  // lower bounds by device and link
  std::vector<std::uint64_t> crosses_;  // [node] mask of devices its output crosses to
  std::vector<char> assigned_;
  std::vector<std::uint8_t> device_;  // [group]
  Assignment assignment_;
  std::uint64_t known_ = 0;  // nodes that are assigned
  double left_ = 0, total_ = 0;  // least cost of what is not assigned; cost of what is
  Exact result_;
};

}  // namespace

Exact search_exactly(const Problem& problem, double limit, std::int64_t steps) {
  return ExactSearch(problem, limit, steps).run();
}

}  // namespace tandem::placer
