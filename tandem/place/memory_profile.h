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
    changes_.clear();
    at_end_ = 0;
  }
  /// Bytes taken when all that is known has happened.
  std::int64_t at_end() const { return at_end_; }

  /// The earliest time from `ready` on after which `bytes` more always fit `capacity`; kNever if at no time.
  double earliest(double ready, std::int64_t bytes, std::int64_t capacity) const {
    std::int64_t taken = at_end_;
    if (taken > capacity - bytes) return kNever;
    for (std::size_t i = changes_.size(); i > 0; --i) {
      if (changes_[i - 1].time <= ready) break;
      taken -= changes_[i - 1].bytes;
      if (taken > capacity - bytes) return changes_[i - 1].time;
    }
    return ready;
  }

  void add(double time, std::int64_t bytes) {
    const auto at = std::upper_bound(changes_.begin(), changes_.end(), time,
                                     [](double t, const Change& change) { return t < change.time; });
    changes_.insert(at, Change{time, bytes});
    at_end_ += bytes;
  }

 private:
  struct Change {
    double time;
    std::int64_t bytes;
  };
  std::vector<Change> changes_;  // by time
  std::int64_t at_end_ = 0;
};

}  // namespace tandem::placer
