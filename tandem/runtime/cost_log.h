// What ops were measured to take while programs ran, on its way into the machine's history.
#pragma once
#include <mutex>
#include <span>

#include "tandem/place/machine.h"

namespace tandem {

class CostLog {
 public:
  struct Sample {
    const HistoryKey* key;
    double predicted_us, measured_us;
  };
  /// `known` is what the machine says of keys that are seen for the first time.
  void add(std::span<const Sample> samples, const CostHistory& known);
  /// True once after something was added.
  bool take_news();
  /// The entries that were learnt replace those of `history`.
  void merge_into(CostHistory& history) const;
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  CostHistory learnt_;
  bool news_ = false;
};

}  // namespace tandem
