#include "tandem/exec/stage_trial.h"

#include <algorithm>

#include "tandem/base/event_sink.h"

namespace tandem {
namespace {

/// What together has to save: it takes a core from others.
constexpr double kWorthIt = 0.95;
/// The other way is so much slower that it is tried more seldom.
constexpr double kFarWorse = 1.5;

std::atomic<StageUse> use_wanted{StageUse::measured};

/// The run that a thread is in, when it is part of a trial.
struct Run {
  const StageTrial* trial = nullptr;
  bool together = false;
  std::uint64_t inside = 0;  // ticks in its stages
};
thread_local Run current;

}  // namespace

void set_stage_use(StageUse use) { use_wanted = use; }
StageUse stage_use() { return use_wanted.load(std::memory_order_relaxed); }

bool StageTrial::together() const {
  const StageUse use = stage_use();
  return use == StageUse::measured ? together_.load(std::memory_order_relaxed) : use == StageUse::together;
}

void StageTrial::begin() {
  if (const int left = settled_.load(std::memory_order_relaxed); left > 0) {
    settled_.store(left - 1, std::memory_order_relaxed);
    current.trial = nullptr;
    return;
  }
  current = {this, together(), 0};
}

std::uint64_t StageTrial::start() const { return current.trial == this ? ticks() : 0; }

void StageTrial::add(std::uint64_t start) const {
  if (start != 0 && current.trial == this) current.inside += ticks() - start;
}

void StageTrial::end() {
  if (current.trial == this) note(current.inside, current.together);
  current.trial = nullptr;
}

void StageTrial::note(std::uint64_t ticks, bool together) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || together != together_.load(std::memory_order_relaxed)) return;
  if (seen_ >= kSkipped) taken_[static_cast<std::size_t>(seen_ - kSkipped)] = ticks;
  if (++seen_ < kSkipped + kTaken) return;
  seen_ = 0;
  std::ranges::nth_element(taken_, taken_.begin() + kTaken / 2);
  median_[together] = taken_[kTaken / 2];
  if (other_) return choose();
  before_ = together;
  other_ = true;
  together_ = !together;
}

void StageTrial::choose() {
  other_ = false;
  const auto one = static_cast<double>(median_[0]), all = static_cast<double>(median_[1]);
  const bool better = all < kWorthIt * one;
  const bool far = std::max(one, all) > kFarWorse * std::min(one, all);
  period_ = better != before_ ? kFirstPeriod : std::min(period_ * (far ? 4 : 2), kLongestPeriod);
  together_ = better;
  settled_ = period_;
}

}  // namespace tandem
