#include "tandem/runtime/trial_watch.h"

#include <memory>
#include <utility>

#include "tandem/base/core_use.h"

namespace tandem {

TrialWatch::TrialWatch(OthersShare others) : others_(std::move(others)) {}

TrialWatch::TrialWatch()
    : TrialWatch([watch = std::shared_ptr<CoreWatch>()]() mutable {
        if (!watch) return watch = std::make_shared<CoreWatch>(), 0.0;  // most functions never get as far
        return watch->take().others_share();
      }) {}

bool TrialWatch::quiet_again(bool comparing, double now_s) {
  constexpr double kQuietSeconds = 2;
  if (comparing) {
    if (std::exchange(state_, State::comparing) != State::comparing) others_();
    return false;
  }
  if (state_ == State::trusting) return false;
  if (state_ == State::doubtful && now_s - asked_s_ < kQuietSeconds) return false;
  asked_s_ = now_s;
  const bool quiet = others_() <= CoreUse::kMostOthers;
  const State before = std::exchange(state_, quiet ? State::trusting : State::doubtful);
  return quiet && before == State::doubtful;
}

}  // namespace tandem
