// All opened devices of the process, for what concerns them together: its end, and when none of them has work.
#pragma once
#include <functional>

namespace tandem::opencl {

class Context;

/// While it lives, its context is one of them, and the process waits for the context's commands before it ends. PoCL's
/// threads compile and run kernels, and what its compiler keeps in static objects is gone once exit() has come by
/// there.
class OpenContext {
 public:
  explicit OpenContext(Context& context);
  ~OpenContext();
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;

 private:
  Context& context_;
};

/// To be called when a driver has done something that may have made static objects, such as its first compilation: what
/// was made last is torn down first, and contexts are waited for before all that was made up to now. Once the main
/// thread has called it, its end waits before anything at all is torn down: PoCL's threads also compile, at the first
/// launch, and make such objects.
void wait_before_teardown();

/// Calls `body` while no device of the process has work and none gets any; false, without having called it, when one is
/// busy.
bool while_all_rest(const std::function<void()>& body);

}  // namespace tandem::opencl
