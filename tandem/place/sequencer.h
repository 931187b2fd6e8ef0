// The shortest timeline for a fixed assignment: branch and bound over the order of nodes and copies.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "tandem/place/decoder.h"

namespace tandem::placer {

/// A node or a copy with its start.
struct Timeline {
  std::vector<double> starts, ends;  // [node]
  std::vector<Copy> copies;
};

class Sequencer {
 public:
  explicit Sequencer(const Problem& problem);

  /// Looks for a timeline that ends before `limit`; returns its makespan, or kNever when there is none. `steps` is what
  /// it may spend and is counted down; at 0 the answer is the best so far.
  double run(std::span<const std::uint8_t> assignment, double limit, std::int64_t& steps);
  const Timeline& timeline() const { return best_; }
  /// False when no order of the nodes in `known`, which has all inputs of its nodes, fits the memory, whatever becomes
  /// of the others.
  bool may_fit(std::span<const std::uint8_t> assignment, std::uint64_t known, std::int64_t& steps);

 private:
  struct Activity {
    std::int32_t node;
    std::int32_t copy_to;  // device; -1: the node itself
    std::int32_t lane;  // devices first, then links
    std::uint64_t excluded_lanes;
    std::int64_t bytes;
    double length;
    double tail;  // least time from its end to the end of everything
    std::vector<std::int32_t> before, after;
  };
  /// A value on a device: taken when `writer` starts, free when all readers have ended.
  struct Resident {
    std::int32_t device, writer;
    std::int64_t bytes;
    std::int32_t readers_left;
    double free_at;
    bool read_by_unknown;  // and by nobody else: it may be gone at once
  };

  void make_activities(std::span<const std::uint8_t> assignment, std::uint64_t known);
  void join(std::int32_t first, std::int32_t second);
  void make_residents(std::span<const std::uint8_t> assignment);
  void fill_tails();
  bool fits_in_some_order(std::uint64_t known, std::int64_t& steps);
  bool fits_after(std::uint64_t done, std::int64_t& steps);
  void start_in_order(std::int32_t activity, int direction);
  bool fits_now(std::int32_t activity) const;
  bool frees_as_much_as_it_takes(std::int32_t activity) const;
  bool can_beat(double limit);
  double best_below(double limit, std::int64_t& steps);
  void search(int placed, double makespan, std::int32_t last, std::int64_t& steps);
  void choose_competing(std::vector<std::int32_t>& candidates);
  void choose_any(std::vector<std::int32_t>& candidates, std::int32_t last);
  double lane_free(const Activity& activity) const;
  double memory_from(std::int32_t activity, double ready) const;
  std::int64_t taken(const Resident& beside, double time, bool just_before, double* next_release) const;
  bool worth_waiting(std::int32_t activity) const;
  bool same_the_other_way(std::int32_t activity, std::int32_t last) const;
  void record();

  const Problem& problem_;
  bool active_suffices_ = true;  // no memory limits and no exclusion: only active schedules need to be tried
  bool chronological_ = false;  // the search at hand tries every order of starts
  std::vector<Activity> activities_;
  std::vector<std::int32_t> topological_;
  std::vector<Resident> residents_;
  std::vector<std::vector<std::int32_t>> reads_;  // [activity] residents it reads
  std::vector<std::int32_t> writes_;  // [activity] the resident it makes; -1: of unlimited memory
  std::vector<double> head_, start_, end_;  // [activity]; start_ of a candidate, or of what is placed
  std::vector<std::int32_t> waiting_;  // [activity] unplaced activities before it
  std::vector<char> placed_;
  std::vector<double> lane_free_;
  std::vector<double> lane_head_, lane_work_, lane_tail_;
  std::vector<std::int64_t> used_;  // [device] bytes, of orders without times
  std::unordered_set<std::uint64_t> stuck_;  // sets of activities after which nothing fits
  double limit_ = kNever;
  Timeline best_;
};

}  // namespace tandem::placer
