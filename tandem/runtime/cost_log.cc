#include "tandem/runtime/cost_log.h"

#include <utility>

namespace tandem {

void CostLog::add(std::span<const Sample> samples, const CostHistory& known) {
  std::lock_guard lock(mutex_);
  for (const Sample& sample : samples) {
    if (!learnt_.find(*sample.key))
      if (const Measured* before = known.find(*sample.key)) learnt_.set(*sample.key, *before);
    learnt_.add(*sample.key, sample.predicted_us, sample.measured_us);
  }
  news_ |= !samples.empty();
}

bool CostLog::take_news() {
  std::lock_guard lock(mutex_);
  return std::exchange(news_, false);
}

void CostLog::merge_into(CostHistory& history) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, measured] : learnt_.entries()) history.set(key, measured);
}

bool CostLog::empty() const {
  std::lock_guard lock(mutex_);
  return learnt_.entries().empty();
}

}  // namespace tandem
