// What the runtime knows of its devices' speed, and the placer's answer for graphs.
#include <unistd.h>

#include <cstdlib>

#include "tandem/base/log.h"
#include "tandem/exec/eager.h"
#include "tandem/exec/split_placement.h"
#include "tandem/runtime/config.h"
#include "tandem/runtime/calibration.h"
#include "tandem/runtime/registry.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// Null when there is none that could be read: then it is measured anew.
std::shared_ptr<const Machine> stored_machine(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return nullptr;
  try {
    return std::make_shared<const Machine>(read_machine(file.string()));
  } catch (const Error& error) {
    log(LogLevel::warning, text("the stored machine description is measured again: ", error.message()));
    return nullptr;
  }
}

/// A disk that cannot be written to costs time, not results.
void store_machine(const Machine& machine, const std::filesystem::path& file) {
  try {
    std::filesystem::create_directories(file.parent_path());
    const std::filesystem::path whole = text(file.string(), ".", getpid());  // another program may be reading
    write_machine(machine, whole.string());
    std::filesystem::rename(whole, file);
  } catch (const std::exception& error) {
    log(LogLevel::info, text("the machine description was not stored: ", error.what()));
  }
}

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
  std::lock_guard lock(machine_mutex_);
  if (machine_ && learnt_.take_news()) {
    Machine newer = *machine_;
    learnt_.merge_into(newer.measured);
    machine_ = std::make_shared<const Machine>(std::move(newer));
  }
  if (machine_) return machine_;
  if (const char* file = std::getenv("TANDEM_MACHINE"); file && *file) {
    machine_given_ = true;
    return machine_ = std::make_shared<const Machine>(read_machine(file));
  }
  const std::filesystem::path file = machine_file(found);
  machine_ = stored_machine(file);
  if (machine_) return machine_;
  {
    const Raised calibrating(calibrating_);
    machine_ = std::make_shared<const Machine>(calibrate(found));
  }
  store_machine(*machine_, file);
  return machine_;
}

void Runtime::set_machine(std::optional<Machine> machine) {
  {
    std::lock_guard lock(machine_mutex_);
    machine_given_ = machine.has_value();
    machine_ = machine ? std::make_shared<const Machine>(std::move(*machine)) : nullptr;
  }
  dispatcher_->forget_calls();
}

std::shared_ptr<const GraphPlacement> Runtime::place(const Graph& graph, const std::vector<std::string>& homes, const PlaceHow& how) {
  if (placement_policy() == PlacementPolicy::first_gpu) return nullptr;
  if (registry_->known().size() == 1) return nullptr;
  const std::shared_ptr<const Machine> figures = machine();
  const auto here = registry_->known();
  try {
    return std::make_shared<const GraphPlacement>(tandem::place(
        graph, {.machine = *figures, .devices = {here.begin(), here.end()}, .homes = homes, .contention = how.contention, .only = how.only}));
  } catch (const Error& error) {
    // What does not fit as a whole runs near its data, and spills.
    if (error.code() != ErrorCode::out_of_memory) throw;
    return nullptr;
  }
}

std::shared_ptr<const GraphPlacement> Runtime::place_split(const Graph& traced, const GraphPlacement& whole, const std::vector<std::string>& homes) {
  if (config::is_op_determinism_enabled()) return nullptr;
  const std::shared_ptr<const Machine> figures = machine();
  const auto here = registry_->known();
  try {
    auto split = tandem::place_split(traced, whole, {.machine = *figures, .devices = {here.begin(), here.end()}, .homes = homes});
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

void Runtime::learn(std::span<const CostLog::Sample> samples) {
  if (calibrating_) return;
  std::lock_guard lock(machine_mutex_);
  if (!machine_ || machine_given_) return;
  static std::once_flag at_exit;
  std::call_once(at_exit, [] { std::atexit([] { default_runtime().store_learnt(); }); });
  learnt_.add(samples, machine_->measured);
}

void Runtime::store_learnt() {
  if (learnt_.empty()) return;
  const std::filesystem::path file = machine_file(registry_->known());
  const auto stored = stored_machine(file);  // with what other programs have learnt meanwhile
  if (!stored) return;
  Machine newer = *stored;
  learnt_.merge_into(newer.measured);
  store_machine(newer, file);
}

}  // namespace tandem
