#include "tandem/runtime/adaptive_plans.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>

#include "tandem/base/log.h"
#include "tandem/exec/placement_log.h"
#include "tandem/exec/split_placement.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

constexpr double kLeastStepUs = 200;   // shorter steps are not worth a second thought
constexpr double kFirstSeconds = 0.1;    // a function that runs for less is not tried elsewhere
constexpr double kKernelSeconds = 0.1;   // what compiling a kernel for another device may take
constexpr double kMostSeconds = 3;
constexpr double kProbeSeconds = 4;
constexpr double kPromise = 0.92;  // of what was measured: another way to share the work must promise that to be tried

std::string step_text(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << us / 1e3 << " ms a step";
  return out.str();
}

std::vector<Device*> known_devices(const LowerOptions& options) {
  const auto known = options.devices.known();
  return {known.begin(), known.end()};
}

/// Do the ops run on the same devices?
bool same_devices(const GraphPlacement& a, const GraphPlacement& b) {
  return a.graph == b.graph && std::ranges::equal(a.ops, b.ops, [](const auto& x, const auto& y) {
           return x.choice.has_value() == y.choice.has_value() && (!x.choice || x.choice->device == y.choice->device);
         });
}

/// The figures were wrong, others are not at work.
GraphPlacement not_contended(GraphPlacement placement) {
  for (OpRecord& op : placement.explanation.ops) {
    if (op.reason != ReasonCode::contention) continue;
    op.reason = ReasonCode::cheaper_here;
    op.text = text("it finishes first here, by what the devices were seen to take",
                   op.text.substr(std::min(op.text.find("; split"), op.text.size())));
  }
  for (GraphPlacement::Op& op : placement.ops)
    if (op.choice && op.choice->reason == ReasonCode::contention) op.choice->reason = ReasonCode::cheaper_here;
  return placement;
}

/// Of one graph, split: are the parts the same, and where they were?
bool same_shares(const Explanation& a, const Explanation& b) {
  return std::ranges::equal(
      a.ops, b.ops, [](const OpRecord& x, const OpRecord& y) { return x.chosen == y.chosen && x.shape == y.shape; });
}

}  // namespace

bool AdaptivePlans::pays(const GraphPlacement& placement) { return placement.explanation.makespan_us >= kLeastStepUs; }

AdaptivePlans::AdaptivePlans(const Graph& graph, LowerOptions options, std::vector<std::string> homes,
                             const Split& split)
    : graph_(graph),
      split_(split),
      options_(std::move(options)),
      homes_(std::move(homes)),
      devices_(known_devices(options_)),
      machine_(default_runtime().machine()),
      chooser_(devices_.size(), {}, static_cast<std::uint32_t>(getpid())),
      timer_(devices_) {
  add("as placed", options_.placement);
}

void AdaptivePlans::add(std::string name, std::shared_ptr<const GraphPlacement> placement) {
  chooser_.add(predicted(*placement));
  ways_.push_back({.name = std::move(name), .placement = std::move(placement)});
}

AdaptivePlans::~AdaptivePlans() = default;

StepCost AdaptivePlans::predicted(const GraphPlacement& placement) const {
  StepCost cost{.us = placement.explanation.makespan_us, .busy_us = std::vector<double>(devices_.size())};
  for (const OpRecord& op : placement.explanation.ops)
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (devices_[d]->name().short_name() == op.chosen) cost.busy_us[d] += op.compute_us + op.launch_us;
  return cost;
}

namespace {

/// Kernels that only `other` needs, on devices that compile them when they are first used.
std::size_t new_kernels(const GraphPlacement& other, const GraphPlacement& first) {
  const auto kernels = [](const GraphPlacement& placement) {
    std::set<std::string> all;
    for (const OpRecord& op : placement.explanation.ops)
      if (!op.chosen.starts_with("/CPU")) all.insert(text(op.chosen, op.op, op.dtype));
    return all;
  };
  const auto known = kernels(first);
  return static_cast<std::size_t>(
      std::ranges::count_if(kernels(other), [&](const std::string& kernel) { return !known.contains(kernel); }));
}

}  // namespace

void AdaptivePlans::wait_for_kernels(const GraphPlacement& other) {
  const double compiling = kKernelSeconds * static_cast<double>(new_kernels(other, *ways_[0].placement));
  adapts_after_s_ = std::max(adapts_after_s_, std::min(compiling, kMostSeconds));
}

/// Split, where that should pay, and each device alone, where that differs from what the placer says.
void AdaptivePlans::find_other_ways() {
  if (split_.placement) {
    wait_for_kernels(*split_.placement);
    add("split", split_.placement);
  }
  for (Device* device : devices_) {
    const std::string name = device->name().short_name();
    const auto placement = default_runtime().place(graph_, homes_, {.only = name});
    const auto same = [&](const Way& known) { return same_devices(*known.placement, *placement); };
    if (!placement || std::ranges::any_of(ways_, same)) continue;
    wait_for_kernels(*placement);
    add(name, placement);
  }
}

/// Who does what was reckoned from predictions. With what the devices took instead the same again, as further ways.
void AdaptivePlans::place_as_measured(const Way& way, const StepCost& measured) {
  const StepCost told = predicted(*way.placement);
  const bool is_split = way.placement->graph != nullptr;
  GraphSetting setting{.machine = *machine_, .devices = devices_, .registry = &options_.devices, .homes = homes_};
  const double kShare = 0.1;  // a device at work for less of the step says nothing of it
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (told.busy_us[d] > kShare * told.us && measured.busy_us[d] > kShare * measured.us)
      setting.contention.push_back({devices_[d]->name().short_name(), measured.busy_us[d] / told.busy_us[d]});
  const auto add_new = [&](std::string name, GraphPlacement placement) {
    if (placement.explanation.makespan_us > kPromise * measured.us) return;
    placement = not_contended(std::move(placement));
    const auto same = [&](const Way& known) {
      return placement.graph ? same_shares(known.placement->explanation, placement.explanation)
                             : same_devices(*known.placement, placement);
    };
    if (std::ranges::any_of(ways_, same)) return;
    add(std::move(name), std::make_shared<const GraphPlacement>(std::move(placement)));
    ways_.back().predicted = false;
  };
  try {
    GraphPlacement whole = place(graph_, setting);
    if (!is_split) return add_new("as measured", std::move(whole));
    if (auto split = place_split(split_.traced, whole, setting)) add_new("split as measured", std::move(*split));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
}

/// What stands in the decisions: ops that are elsewhere than first placed, or with contention than before, say why.
std::shared_ptr<const GraphPlacement> AdaptivePlans::explained(const Way& way, ReasonCode reason) const {
  const GraphPlacement& first = *ways_[0].placement;
  const GraphPlacement& before = reason == ReasonCode::contention ? *ways_[left_].placement : first;
  if (way.placement.get() == &first && &before == &first) return way.placement;
  GraphPlacement placement = *way.placement;
  if (placement.graph != first.graph || placement.graph != before.graph)
    return explained_anew(std::move(placement), why_moved(way, reason), reason);
  for (std::size_t n = 0; n < placement.ops.size(); ++n) {
    auto& choice = placement.ops[n].choice;
    if (!choice || !first.ops[n].choice || !before.ops[n].choice) continue;
    if (choice->device != before.ops[n].choice->device) choice->reason = reason;
    else
      choice->reason =
          choice->device == first.ops[n].choice->device ? first.ops[n].choice->reason : ReasonCode::cheaper_here;
  }
  const std::string sentence = why_moved(way, reason);
  for (std::size_t i = 0; i < placement.explanation.ops.size(); ++i) {
    OpRecord& op = placement.explanation.ops[i];
    const OpRecord& as_first = first.explanation.ops[i];
    const bool moved = op.chosen != before.explanation.ops[i].chosen, same = op.chosen == as_first.chosen;
    op.requested = as_first.requested;
    op.reason = moved ? reason : same ? as_first.reason : ReasonCode::cheaper_here;
    op.text = !moved && same ? as_first.text : sentence;
  }
  return std::make_shared<const GraphPlacement>(std::move(placement));
}

/// Of a plan that shares out its work in another way than those before: every op says why.
std::shared_ptr<const GraphPlacement> AdaptivePlans::explained_anew(GraphPlacement placement,
                                                                    const std::string& sentence,
                                                                    ReasonCode reason) const {
  const Graph& graph = placement.graph ? *placement.graph : graph_;
  for (GraphPlacement::Op& op : placement.ops)
    if (op.choice) op.choice->reason = reason;
  for (OpRecord& op : placement.explanation.ops) {
    const auto& requested = graph.nodes[static_cast<std::size_t>(op.node)].requested;
    op.requested = requested ? requested->short_name() : "";
    if (requested) continue;
    op.reason = reason;
    op.text = placement.graph ? text(sentence, "; ", op.text) : sentence;
  }
  return std::make_shared<const GraphPlacement>(std::move(placement));
}

std::string AdaptivePlans::why_moved(const Way& way, ReasonCode reason) const {
  std::ostringstream out;
  out << std::setprecision(3);
  std::size_t slowest = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (chooser_.contention(d) > chooser_.contention(slowest)) slowest = d;
  if (reason == ReasonCode::contention)
    out << devices_[slowest]->name().short_name() << " is slowed " << chooser_.contention(slowest)
        << " times by others: ";
  const auto index = static_cast<std::size_t>(&way - ways_.data());
  const std::size_t other = reason == ReasonCode::contention ? left_ : 0;
  out << "measured " << step_text(chooser_.expected_us(index)) << " so, " << step_text(chooser_.expected_us(other))
      << " as before";
  return out.str();
}

std::shared_ptr<const Plan> AdaptivePlans::plan_of_running() {
  if (running_) return running_;
  Way& way = ways_[chooser_.running()];
  const ReasonCode reason =
      chooser_.why() == PlanChooser::Why::contention ? ReasonCode::contention : ReasonCode::cheaper_here;
  auto& plan = way.plans[reason];
  if (!plan) {
    LowerOptions options = options_;
    options.placement = explained(way, reason);
    plan = lower(way.placement->graph ? *way.placement->graph : graph_, options);
  }
  return running_ = plan;
}

std::shared_ptr<const Plan> AdaptivePlans::current() {
  std::lock_guard lock(mutex_);
  return plan_of_running();
}

void AdaptivePlans::run(std::span<const TensorRef> arguments, std::span<Tensor> results) {
  const double begin = steady_seconds();
  std::unique_lock lock(mutex_);
  if (!timing_) look(begin);
  const std::shared_ptr<const Plan> plan = plan_of_running();
  const bool comparing = !complete_ || (ways_.size() > 1 && !chooser_.settled());
  if (ways_.size() > 1 && trial_watch_.quiet_again(comparing, begin)) chooser_.doubt();
  sampler_.begin(begin);
  const bool timed = !timing_ && !timer_.under_way() && !probed_ && sampler_.take(begin, comparing);
  if (timed) {
    timing_ = true;
    sampled_ = chooser_.running();
    sampled_s_ = begin;
    period_us_.reset();
  }
  lock.unlock();
  if (!timed) {
    plan->run(arguments, results);
    return;
  }
  struct Ended {
    AdaptivePlans& plans;
    ~Ended() {
      std::lock_guard again(plans.mutex_);
      plans.timing_ = false;
    }
  } ended{*this};
  timer_.run(*plan, arguments, results);
}

/// Of a plan that gives work to several devices, once it has run: the first step of a plan also moves the data.
void AdaptivePlans::note_first_samples(const StepCost& cost) {
  Way& way = ways_[sampled_];
  const auto& ops = way.placement->explanation.ops;
  const bool several = std::ranges::any_of(ops, [&](const OpRecord& op) { return op.chosen != ops[0].chosen; });
  if (several && way.predicted && ++way.samples == 3) place_as_measured(Way(way), cost);
}

/// Between two steps: what has been measured meanwhile, and what follows from it.
void AdaptivePlans::look(double now_s) {
  if (!started_s_) started_s_ = now_s;
  const double ran_s = now_s - *started_s_;
  if (probed_) take_probe_of(*probed_, now_s);
  std::vector<double> slowed;
  for (std::size_t d = 0; d < devices_.size(); ++d) slowed.push_back(chooser_.contention(d));
  if (!period_us_) period_us_ = 1e6 * (now_s - sampled_s_);
  auto cost = timer_.take(slowed);
  // A program that reads each result waits for more than the devices' work.
  if (cost) cost->us = std::max(cost->us, *period_us_);
  if (cost) note_first_samples(*cost);
  if (!complete_ && ran_s >= kFirstSeconds) {
    find_other_ways();
    complete_ = true;
  }
  const std::size_t before = chooser_.running();
  if (cost && complete_ && ways_.size() > 1 && ran_s >= adapts_after_s_ && chooser_.note(sampled_, *cost, now_s)) {
    running_ = nullptr;
    left_ = before;
    // Plans that are tried in turn need theirs again at once; where memory is short, it is taken from them all the
    // same.
    if (chooser_.why() != PlanChooser::Why::trial) drop_idle_frames();
    log_move();
  }
  if (!timer_.under_way() && !probed_ && now_s >= next_probe_s_) probe(now_s);
}

void AdaptivePlans::probe(double now_s) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d]->memory().is_host() || !chooser_.wants_probe(d)) continue;
    probe_ = start_probe(*devices_[d]);
    if (probe_.number > 0) probed_ = d;
    next_probe_s_ = now_s + kProbeSeconds;
    return;
  }
}

void AdaptivePlans::take_probe_of(std::size_t device, double now_s) {
  const auto factor = take_probe(*devices_[device], probe_);
  if (!factor) return;
  if (*factor > 0) chooser_.note_probe(device, *factor, now_s);
  probed_.reset();
}

void AdaptivePlans::log_move() const {
  if (!log_device_placement()) return;
  const auto name = [&](std::size_t way) { return ways_[way].name; };
  constexpr const char* kWhy[] = {"as predicted", "trial", "measured", "contention"};
  std::string all;
  for (std::size_t w = 0; w < ways_.size(); ++w)
    all += text(w ? ", " : "", name(w), " ", step_text(chooser_.expected_us(w)));
  for (std::size_t d = 0; d < devices_.size(); ++d)
    all += text("; ", devices_[d]->name().short_name(), " takes ", chooser_.contention(d), " times as long");
  log(LogLevel::info, text("a function of ", graph_.op_count(), " ops now runs ", name(chooser_.running()), " (",
                           kWhy[static_cast<int>(chooser_.why())], "): ", all));
}

/// A plan that does not run keeps its kernels, not its memory.
void AdaptivePlans::drop_idle_frames() {
  for (std::size_t w = 0; w < ways_.size(); ++w)
    for (const auto& [reason, plan] : ways_[w].plans)
      if (w != chooser_.running()) plan->drop_frames();
}

}  // namespace tandem
