// A lane that remembers only its last few gaps: a plain value, so that a search can go back to an earlier state of it.
#pragma once
#include <algorithm>

namespace tandem::placer {

struct GapLane {
  static constexpr int kGaps = 3;
  double tail = 0;  // free from here on
  int count = 0;
  double begin[kGaps], end[kGaps];  // by time

  /// Takes the earliest time from `ready` on for something that lasts `length`: in a gap if it fits. Returns its start.
  double take(double ready, double length) {
    if (ready >= tail) {
      if (ready > tail) open(tail, ready);
      tail = ready + length;
      return ready;
    }
    for (int g = 0; g < count; ++g) {
      const double start = std::max(begin[g], ready);
      if (start + length > end[g]) continue;
      fill(g, start, start + length);
      return start;
    }
    const double start = tail;
    tail += length;
    return start;
  }
  /// Nothing else may run before `time`: a device that excludes this one is at work.
  void block(double time) {
    count = 0;
    tail = std::max(tail, time);
  }

 private:
  void open(double from, double to) {
    if (count == kGaps) erase(0);
    begin[count] = from;
    end[count++] = to;
  }
  void erase(int g) {
    for (--count; g < count; ++g) begin[g] = begin[g + 1], end[g] = end[g + 1];
  }
  void fill(int g, double from, double to) {
    const bool before = from > begin[g], after = to < end[g];
    if (!before && !after) return erase(g);
    if (!before) begin[g] = to;
    else if (!after || count == kGaps) end[g] = from;
    else {
      for (int i = count++; i > g; --i) begin[i] = begin[i - 1], end[i] = end[i - 1];
      end[g] = from;
      begin[g + 1] = to;
    }
  }
};

}  // namespace tandem::placer
