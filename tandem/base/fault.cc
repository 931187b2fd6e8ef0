#include "tandem/base/fault.h"

#include <array>
#include <charconv>
#include <mutex>

#include "tandem/base/environment.h"
#include "tandem/base/error.h"
#include "tandem/base/hash.h"

namespace tandem {
namespace detail {
std::atomic<bool> faults_on{false};
}

namespace {

constexpr std::array kFaults{
    FaultInfo{Fault::host_alloc, "host.alloc", "the system has no memory left for the host's pool"},
    FaultInfo{Fault::opencl_info, "opencl.info", "the driver does not say what a device is"},
    FaultInfo{Fault::opencl_open, "opencl.open", "the driver does not open a device that it has offered"},
    FaultInfo{Fault::opencl_alloc, "opencl.alloc", "the driver cannot make a buffer: the device's memory is full"},
    FaultInfo{Fault::opencl_build, "opencl.build", "the driver's compiler rejects a program"},
    FaultInfo{Fault::opencl_launch, "opencl.launch", "the driver refuses to start a kernel"},
    FaultInfo{Fault::opencl_run, "opencl.run", "a kernel breaks off on the device"},
    FaultInfo{Fault::opencl_copy, "opencl.copy", "the driver refuses to start a copy, in either direction"},
    FaultInfo{Fault::opencl_transfer, "opencl.transfer", "a copy breaks off on its way, in either direction"},
    FaultInfo{Fault::opencl_lost, "opencl.lost", "the device disappears when it is next given work"},
    FaultInfo{Fault::opencl_self_test, "opencl.self_test", "a device gives a wrong result when it is tried out"},
    FaultInfo{Fault::cache_read, "cache.read", "a compiled program on disk is damaged"},
    FaultInfo{Fault::cache_write, "cache.write", "the disk does not take a compiled program"},
    FaultInfo{Fault::plan_device, "plan.device", "a device with memory of its own fails while it runs a step"},
};

/// When one site fails.
struct Rule {
  enum class Kind { never, once, always, sometimes } kind = Kind::never;
  std::uint64_t nth = 0;
  double probability = 0;
  std::uint64_t seed = 1;
  std::uint64_t passed = 0;  // times the site was passed

  bool due() {
    ++passed;
    switch (kind) {
      case Kind::never: return false;
      case Kind::once: return passed == nth;
      case Kind::always: return true;
      case Kind::sometimes: return static_cast<double>(mix(mix(seed, passed), seed) >> 11) * 0x1p-53 < probability;
    }
    return false;
  }
};
using Rules = std::array<Rule, kFaults.size()>;

struct Plan {
  std::mutex mutex;
  Rules rules;
  std::string text;
};
Plan& plan_in_force() {
  static auto& plan = *new Plan;
  return plan;
}

[[noreturn]] void bad_plan(std::string_view part) {
  fail(
      ErrorCode::invalid_argument, "TANDEM_FAULT, set_faults: '", part,
      "': needed is site:3 (the third time), site:* (each time) or site:p=0.1,seed=7; `tandem faults` lists the sites");
}

Rule parse_rule(std::string_view when, std::string_view part) {
  Rule rule;
  auto read = [&](std::string_view text, auto& value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) bad_plan(part);
  };
  if (when == "*") {
    rule.kind = Rule::Kind::always;
  } else if (when.starts_with("p=")) {
    rule.kind = Rule::Kind::sometimes;
    const std::size_t comma = when.find(',');
    read(when.substr(2, comma == when.npos ? when.npos : comma - 2), rule.probability);
    if (!(rule.probability >= 0 && rule.probability <= 1)) bad_plan(part);
    if (comma != when.npos) {
      if (!when.substr(comma + 1).starts_with("seed=")) bad_plan(part);
      read(when.substr(comma + 6), rule.seed);
    }
  } else {
    rule.kind = Rule::Kind::once;
    read(when, rule.nth);
    if (rule.nth == 0) bad_plan(part);
  }
  return rule;
}

std::size_t site_named(std::string_view name, std::string_view part) {
  for (const FaultInfo& info : kFaults)
    if (info.name == name) return static_cast<std::size_t>(info.fault);
  bad_plan(part);
}

}  // namespace

std::span<const FaultInfo> fault_list() { return kFaults; }

void set_faults(std::string_view plan) {
  Rules rules;
  bool any = false;
  for (std::string_view part : split_words(plan, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == part.npos) bad_plan(part);
    rules[site_named(part.substr(0, colon), part)] = parse_rule(part.substr(colon + 1), part);
    any = true;
  }
  Plan& in_force = plan_in_force();
  std::lock_guard lock(in_force.mutex);
  in_force.rules = rules;
  in_force.text = plan;
  detail::faults_on.store(any);
}

std::string faults() {
  Plan& plan = plan_in_force();
  std::lock_guard lock(plan.mutex);
  return plan.text;
}

void set_faults_from_environment() {
  if (const auto plan = environment("TANDEM_FAULT")) set_faults(*plan);
}

bool detail::fault_is_due(Fault site) {
  Plan& plan = plan_in_force();
  std::lock_guard lock(plan.mutex);
  return plan.rules[static_cast<std::size_t>(site)].due();
}

}  // namespace tandem
