#include "tandem/runtime/step_timer.h"

#include <algorithm>
#include <chrono>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// Ops shorter than that are all launch, which is known.
constexpr double kLeastUs = 20;
constexpr std::size_t kMostKnown = 4096;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Devices with a clock of their own time what they are given while it lives.
class StepTimer::Timing {
 public:
  Timing(StepTimer& timer, const Plan& plan) : timer_(timer) {
    for (std::size_t d = 0; d < timer.devices_.size(); ++d) {
      const Device* device = timer.devices_[d];
      const auto there = [&](const Plan::Instruction& instruction) { return instruction.call->device == device; };
      if (timer.devices_[d]->memory().is_host() || std::ranges::none_of(plan.instructions(), there)) continue;
      timer.spans_[d].pending = opencl::start_timing(*timer.devices_[d]);
      all_ &= timer.spans_[d].pending > 0;
    }
  }
  ~Timing() {
    for (std::size_t d = 0; d < timer_.devices_.size(); ++d) try {
        if (timer_.spans_[d].pending) opencl::stop_timing(*timer_.devices_[d]);
      } catch (const Error&) {  // a device that fails says so to whoever needs its results
      }
  }
  Timing(const Timing&) = delete;
  bool all() const { return all_; }

 private:
  StepTimer& timer_;
  bool all_ = true;
};

bool StepTimer::run(const Plan& plan, std::span<const TensorRef> arguments, std::span<Tensor> results) {
  times_.ops.clear();
  ended_ = false;
  spans_.assign(devices_.size(), {});
  under_way_ = true;
  Timing timing(*this, plan);
  if (!timing.all()) {
    plan.run(arguments, results);
    return false;
  }
  const double begin = steady_seconds();
  plan.run(arguments, results, &times_);
  host_us_ = 1e6 * (steady_seconds() - begin);
  ended_ = true;
  return true;
}

void StepTimer::fetch() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    DeviceSpan& span = spans_[d];
    if (!span.pending) continue;
    const auto timing = opencl::take_timing(*devices_[d], span.pending);
    if (!timing) continue;
    span.pending = 0;
    span.span_us = timing->span_us;
    ended_ &= !timing->ops.empty();  // it came too late
    for (const auto& [op, us] : timing->ops) {
      span.busy_us += us;
      if (op) span.commands.emplace_back(op, us);
    }
  }
}

std::optional<StepCost> StepTimer::take(std::span<const double> slowed) {
  if (!under_way_) return std::nullopt;
  fetch();
  if (std::ranges::any_of(spans_, [](const DeviceSpan& span) { return span.pending > 0; })) return std::nullopt;
  under_way_ = false;
  if (!ended_) return std::nullopt;
  StepCost cost{.us = host_us_, .busy_us = std::vector<double>(devices_.size())};
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    cost.us = std::max(cost.us, spans_[d].span_us);
    cost.busy_us[d] = spans_[d].busy_us;
  }
  for (const RunTimes::Op& op : times_.ops) cost.busy_us[0] += op.us;
  cost.busy_us[0] = std::min(cost.busy_us[0], cost.us);
  learn(slowed);
  return cost;
}

const StepTimer::Known& StepTimer::known(const PreparedCall& call) {
  if (const auto found = known_.find(&call); found != known_.end()) return found->second;
  std::vector<const TensorSpec*> specs;
  for (const TensorSpec& spec : call.key.inputs) specs.push_back(&spec);
  const OpWork work = work_of(*call.key.op, specs, call.key.attrs, call.outputs);
  const std::string device = call.device->name().short_name();
  Known made{.key = {work.op, work.dtype, size_bucket(work.flops, work.bytes), device}};
  made.device = static_cast<std::size_t>(std::ranges::find(devices_, call.device) - devices_.begin());
  if (const auto index = machine_->find(device)) {
    const CostParts parts = predict_from_figures(work, machine_->devices[at(*index)]);
    made.predicted_us = parts.total();
    made.launch_us = parts.launch;
  }
  return known_.emplace(&call, std::move(made)).first->second;
}

/// Both the ops and the device's commands are in the order in which they were given, an op being one command or
/// several. Where ops of one decision follow each other, each has as many.
void StepTimer::share_out(std::size_t device) {
  const auto& commands = spans_[device].commands;
  std::vector<RunTimes::Op*> ops;
  for (RunTimes::Op& op : times_.ops)
    if (op.call && op.call->device == devices_[device]) ops.push_back(&op);
  std::size_t c = 0;
  for (std::size_t i = 0; i < ops.size();) {
    const Decision* decision = ops[i]->call->decision;
    std::size_t ops_end = i, commands_end = c;
    while (ops_end < ops.size() && ops[ops_end]->call->decision == decision) ++ops_end;
    while (commands_end < commands.size() && commands[commands_end].first == decision) ++commands_end;
    const std::size_t each = (commands_end - c) / (ops_end - i);
    if (each * (ops_end - i) == commands_end - c)
      for (std::size_t k = 0; k < commands_end - c; ++k) ops[i + k / each]->us += commands[c + k].second;
    i = ops_end;
    c = commands_end;
  }
}

/// Predictions are those of the figures as they are now.
void StepTimer::learn(std::span<const double> slowed) {
  const auto figures = default_runtime().learning_machine();
  if (!figures) return;
  // Not while samples refer to what is known.
  if (!machine_ || !machine_->same_figures(*figures) || known_.size() >= kMostKnown) known_.clear();
  machine_ = figures;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (!devices_[d]->memory().is_host()) share_out(d);
  std::vector<CostLog::Sample> samples;
  for (const RunTimes::Op& op : times_.ops) {
    if (!op.call || op.joined || op.us <= 0) continue;
    const Known& k = known(*op.call);
    if (k.device >= devices_.size() || k.predicted_us <= 0) continue;
    // A device's own clock does not see what a launch costs.
    const double us =
        op.us / std::max(1.0, slowed[k.device]) + (devices_[k.device]->memory().is_host() ? 0 : k.launch_us);
    if (us >= kLeastUs) samples.push_back({&k.key, k.predicted_us, us});
  }
  default_runtime().learn(samples, *machine_);
}

}  // namespace tandem
