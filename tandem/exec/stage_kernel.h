// A stage at work: the cores go through its ops, each with its rows or its own ops, and meet at the end; or one core
// does all.
#pragma once
#include <vector>

#include "tandem/exec/prepared_call.h"
#include "tandem/exec/stage_trial.h"
#include "tandem/kernel/joinable.h"
#include "tandem/kernel/row_kernel.h"

namespace tandem {

/// The rows of part `part` of `parts`.
inline RowRange rows_of_part(std::int64_t rows, std::int64_t part, std::int64_t parts) {
  return {rows * part / parts, rows * (part + 1) / parts};
}

/// What a core does of an op in a stage: its part of the rows, or all of it.
struct StageShare {
  std::int32_t part = -1;                       // who does the op; -1: all, each some rows
  std::shared_ptr<const CutKernel> cut = {};    // then
  std::int64_t rows = 0;
};

class StageKernel final : public JoinedKernel {
 public:
  struct Op {
    const PreparedCall* call;
    StageShare share;
  };
  /// `trial`: of all stages of the plan.
  StageKernel(std::vector<Op> ops, std::int64_t parts, std::shared_ptr<StageTrial> trial)
      : ops_(std::move(ops)),
        parts_(parts),
        trial_(std::move(trial)) {}
  void set_first() { first_ = true; }
  void set_last() { last_ = true; }

  /// What goes wrong is told by the first part in which it does.
  void run(std::span<const KernelArgs> calls) const override;

 private:
  void run_together(std::span<const KernelArgs> calls) const;
  void run_alone(std::span<const KernelArgs> calls) const;
  void run_part(std::span<const KernelArgs> calls, std::int64_t part) const;

  std::vector<Op> ops_;
  std::int64_t parts_;
  std::shared_ptr<StageTrial> trial_;
  bool first_ = false, last_ = false;  // of the plan
};

}  // namespace tandem
