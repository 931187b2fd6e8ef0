#include "tandem/autodiff/thread_context.h"

#include "tandem/core/large_shapes.h"
#include "tandem/op/random_state.h"

namespace tandem {

ThreadContext ThreadContext::current() {
  const ThreadContext found = ThreadContext().exchange();
  found.exchange();
  return found;
}

ThreadContext ThreadContext::exchange() const {
  ThreadContext before;
  before.stack_ = DispatchStack::exchange(stack_);
  before.trace_ = Trace::exchange(trace_);
  before.tracing_ = std::exchange(RandomState::tracing(), tracing_);
  before.large_shapes_ = std::exchange(large_shapes_allowed(), large_shapes_);
  before.sizes_ = std::exchange(size_notes(), sizes_);
  before.journal_ = std::exchange(WriteJournal::current(), journal_);
  before.tapes_ = GradientTape::exchange(tapes_);
  return before;
}

}  // namespace tandem
