#include "tandem/place/plan_chooser.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem {
namespace {

constexpr double kMinute = 60;
constexpr double kShare = 0.1;       // a device at work for less of a step says nothing of it
constexpr double kNormal = 1.15;     // more than that above what it was is not noise
constexpr double kHopeless =
    2;      // a trial that is so many times slower ends at once, and what was so slow is not tried again

/// Of an even number the lower one: bursts of others end.
std::ptrdiff_t middle(std::size_t count) { return static_cast<std::ptrdiff_t>((count - 1) / 2); }

/// What was taken for quiet follows small changes; a jump upwards is others at work.
double followed(double quiet, double now) {
  if (now <= quiet) return quiet + 0.5 * (now - quiet);
  return now <= kNormal * quiet ? quiet + 0.1 * (now - quiet) : quiet;
}

}  // namespace

PlanChooser::PlanChooser(std::size_t devices, const Tuning& tuning, std::uint32_t seed)
    : tuning_(tuning),
      factor_(devices),
      random_(seed) {
  patience_ = draw_patience();
}

std::size_t PlanChooser::add(const StepCost& predicted) {
  Plan plan;
  plan.predicted = predicted;
  plan.retry_s = tuning_.retry_s;
  plan.recheck_s = tuning_.recheck_s * (0.75 + 0.25 * draw_patience());
  plans_.push_back(std::move(plan));
  if (mode_ == Mode::trial) to_try_.push_back(plans_.size() - 1);
  return plans_.size() - 1;
}

bool PlanChooser::uses(const StepCost& cost, std::size_t device) const {
  return cost.busy_us[device] > kShare * cost.us;
}

double PlanChooser::expected_us(std::size_t index) const {
  const Plan& plan = plans_[index];
  const StepCost& cost = plan.measured ? plan.quiet : plan.predicted;
  double us = cost.us;
  for (std::size_t d = 0; d < factor_.size(); ++d) us += cost.busy_us[d] * (factor_[d].value - 1);
  return us;
}

bool PlanChooser::wants_probe(std::size_t device) const {
  if (mode_ != Mode::settled || !plans_[running_].measured || uses(plans_[running_].quiet, device)) return false;
  // Only if it could become worth going there.
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (p != running_ && plans_[p].measured && uses(plans_[p].quiet, device) &&
        plans_[p].quiet.us * (1 + tuning_.gain) < expected_us(running_))
      return true;
  return false;
}

void PlanChooser::note_probe(std::size_t device, double factor, double now_s) {
  Factor& known = factor_[device];
  // One glance may fall between two turns of a competitor: half of the news counts upwards and downwards.
  known = {0.5 * (known.value + factor), now_s};
}

bool PlanChooser::note(std::size_t index, const StepCost& measured, double now_s) {
  if (index != running_) return false;
  if (skip_ > 0) return --skip_, false;
  recent_.push_back(measured);
  const bool hopeless = mode_ == Mode::trial && measured.us > kHopeless * expected_us(home_);
  if (!enough() && !hopeless) return false;
  while (recent_.size() > tuning_.most_samples) recent_.pop_front();
  const StepCost now = typical();
  Plan& plan = plans_[index];
  learn(plan, now, now_s);
  forget(now_s);
  if (mode_ == Mode::trial) return next_trial();
  if (!tried_) return waited_++ >= patience_ && begin_trials();
  if (mode_ == Mode::verifying) verify(now, now_s);
  return consider(now, now_s) || recheck(now, now_s);
}

/// Enough samples, and those that are too old dropped: a change must show soon.
bool PlanChooser::enough() const {
  double sum = 0;
  for (const StepCost& cost : recent_) sum += cost.us;
  if (mode_ == Mode::trial && recent_.size() >= tuning_.long_samples && sum >= 2 * tuning_.judged_us) return true;
  if (mode_ == Mode::trial && round_ > 1 && round_ < tuning_.rounds && recent_.size() >= tuning_.least_samples)
    return true;  // many short rounds
  return recent_.size() >= tuning_.most_samples ||
         (recent_.size() >= tuning_.least_samples && sum >= tuning_.judged_us);
}

StepCost PlanChooser::typical() const {
  // The newest that suffice.
  std::size_t first = recent_.size();
  double sum = 0;
  while (first > 0 && (recent_.size() - first < tuning_.least_samples || sum < tuning_.judged_us))
    sum += recent_[--first].us;
  const auto of = [&](auto value) {
    std::vector<double> values;
    for (std::size_t i = first; i < recent_.size(); ++i) values.push_back(value(recent_[i]));
    std::ranges::nth_element(values, values.begin() + middle(values.size()));
    return values[static_cast<std::size_t>(middle(values.size()))];
  };
  StepCost cost{.us = of([](const StepCost& c) { return c.us; })};
  for (std::size_t d = 0; d < factor_.size(); ++d)
    cost.busy_us.push_back(of([&](const StepCost& c) { return c.busy_us[d]; }));
  return cost;
}

void PlanChooser::learn(Plan& plan, const StepCost& now, double now_s) {
  plan.measured_at = now_s;
  if (!plan.measured) {
    plan.measured = true;
    plan.quiet = now;
    // What is known of its devices is taken out again.
    for (std::size_t d = 0; d < factor_.size(); ++d)
      if (uses(now, d) && factor_[d].value > tuning_.slowed) {
        const double free = now.busy_us[d] / factor_[d].value;
        plan.quiet.us -= now.busy_us[d] - free;
        plan.quiet.busy_us[d] = free;
      }
    plan.quiet.us = std::max(plan.quiet.us, 0.1 * now.us);
    plan.rounds = {plan.quiet};
    return;
  }
  if (mode_ == Mode::trial) return learn_in_trial(plan, now);
  for (std::size_t d = 0; d < factor_.size(); ++d)
    if (uses(plan.quiet, d)) factor_[d] = {now.busy_us[d] / plan.quiet.busy_us[d], now_s};
  plan.quiet.us = followed(plan.quiet.us, now.us);
  for (std::size_t d = 0; d < factor_.size(); ++d)
    plan.quiet.busy_us[d] = followed(plan.quiet.busy_us[d], now.busy_us[d]);
}

/// Others at work for a while must not decide between plans: the middle round counts.
void PlanChooser::learn_in_trial(Plan& plan, const StepCost& now) {
  plan.rounds.push_back(now);
  std::ranges::sort(plan.rounds, {}, &StepCost::us);
  plan.quiet = plan.rounds[static_cast<std::size_t>(middle(plan.rounds.size()))];
}

void PlanChooser::forget(double now_s) {
  for (std::size_t d = 0; d < factor_.size(); ++d)
    if (now_s - factor_[d].since > tuning_.forget_s && !uses(plans_[running_].quiet, d)) factor_[d] = {1, now_s};
}

void PlanChooser::switch_to(std::size_t plan, Mode mode, Why why) {
  if (plan != running_) skip_ = 1, recent_.clear();
  running_ = plan;
  mode_ = mode;
  why_ = why;
  waited_ = 0;
}

// --- Trials: at the start, those that might be better are measured, the close ones in turn ---

bool PlanChooser::begin_trials() {
  tried_ = true;
  home_ = running_;
  home_why_ = why_;
  const Plan& mine = plans_[running_];
  // If the model is wrong here, it may be so for all.
  const double wrong = std::min(1.0, mine.quiet.us / std::max(mine.predicted.us, 1e-9));
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (!plans_[p].measured && plans_[p].predicted.us * wrong <= tuning_.worth_trying * mine.quiet.us)
      to_try_.push_back(p);
  std::ranges::sort(to_try_,
                    [&](std::size_t a, std::size_t b) { return plans_[a].predicted.us > plans_[b].predicted.us; });
  return !to_try_.empty() && next_trial();
}

bool PlanChooser::next_trial() {
  if (to_try_.empty() && !next_round()) return settle();
  const std::size_t next = to_try_.back();
  to_try_.pop_back();
  switch_to(next, Mode::trial, Why::trial);
  return true;
}

/// Those among which the rounds so far do not decide, the one that runs first last: it has just been measured.
bool PlanChooser::next_round() {
  if (++round_ >= (plans_[home_].quiet.us > tuning_.long_us ? tuning_.long_rounds : tuning_.rounds)) return false;
  const double close = 1 + std::max(tuning_.closest, std::ldexp(tuning_.close, 1 - round_));
  double best = judged_us(home_);
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (plans_[p].measured) best = std::min(best, judged_us(p));
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (plans_[p].measured && judged_us(p) <= close * best) to_try_.push_back(p);
  if (to_try_.size() < 2) to_try_.clear();
  std::ranges::partition(to_try_, [&](std::size_t p) { return p == running_; });
  return !to_try_.empty();
}

/// With what sharing must be worth: a plan on several devices ends with the last of them, and what it gains in a few
/// steps of a trial is less certain than what one device takes.
double PlanChooser::judged_us(std::size_t index) const {
  int used = 0;
  for (std::size_t d = 0; d < factor_.size(); ++d) used += uses(plans_[index].quiet, d);
  return expected_us(index) * (used > 1 ? 1 + tuning_.sharing : 1);
}

bool PlanChooser::settle() {
  std::size_t best = home_;
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (plans_[p].measured && judged_us(p) < judged_us(best)) best = p;
  constexpr double kTie = 1.02;  // not worth a difference
  if (judged_us(home_) <= kTie * judged_us(best)) best = home_;
  const bool moved = best != running_;
  switch_to(best, Mode::settled, best == home_ ? home_why_ : Why::measured);
  return moved;
}

// --- Moves: when the running plan has become slower than another should be ---

void PlanChooser::verify(const StepCost& now, double now_s) {
  mode_ = Mode::settled;
  Plan& plan = plans_[running_];
  if (now.us < left_us_) {
    plan.retry_s = tuning_.retry_s;
    return;
  }
  plan.blocked_until = now_s + plan.retry_s;
  plan.retry_s *= 2;
}

bool PlanChooser::consider(const StepCost& now, double now_s) {
  std::size_t best = running_;
  double least = now.us / (1 + tuning_.gain);
  for (std::size_t p = 0; p < plans_.size(); ++p) {
    if (p == running_ || now_s < plans_[p].blocked_until || expected_us(p) >= least) continue;
    best = p;
    least = expected_us(p);
  }
  if (best == running_) return waited_ = 0, false;
  if (waited_++ == 0) wanted_s_ = now_s;
  const bool plain = now.us > tuning_.plain * least || now_s - wanted_s_ >= tuning_.doubt_s;
  if (!plain || waited_ <= patience_ || !may_move(now_s)) return false;
  bool slowed = false;
  for (std::size_t d = 0; d < factor_.size(); ++d)
    slowed |= uses(plans_[running_].quiet, d) && factor_[d].value > tuning_.slowed;
  left_us_ = now.us;
  ++moves_;
  moved_at_.push_back(now_s);
  patience_ = draw_patience();
  switch_to(best, Mode::verifying, slowed ? Why::contention : Why::measured);
  return true;
}

void PlanChooser::doubt() {
  for (Plan& plan : plans_) plan.doubtful = plan.measured;
}

bool PlanChooser::recheck(const StepCost& now, double now_s) {
  const auto due = [&](std::size_t p) {
    const Plan& plan = plans_[p];
    return p != running_ && plan.measured && (plan.doubtful || now_s - plan.measured_at >= plan.recheck_s) &&
           expected_us(p) <= kHopeless * now.us;
  };
  std::size_t best = running_;
  for (std::size_t p = 0; p < plans_.size(); ++p)
    if (due(p) && (best == running_ || expected_us(p) < expected_us(best))) best = p;
  if (best == running_ || !may_move(now_s) || !moved_at_.empty()) return false;
  Plan& plan = plans_[best];
  if (!std::exchange(plan.doubtful, false)) plan.recheck_s *= 1.5 + 0.5 * draw_patience();
  plan.measured = false;  // what it took then no longer counts
  home_ = running_;
  home_why_ = why_;
  round_ = tuning_.rounds;  // its own steps are known well
  moved_at_.insert(moved_at_.end(), 2, now_s);  // there and back
  switch_to(best, Mode::trial, Why::trial);
  return true;
}

bool PlanChooser::may_move(double now_s) {
  while (!moved_at_.empty() && now_s - moved_at_.front() > kMinute) moved_at_.pop_front();
  return static_cast<int>(moved_at_.size()) < tuning_.moves_a_minute;
}

int PlanChooser::draw_patience() { return static_cast<int>(random_() % static_cast<unsigned>(tuning_.patience + 1)); }

}  // namespace tandem
