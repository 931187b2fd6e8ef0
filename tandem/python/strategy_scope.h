// Whether this thread is in the scope of a strategy: variables made there have one value for all replicas.
#pragma once

namespace tandem::python {

inline thread_local bool in_strategy_scope = false;

}  // namespace tandem::python
