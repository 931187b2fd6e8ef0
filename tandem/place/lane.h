// The time of one device or one direction of a link: what is taken, and the gaps between.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem::placer {

class Lane {
 public:
  void clear() {
    gaps_.clear();
    tail_ = 0;
  }
  /// Free from here on.
  double tail() const { return tail_; }

  /// The earliest start at or after `ready` for something that lasts `length`: in a gap if it fits, else at the end.
  double find(double ready, double length) const {
    if (ready >= tail_) return ready;
    std::size_t at = gaps_.size();
    while (at > 0 && gaps_[at - 1].end > ready) --at;
    const std::size_t last = std::min(gaps_.size(), at + kMostGaps);
    for (; at < last; ++at) {
      const double start = std::max(gaps_[at].begin, ready);
      if (start + length <= gaps_[at].end) return start;
    }
    return tail_;
  }

  /// Takes [start, end). Parts of it may be taken already, by a device that excludes this one.
  void take(double start, double end) {
    if (start >= tail_) {
      if (start > tail_) gaps_.push_back({tail_, start});
      tail_ = end;
      return;
    }
    take_from_gaps(start, end);
    tail_ = std::max(tail_, end);
  }

 private:
  struct Gap {
    double begin, end;
  };
  // Gaps looked at before the end is taken: keeps large graphs linear, and small ones never have so many.
  static constexpr std::size_t kMostGaps = 64;

  void take_from_gaps(double start, double end) {
    std::size_t at = gaps_.size();
    while (at > 0 && gaps_[at - 1].end > start) --at;
    while (at < gaps_.size() && gaps_[at].begin < end) {
      const Gap gap = gaps_[at];
      const bool before = gap.begin<start, after = gap.end> end;
      if (before) gaps_[at].end = start;
      if (before && after) gaps_.insert(gaps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, Gap{end, gap.end});
      else if (after) gaps_[at].begin = end;
      else if (!before) {
        gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      ++at;
      if (before && after) return;
    }
  }

  std::vector<Gap> gaps_;  // by time
  double tail_ = 0;
};

}  // namespace tandem::placer
