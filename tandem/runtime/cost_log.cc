#include "tandem/runtime/cost_log.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/base/core_use.h"

namespace tandem {
namespace {

constexpr double kSpanSeconds = 0.25;   // asking what became of the cores costs some 100 us
constexpr std::size_t kMostWaiting = 1 << 14;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

CostLog::CostLog()
    : CostLog(
          [watch = std::make_shared<std::optional<CoreWatch>>()]() mutable {
            if (*watch) return (*watch)->take();
            watch->emplace();  // the first span begins when something is learnt
            return CoreUse{};
          },
          kSpanSeconds) {}

CostLog::CostLog(std::function<CoreUse()> use, double span_s) : use_(std::move(use)), span_s_(span_s) {}

void CostLog::add(std::span<const Sample> samples, const CostHistory& known) {
  if (samples.empty()) return;
  std::lock_guard lock(mutex_);
  if (now_s() >= span_end_s_) end_span();
  for (const Sample& sample : samples) {
    if (!learnt_.find(*sample.key))
      if (const Measured* before = known.find(*sample.key)) {
        learnt_.set(*sample.key, *before);
        known_.set(*sample.key, *before);
      }
    learnt_.add(*sample.key, sample.predicted_us, sample.measured_us);
    if (waiting_.size() < kMostWaiting) waiting_.push_back({*sample.key, sample.predicted_us, sample.measured_us});
  }
  news_ = true;
}

void CostLog::end_span() {
  const bool quiet = use_().others_share() <= CoreUse::kMostOthers;
  for (const Waiting& sample : waiting_) {
    if (!quiet) break;
    if (!lasting_.find(sample.key))
      if (const Measured* before = known_.find(sample.key)) lasting_.set(sample.key, *before);
    lasting_.add(sample.key, sample.predicted_us, sample.measured_us);
  }
  waiting_.clear();
  span_end_s_ = now_s() + span_s_;
}

bool CostLog::take_news() {
  std::lock_guard lock(mutex_);
  return std::exchange(news_, false);
}

void CostLog::merge_into(CostHistory& history) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, measured] : learnt_.entries()) history.set(key, measured);
}

bool CostLog::merge_lasting_into(CostHistory& history) {
  std::lock_guard lock(mutex_);
  end_span();
  for (const auto& [key, measured] : lasting_.entries()) history.set(key, measured);
  return !lasting_.entries().empty();
}

bool CostLog::empty() const {
  std::lock_guard lock(mutex_);
  return learnt_.entries().empty();
}

void CostLog::clear() {
  std::lock_guard lock(mutex_);
  known_ = learnt_ = lasting_ = {};
  waiting_.clear();
}

}  // namespace tandem
