// What ops were measured to take while programs ran, on its way into the machine's history.
#pragma once
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "tandem/place/machine.h"

namespace tandem {

struct CoreUse;

/// A program places by all that it sees. Later programs get what was seen while nobody else had the cores: that is
/// known when a span of time is over, so samples wait for the end of theirs.
class CostLog {
 public:
  struct Sample {
    const HistoryKey* key;
    double predicted_us, measured_us;
  };
  CostLog();
  /// `use`: what became of the cores since it was asked last. `span_s`: how long samples wait.
  CostLog(std::function<CoreUse()> use, double span_s);

  /// `known` is what the machine says of keys that are seen for the first time.
  void add(std::span<const Sample> samples, const CostHistory& known);
  /// True once after something was added.
  bool take_news();
  /// The entries that were learnt replace those of `history`.
  void merge_into(CostHistory& history) const;
  /// Ends the span: what later programs may know replaces the entries of `history`. False: nothing.
  bool merge_lasting_into(CostHistory& history);
  bool empty() const;
  /// Other figures: what was learnt is relative to those before.
  void clear();

 private:
  struct Waiting {
    HistoryKey key;
    double predicted_us, measured_us;
  };
  void end_span();

  mutable std::mutex mutex_;
  const std::function<CoreUse()> use_;
  const double span_s_;
  double span_end_s_ = 0;
  CostHistory known_;             // of the keys that were learnt, as it was before
  CostHistory learnt_, lasting_;
  std::vector<Waiting> waiting_;  // of the span that has not ended
  bool news_ = false;
};

}  // namespace tandem
