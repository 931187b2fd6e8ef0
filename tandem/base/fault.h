// Faults on purpose: named places where a driver, the disk or the memory can be made to fail, so that tests see what
// happens then. TANDEM_FAULT=opencl.alloc:3 lets the third buffer fail.
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

enum class Fault {
  host_alloc,
  opencl_info,
  opencl_open,
  opencl_alloc,
  opencl_build,
  opencl_launch,
  opencl_run,
  opencl_copy,
  opencl_transfer,
  opencl_lost,
  opencl_self_test,
  cache_read,
  cache_write,
  plan_device,
};

struct FaultInfo {
  Fault fault;
  std::string_view name;       // "opencl.alloc"
  std::string_view simulates;  // what it looks like to the program
};
std::span<const FaultInfo> fault_list();

/// `plan` is a list of site:when, separated by semicolons; "" switches all off. `when` is
///   3              the third time the site is passed,
///   *              each time,
///   p=0.1,seed=7   with this probability; the same seed gives the same faults (it may be left out).
/// Counting starts anew. Throws invalid_argument.
void set_faults(std::string_view plan);
/// The plan in force.
std::string faults();
/// Takes the plan from TANDEM_FAULT, if it is set.
void set_faults_from_environment();

namespace detail {
extern std::atomic<bool> faults_on;
bool fault_is_due(Fault site);
}  // namespace detail

/// Should this site fail now? Costs one load when no faults are wanted.
inline bool fault(Fault site) {
  return detail::faults_on.load(std::memory_order_relaxed) && detail::fault_is_due(site);
}

/// Faults for the life of the object.
class FaultScope {
 public:
  explicit FaultScope(std::string_view plan) : before_(faults()) { set_faults(plan); }
  ~FaultScope() { set_faults(before_); }
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;

 private:
  std::string before_;
};

}  // namespace tandem
