// All that decides how the ops of a thread run: its dispatchers, its trace, its tapes, its random numbers, the sizes
// left open, who notes what it assigns. A thread that works in the place of another, which waits meanwhile, takes it
// over.
#pragma once
#include "tandem/autodiff/tape.h"
#include "tandem/core/write_journal.h"
#include "tandem/graph/trace.h"
#include "tandem/op/open_size.h"

namespace tandem {

class ThreadContext {
 public:
  /// Of the calling thread.
  static ThreadContext current();
  /// Puts this one in force on the calling thread; returns what was.
  ThreadContext exchange() const;

 private:
  Dispatcher* stack_ = nullptr;
  Trace* trace_ = nullptr;
  bool tracing_ = false, large_shapes_ = false;
  SizeNotes* sizes_ = nullptr;
  WriteJournal* journal_ = nullptr;
  GradientTape::Counts tapes_;
};

}  // namespace tandem
