#include "tandem/runtime/eager_learning.h"

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// Ops shorter than that are all launch, which is known.
constexpr double kLeastUs = 20;

}  // namespace

std::optional<EagerLearning::Known> EagerLearning::known(const PreparedCall& call) const {
  const auto machine = runtime_.learning_machine();
  if (!machine) return std::nullopt;
  const std::string device = call.device->name().short_name();
  const auto index = machine->find(device);
  if (!index) return std::nullopt;
  std::vector<const TensorSpec*> specs;
  for (const TensorSpec& spec : call.key.inputs) specs.push_back(&spec);
  const OpWork work = work_of(*call.key.op, specs, call.key.attrs, call.outputs);
  const CostParts parts = predict_from_figures(work, machine->devices[static_cast<std::size_t>(*index)]);
  if (parts.total() <= 0) return std::nullopt;
  return Known{
      {work.op, work.dtype, size_bucket(work.flops, work.bytes), device}, parts.total(), parts.launch, machine};
}

void EagerLearning::learn(const Known& known, double us) {
  if (us < kLeastUs) return;
  const CostLog::Sample sample{&known.key, known.predicted_us, us};
  runtime_.learn({&sample, 1}, *known.machine);
}

void EagerLearning::host_ran(const PreparedCall& call, double us) {
  if (us < kLeastUs) return;
  if (const auto found = known(call)) learn(*found, us);
}

bool EagerLearning::start(const PreparedCall& call) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  fetch();
  if (pending_) return false;
  auto found = known(call);
  if (!found) return false;
  const std::uint64_t number = opencl::start_timing(*call.device);
  if (number == 0) return false;  // a step of a function is timed
  pending_ = Pending{call.device, number, call.decision, std::move(*found)};
  return true;
}

void EagerLearning::ended(const PreparedCall& call, bool given) {
  try {
    opencl::stop_timing(*call.device);
  } catch (const Error&) {  // a device that fails says so to whoever needs its results
    given = false;
  }
  std::lock_guard lock(mutex_);
  if (!given) pending_.reset();
}

void EagerLearning::fetch() {
  if (!pending_) return;
  if (pending_->device->lost()) return pending_.reset();
  const auto timing = opencl::take_timing(*pending_->device, pending_->number);
  if (!timing) return;
  double us = 0;
  for (const auto& [op, took] : timing->ops)
    if (op == pending_->decision) us += took;  // other threads may have given the device something meanwhile
  const Known known = std::move(pending_->known);
  pending_.reset();
  // The device's own clock does not see what a launch costs.
  if (us > 0) learn(known, us + known.launch_us);
}

}  // namespace tandem
