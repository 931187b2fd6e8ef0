#include "tandem/exec/stage_kernel.h"

#include <array>
#include <exception>

#include "tandem/base/cores.h"
#include "tandem/base/event_sink.h"
#include "tandem/exec/bundles.h"
#include "tandem/exec/device_error.h"

namespace tandem {

void StageKernel::run(std::span<const KernelArgs> calls) const {
  if (first_) trial_->begin();
  const std::uint64_t start = trial_->start();
  if (trial_->together()) run_together(calls);
  else run_alone(calls);
  trial_->add(start);
  if (last_) trial_->end();
}

/// As a plan without stages does.
void StageKernel::run_alone(std::span<const KernelArgs> calls) const {
  const bool events = events_enabled();
  std::uint64_t start = events ? ticks() : 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const PreparedCall& call = *ops_[i].call;
    call.kernel->run(calls[i]);
    if (!events) continue;
    const std::uint64_t end = ticks();
    event_ring().record(call.decision, start, end);
    start = end;
  }
}

void StageKernel::run_together(std::span<const KernelArgs> calls) const {
  std::array<std::exception_ptr, kMostTogether> errors;
  parallel(parts_, [&](std::int64_t part) {
    try {
      run_part(calls, part);
    } catch (...) {
      errors[static_cast<std::size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void StageKernel::run_part(std::span<const KernelArgs> calls, std::int64_t part) const {
  const bool events = events_enabled();
  std::uint64_t start = events ? ticks() : 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const auto& [call, share] = ops_[i];
    if (share.part >= 0 && share.part != part) continue;
    try {
      if (share.cut) share.cut->run(calls[i], rows_of_part(share.rows, part, parts_));
      else call->kernel->run(calls[i]);
    } catch (const Error& error) {
      rethrow_naming(error, call->decision->op);
    }
    if (!events) continue;
    const std::uint64_t end = ticks();
    // An op is one span: that of the first part, as where a kernel shares itself out.
    if (!share.cut || part == 0) event_ring().record(call->decision, start, end);
    start = end;
  }
}

}  // namespace tandem
