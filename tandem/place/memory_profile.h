// How many bytes of a device are taken over time; values that nobody has released yet stay for ever.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tandem/place/problem.h"

namespace tandem::placer {

class MemoryProfile {
 public:
  void clear() {
    times_.clear();
    levels_.clear();
    most_ = 0;
  }
  /// Bytes taken when all that is known has happened.
  std::int64_t at_end() const { return levels_.empty() ? 0 : levels_.back(); }

  /// The earliest time from `ready` on after which `bytes` more always fit `capacity`; kNever if at no time.
  double earliest(double ready, std::int64_t bytes, std::int64_t capacity) const {
    const std::int64_t room = capacity - bytes;
    if (most_ <= room) return ready;
    if (at_end() > room) return kNever;
    for (std::size_t i = times_.size(); i > 0; --i) {
      if (times_[i - 1] <= ready) break;
      if (i == 1 ? room < 0 : levels_[i - 2] > room) return times_[i - 1];
    }
    return ready;
  }

  void add(double time, std::int64_t bytes) {
    const auto at = std::upper_bound(times_.begin(), times_.end(), time) - times_.begin();
    const std::int64_t before = at == 0 ? 0 : levels_[static_cast<std::size_t>(at) - 1];
    times_.insert(times_.begin() + at, time);
    levels_.insert(levels_.begin() + at, before);
    for (auto level = levels_.begin() + at; level != levels_.end(); ++level) *level += bytes;
    if (bytes > 0) most_ = std::max(most_, *std::max_element(levels_.begin() + at, levels_.end()));
  }

 private:
  std::vector<double> times_;         // of changes
  std::vector<std::int64_t> levels_;  // bytes taken from each of them on
  std::int64_t most_ = 0;             // no level is or was above it: where it fits, nothing has to be looked at
};

}  // namespace tandem::placer
