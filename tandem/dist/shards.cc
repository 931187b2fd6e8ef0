#include "tandem/dist/shards.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "tandem/base/error.h"
#include "tandem/dist/forecast.h"

namespace tandem {
namespace {

constexpr double kFactors[] = {1.25, 1.1, 1.04};  // by which a share is changed to try it
constexpr double kNothingNew = 0.01;              // as much of a batch is not worth a trial
constexpr double kGain = 0.99;                    // a step must become this much faster to count
constexpr double kLaterFactors[] = {1.1, 1.04};        // when it looks again
constexpr int kFirstPause = 100, kLongestPause = 1600;  // stretches until then
constexpr double kRare = 20;                            // and so many times what the last search cost
constexpr std::size_t kStretches = 6;             // a division is judged by the faster of so many
constexpr double kDrift = 1.4;                    // so much slower, for a while, and the search begins anew

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Else there is nothing to search: a device was given nothing on purpose.
bool all_work(std::span<const double> speeds) {
  return std::ranges::all_of(speeds, [](double speed) { return speed > 0; });
}

std::string milliseconds(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f ms", 1e3 * seconds);
  return out;
}

std::string share(const std::string& device, double part) { return text(device, " ", std::lround(100 * part), " %"); }

std::string shares_of(const std::vector<std::string>& devices, std::span<const double> speeds) {
  const double total = sum(speeds);
  std::string out;
  for (std::size_t i = 0; i < std::min(devices.size(), speeds.size()); ++i)
    out += (i ? ", " : "") + share(devices[i], speeds[i] / total);
  return out;
}

}  // namespace

std::vector<std::int64_t> shard_sizes(std::int64_t rows, std::span<const double> speeds) {
  const double total = sum(speeds);
  std::vector<std::int64_t> sizes(speeds.size(), 0);
  if (rows <= 0 || total <= 0) return sizes;
  std::int64_t rest = rows;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    sizes[i] = static_cast<std::int64_t>(static_cast<double>(rows) * speeds[i] / total);
    rest -= sizes[i];
  }
  for (; rest > 0; --rest) {  // each remaining row goes where it is finished first
    std::size_t best = 0;
    const auto finish = [&](std::size_t i) { return static_cast<double>(sizes[i] + 1) / std::max(speeds[i], 1e-300); };
    for (std::size_t i = 1; i < speeds.size(); ++i)
      if (finish(i) < finish(best)) best = i;
    ++sizes[best];
  }
  return sizes;
}

Shards::Shards(std::vector<std::string> devices) {
  state_.speeds.assign(devices.size(), 1.0);
  state_.devices = std::move(devices);
}

Shards::State Shards::now() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Shards::take_measured(std::vector<double> speeds) {
  const State old = now();
  const double before = sum(old.speeds), all = sum(speeds);
  if (speeds.size() != old.speeds.size() || all <= 0) return false;
  double moved = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i)
    moved =
        std::max(moved, std::abs(speeds[i] / all - old.speeds[i] / before) / std::max(old.speeds[i] / before, 1e-9));
  if (moved <= kChange) return false;
  std::string reason = "by measured speed: ";
  for (std::size_t i = 0; i < speeds.size(); ++i)
    reason += text(i ? ", " : "", share(old.devices[i], speeds[i] / all), " (", std::llround(speeds[i]), " rows/s)");
  set(std::move(speeds), std::move(reason));
  return true;
}

void Shards::set(std::vector<double> speeds, std::string reason) {
  const std::lock_guard lock(mutex_);
  if (speeds.size() != state_.devices.size()) return;
  state_.speeds = std::move(speeds);
  state_.reason = std::move(reason);
}

void Shards::fix(std::vector<double> speeds) {
  const std::size_t count = devices().size();
  const bool fits = speeds.size() == count && std::ranges::all_of(speeds, [](double s) { return s >= 0; }) &&
                    sum(speeds) > 0 && std::isfinite(sum(speeds));
  if (!fits) {
    std::string given;
    for (const double speed : speeds) given += text(given.empty() ? "" : ", ", speed);
    fail(ErrorCode::invalid_argument, "set_speeds needs ", count,
         " numbers that are not all 0 and have a finite sum, got [", given, "]");
  }
  std::string reason = "as set: " + shares(speeds);
  set(std::move(speeds), std::move(reason));
  const std::lock_guard lock(mutex_);
  state_.fixed = true;
}

void Shards::leave(std::size_t replica, std::string_view why) {
  const std::lock_guard lock(mutex_);
  auto& [devices, speeds, reason, fixed] = state_;
  const std::string gone = devices.at(replica);
  devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(replica));
  speeds.erase(speeds.begin() + static_cast<std::ptrdiff_t>(replica));
  if (sum(speeds) <= 0) speeds.assign(devices.size(), 1.0);
  note_alone(0);  // it may have been the one that left
  reason = text(shares_of(devices, speeds), ": ", gone, " has left the group (", why, ")");
}

std::string Shards::shares(std::span<const double> speeds) const { return shares_of(devices(), speeds); }

std::string Shards::key() const {
  const State state = now();
  std::string out;
  char number[32];
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    std::snprintf(number, sizeof number, " %a ", state.speeds[i]);
    out += state.devices[i] + number;
  }
  return out;
}

Tuner::Tuner(std::shared_ptr<Shards> shards, double stretch) : shards_(std::move(shards)), stretch_(stretch) {
  begin("");
}

void Tuner::begin(std::string cause) {
  cause_ = std::move(cause);
  best_.reset();
  rival_.reset();
  const std::vector<double> speeds = shards_->speeds();
  factors_.assign(std::begin(kFactors), all_work(speeds) ? std::end(kFactors) : std::begin(kFactors));
  to_try_.clear();
  shown_.assign(speeds.size(), 0);
  seen_.clear();
  warm_ = false;
  slow_ = quiet_ = 0;
  pause_ = kFirstPause;
  quiet_seconds_ = cost_ = 0;
}

bool Tuner::note(std::int64_t steps, double seconds) {
  if (best_ && !settled()) cost_ += seconds - static_cast<double>(steps) * best_->first;
  steps_ += steps;
  seconds_ += seconds;
  if (seconds_ < stretch_) return false;
  return note_stretch(std::exchange(seconds_, 0) /
                      static_cast<double>(std::max<std::int64_t>(std::exchange(steps_, 0), 1)));
}

bool Tuner::note_stretch(double seconds_a_step) {
  if (best_ && best_->second.size() != shards_->speeds().size()) begin("a device has left the group");
  if (!std::exchange(warm_, true)) return false;  // the first stretch with new shards prepares them
  if (settled()) return watch(seconds_a_step);
  seen_.push_back(seconds_a_step);
  return seen_.size() >= kStretches && judge(std::ranges::min(seen_));
}

bool Tuner::watch(double seconds_a_step) {
  slow_ = seconds_a_step > kDrift * best_->first ? slow_ + 1 : 0;
  if (slow_ >= kPatience) {
    begin("steps had become slower than " + milliseconds(best_->first));
    return false;
  }
  seen_.push_back(seconds_a_step);
  if (seen_.size() > kStretches) seen_.erase(seen_.begin());
  quiet_seconds_ += std::max(stretch_, seconds_a_step);
  return ++quiet_ >= pause_ && quiet_seconds_ >= kRare * cost_ && all_work(best_->second) && look_again();
}

/// Something else may have had a part of the machine while shares were tried.
bool Tuner::look_again() {
  quiet_ = 0;
  quiet_seconds_ = cost_ = 0;
  pause_ = std::min(2 * pause_, kLongestPause);
  best_->first = std::ranges::min(seen_);
  factors_.assign(std::begin(kLaterFactors), std::end(kLaterFactors));
  begin_round();
  return try_next();
}

std::optional<bool> Tuner::is_faster(double seconds_a_step) {
  if (!rival_) {
    if (seconds_a_step >= kGain * best_->first) return false;
    rival_ = {seconds_a_step, shards_->speeds()};
    return {};
  }
  best_->first = std::min(best_->first, seconds_a_step);
  const Timed rival = *std::exchange(rival_, std::nullopt);
  if (rival.first >= kGain * best_->first) return false;
  best_ = rival;
  return true;
}

bool Tuner::judge(double seconds_a_step) {
  note_shown(seconds_a_step);
  if (!best_) {
    best_ = {seconds_a_step, shards_->speeds()};
  } else {
    const std::optional<bool> faster = is_faster(seconds_a_step);
    if (!faster) return use(best_->second);
    const Trial done = to_try_[0];
    if (*faster && done != kBalanced)
      std::erase(to_try_, Trial{done.first, 1 / done.second});  // the same way once more, not back
    else to_try_.erase(to_try_.begin());
  }
  if (to_try_.empty() && !factors_.empty()) begin_round();
  return try_next();
}

void Tuner::note_shown(double seconds_a_step) {
  const std::vector<double> speeds = shards_->speeds();
  const double total = sum(speeds);
  for (std::size_t i = 0; i < shown_.size(); ++i) shown_[i] = std::max(shown_[i], speeds[i] / total / seconds_a_step);
}

bool Tuner::balance_is_new() const {
  const double shown = sum(shown_), best = sum(best_->second);
  for (std::size_t i = 0; i < shown_.size(); ++i)
    if (std::abs(shown_[i] / shown - best_->second[i] / best) > kNothingNew) return true;
  return false;
}

void Tuner::begin_round() {
  const bool first = factors_.size() == std::size(kFactors);
  const double factor = factors_.front();
  factors_.erase(factors_.begin());
  if (!first && balance_is_new()) to_try_.push_back(kBalanced);
  for (std::size_t i = 1; i < shards_->speeds().size(); ++i) {
    to_try_.emplace_back(i, factor);
    to_try_.emplace_back(i, 1 / factor);
  }
}

bool Tuner::try_next() {
  std::vector<double> speeds = best_->second;
  if (!to_try_.empty()) {
    if (to_try_[0] == kBalanced) speeds = shown_;
    else speeds[to_try_[0].first] *= to_try_[0].second;
  }
  return use(std::move(speeds));
}

bool Tuner::use(std::vector<double> speeds) {
  std::string reason = text("by how long steps take: ", shards_->shares(speeds), "; the best so far is ",
                            milliseconds(best_->first), " a step");
  if (!cause_.empty()) reason += " (" + cause_ + ")";
  const bool changed = speeds != shards_->speeds();
  shards_->set(std::move(speeds), std::move(reason));
  warm_ = !changed;
  seen_.clear();
  return changed;
}

std::string Tuner::slower_together() {
  if (!single_ || !settled()) return "";
  const auto [alone, device] = *std::exchange(single_, std::nullopt);
  if (best_->first <= alone) return "";
  return slower_line("a step takes", best_->first, shards_->devices(), alone, device);
}

}  // namespace tandem
