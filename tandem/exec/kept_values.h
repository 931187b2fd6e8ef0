// What variables held a short while ago: devices tell of a failure after the run it belongs to has returned, and the
// values it was to replace may be overwritten by then (ADR 0210).
#pragma once
#include <span>

#include "tandem/exec/plan.h"

namespace tandem {

/// Once in a while a run that replaces variables on devices with memory of their own keeps what they held; it then
/// computes into other memory, and nothing is copied. When a value is found to be lost, all variables that were
/// replaced with it go back together to what was kept.
class KeptValues {
 public:
  /// A run of the plan is about to replace these, whose locks it holds; it has replaced them.
  static void before_run(const Plan& plan, std::span<const Plan::Write> writes);
  static void after_run(const Plan& plan, std::span<const Plan::Write> writes);
  /// The plan goes.
  static void forget(const Plan& plan);

  /// If devices have lost something since this was last asked: gives variables that are lost, and those replaced with
  /// them, what was kept; a line in the log says so. Does nothing while this thread runs a plan that replaces
  /// variables.
  static void restore();
};

}  // namespace tandem
