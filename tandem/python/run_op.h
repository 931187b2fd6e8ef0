// Runs ops for Python: without the interpreter's lock when it is worth it.
#pragma once
#include <span>

#include "tandem/op/dispatcher.h"
#include "tandem/python/errors.h"

namespace tandem::python {

/// Dropping and taking the lock costs about as much as a small op; beyond this the other threads gain more.
inline constexpr std::size_t kLongOpBytes = 64 * 1024;

inline void run_op(OpCall& call) {
  std::size_t bytes = 0;
  for (const TensorRef& input : call.inputs) bytes += input->spec().bytes();
  Dispatcher& top = DispatchStack::top();
  if (bytes < kLongOpBytes && !call.inputs.empty()) return top.run(call);
  const WithoutGil without;
  top.run(call);
}

}  // namespace tandem::python
