// What the runtime knows of its devices' speed, and the placer's answer for graphs.
#include <cstdlib>

#include "tandem/base/log.h"
#include "tandem/exec/eager.h"
#include "tandem/exec/split_placement.h"
#include "tandem/runtime/config.h"
#include "tandem/runtime/calibration.h"
#include "tandem/runtime/machine_store.h"
#include "tandem/runtime/registry.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// A flag that is up as long as this lives.
class Raised {
 public:
  explicit Raised(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

void Runtime::set_placement_policy(PlacementPolicy policy) { dispatcher_->set_placement_policy(policy); }
PlacementPolicy Runtime::placement_policy() const { return dispatcher_->rules().policy; }

std::shared_ptr<const Machine> Runtime::machine() {
  const auto found = devices();
  bool changed = false;
  std::unique_lock lock(machine_mutex_);
  if (machine_ && learnt_.take_news()) {
    Machine newer = *machine_;
    learnt_.merge_into(newer.measured);
    machine_ = std::make_shared<const Machine>(std::move(newer));
  }
  if (!machine_) machine_ = given_machine();
  if (!machine_) machine_ = host_machine(found);
  else if (!machine_given_ && due_again(*machine_, unix_seconds())) changed = measure_again(found);
  const auto machine = machine_;
  lock.unlock();
  if (changed) dispatcher_->forget_calls();
  return machine;
}

std::shared_ptr<const Machine> Runtime::given_machine() {
  const char* file = std::getenv("TANDEM_MACHINE");
  if (!file || !*file) return nullptr;
  machine_given_ = true;
  return std::make_shared<const Machine>(read_machine(file));
}

/// What is stored, if it is to be trusted or was measured just now; else what is measured now, with what was known
/// before.
std::shared_ptr<const Machine> Runtime::host_machine(std::span<Device* const> devices) {
  const std::filesystem::path file = machine_file(devices);
  const auto stored = stored_machine(file);
  if (stored && !due_again(*stored, unix_seconds())) return stored;
  const Raised calibrating(calibrating_);
  Machine measured = calibrate(devices);
  if (stored) measured = better_machine(*stored, std::move(measured));
  store_machine(measured, file);
  return std::make_shared<const Machine>(std::move(measured));
}

/// A program that runs changes its plans for figures that are right, not for others in doubt. True: it has them now.
bool Runtime::measure_again(std::span<Device* const> devices) {
  Machine waits = *machine_;
  waits.doubt->unix_s = unix_seconds();
  machine_ = std::make_shared<const Machine>(std::move(waits));
  try {
    const auto newer = host_machine(devices);
    if (newer->doubt) return false;
    machine_ = newer;
  } catch (const Error& error) {  // memory may be short by now
    log(LogLevel::info, text("the machine was not measured again: ", error.message()));
    return false;
  }
  learnt_.clear();
  return true;
}

void Runtime::set_machine(std::optional<Machine> machine) {
  {
    std::lock_guard lock(machine_mutex_);
    machine_given_ = machine.has_value();
    machine_ = machine ? std::make_shared<const Machine>(std::move(*machine)) : nullptr;
  }
  dispatcher_->forget_calls();
}

std::shared_ptr<const GraphPlacement> Runtime::place(const Graph& graph, const std::vector<std::string>& homes,
                                                     const PlaceHow& how) {
  if (placement_policy() == PlacementPolicy::first_gpu) return nullptr;
  if (registry_->known().size() == 1) return nullptr;
  const std::shared_ptr<const Machine> figures = machine();
  const auto here = registry_->known();
  try {
    return std::make_shared<const GraphPlacement>(tandem::place(graph, {.machine = *figures,
                                                                        .devices = {here.begin(), here.end()},
                                                                        .registry = registry_.get(),
                                                                        .homes = homes,
                                                                        .contention = how.contention,
                                                                        .only = how.only}));
  } catch (const Error& error) {
    // What does not fit as a whole runs near its data, and spills.
    if (error.code() != ErrorCode::out_of_memory) throw;
    return nullptr;
  }
}

std::shared_ptr<const GraphPlacement> Runtime::place_split(const Graph& traced, const GraphPlacement& whole,
                                                           const std::vector<std::string>& homes) {
  if (config::is_op_determinism_enabled()) return nullptr;
  const std::shared_ptr<const Machine> figures = machine();
  const auto here = registry_->known();
  try {
    auto split = tandem::place_split(
        traced, whole,
        {.machine = *figures, .devices = {here.begin(), here.end()}, .registry = registry_.get(), .homes = homes});
    return split ? std::make_shared<const GraphPlacement>(std::move(*split)) : nullptr;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;  // the parts need room of their own
    return nullptr;
  }
}

bool Runtime::adapts() {
  if (placement_policy() != PlacementPolicy::automatic || config::is_op_determinism_enabled()) return false;
  std::lock_guard lock(machine_mutex_);
  return !machine_given_;
}

std::shared_ptr<const Machine> Runtime::learning_machine() {
  if (calibrating_) return nullptr;
  if (!adapts()) return nullptr;
  std::lock_guard lock(machine_mutex_);
  return machine_;
}

void Runtime::learn(std::span<const CostLog::Sample> samples, const Machine& reckoned) {
  if (calibrating_) return;
  std::lock_guard lock(machine_mutex_);
  if (!machine_ || machine_given_ || !machine_->same_figures(reckoned)) return;
  static std::once_flag at_exit;
  std::call_once(at_exit, [] { std::atexit([] { default_runtime().store_learnt(); }); });
  learnt_.add(samples, machine_->measured);
}

void Runtime::store_learnt() {
  std::lock_guard lock(machine_mutex_);
  if (learnt_.empty() || !machine_) return;
  const std::filesystem::path file = machine_file(registry_->known());
  const auto stored = stored_machine(file);  // with what other programs have learnt meanwhile
  if (!stored || !stored->same_figures(*machine_)) return;
  Machine newer = *stored;
  if (learnt_.merge_lasting_into(newer.measured)) store_machine(newer, file);
}

}  // namespace tandem
