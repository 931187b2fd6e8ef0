#include "tandem/exec/plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "tandem/core/spill.h"
#include "tandem/exec/frame.h"
#include "tandem/exec/kept_values.h"
#include "tandem/exec/placement_log.h"
#include "tandem/exec/run_ahead.h"
#include "tandem/exec/stepwise.h"
#include "tandem/kernel/joinable.h"

namespace tandem {

namespace {

/// Plans whose idle frames hold memory of devices.
struct PlanList {
  std::mutex mutex;
  std::set<const Plan*> plans;
};
PlanList& plan_list() {
  static PlanList& list = *new PlanList;  // functions with static lifetime use it after main has ended
  return list;
}

}  // namespace

/// Gives back what frames that nobody runs hold in `space`; false when they hold nothing there.
bool free_idle_frames(MemorySpace& space) {
  std::vector<std::unique_ptr<Frame>> idle;
  PlanList& list = plan_list();
  std::lock_guard lock(list.mutex);
  for (const Plan* plan : list.plans) {
    if (std::ranges::none_of(plan->arenas_, [&](const Plan::Arena& arena) { return arena.space == &space; })) continue;
    std::lock_guard frames(plan->mutex_);
    std::ranges::move(plan->frames_, std::back_inserter(idle));
    plan->frames_.clear();
  }
  return !idle.empty();
}

Plan::Plan() {
  static const bool told = (on_shortage(free_idle_frames), true);
  static_cast<void>(told);
  PlanList& list = plan_list();
  std::lock_guard lock(list.mutex);
  list.plans.insert(this);
}

Plan::~Plan() {
  KeptValues::forget(*this);
  PlanList& list = plan_list();
  std::lock_guard lock(list.mutex);
  list.plans.erase(this);
}

void Plan::run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
               RunTimes* times) const {
  RunAhead::await_others(*this);
  KeptValues::restore();
  std::vector<RandomState::Call> drawn;
  // What did not fit once is tried again now and then: others may have left.
  constexpr std::uint32_t kTryAgain = 64;
  const bool stepwise = stepwise_ && spill_enabled() && (too_large_ || (full_ > 0 && full_++ < kTryAgain));
  if (!stepwise && run_at_once(arguments, results, own, times, drawn)) {
    if (full_ > 0) full_ = 0;
    return;
  }
  if (!stepwise) full_ = 1;
  stepwise_->run(arguments, results, writes_, drawn);
}

bool Plan::run_at_once(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
                       RunTimes* times, std::vector<RandomState::Call>& drawn) const {
  if (log_device_placement()) [[unlikely]]
    for (const Decision* decision : decisions()) log_placement(*decision);
  struct Lease {
    const Plan& plan;
    std::unique_ptr<Frame> frame;
    bool ended = false;
    ~Lease() {
      if (!frame) return;
      frame->clear();
      if (ended) plan.give_back(std::move(frame));
    }
  } lease{*this};
  try {
    lease.frame = take_frame();
    lease.frame->run(arguments, results, own, times);
    return lease.ended = true;
  } catch (const Error& error) {
    const bool shortage = error.code() == ErrorCode::out_of_memory && stepwise_ && spill_enabled();
    if (!shortage || (lease.frame && stepwise_->has_effects())) throw;
    if (lease.frame) drawn.assign(lease.frame->drawn().begin(), lease.frame->drawn().end());
    if (times) times->ops.clear();
    return false;
  }
}

/// Arenas and what comes from outside are held from the begin to the end.
bool Plan::is_too_large() const {
  std::map<MemorySpace*, std::size_t> needed;
  for (const Arena& arena : arenas_) needed[arena.space] += arena.bytes;
  for (const Action& action : actions_)
    if (action.kind == Action::Kind::bind && slots_[action.tensor].kind != Slot::Kind::computed)
      needed[action.space] += slots_[action.tensor].spec.bytes();
  return std::ranges::any_of(
      needed, [](const auto& need) { return !need.first->is_host() && need.second > need.first->info().limit; });
}

void Plan::start_copies(std::span<const Tensor> arguments) const {
  Frame::start_copies(
      *this, [&](const Slot& slot) { return slot.kind == Slot::Kind::argument ? &arguments[slot.index] : nullptr; });
}

void Plan::drop_frames() const {
  std::vector<std::unique_ptr<Frame>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(frames_);
}

std::unique_ptr<Frame> Plan::take_frame() const {
  {
    std::lock_guard lock(mutex_);
    if (!frames_.empty()) {
      auto frame = std::move(frames_.back());
      frames_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(mutex_);
  frames_.push_back(std::move(frame));
}

std::size_t Plan::arena_bytes() const {
  std::size_t bytes = 0;
  for (const Arena& arena : arenas_) bytes += arena.bytes;
  return bytes;
}

std::vector<const Decision*> Plan::decisions() const {
  std::vector<const Decision*> decisions;
  for (const Instruction& instruction : instructions_) decisions.push_back(instruction.call->decision);
  return decisions;
}

}  // namespace tandem
