// Kernels of which one launch can do several: many small updates of variables cost a device more in launches than in
// work.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "tandem/kernel/kernel.h"

namespace tandem {

/// Several calls, none of which needs what another makes.
class JoinedKernel {
 public:
  virtual ~JoinedKernel() = default;
  /// The addresses of every call, in the order in which they were joined.
  virtual void run(std::span<const KernelArgs> calls) const = 0;
};

/// Something a PreparedKernel may be besides.
class JoinableKernel {
 public:
  virtual ~JoinableKernel() = default;
  /// Kernels with equal words can be joined; none: this one cannot.
  virtual std::string joins_with() const = 0;
  /// How many one launch takes.
  virtual std::size_t most_joined() const = 0;
  virtual std::unique_ptr<const JoinedKernel> join(std::span<const JoinableKernel* const> all) const = 0;
};

}  // namespace tandem
