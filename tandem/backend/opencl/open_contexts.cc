#include "tandem/backend/opencl/open_contexts.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "tandem/backend/opencl/context.h"
#include "tandem/core/host_loans.h"

namespace tandem::opencl {
namespace {

struct Open {
  std::mutex mutex;
  std::set<Context*> contexts;
};

/// Not destroyed: it is needed while the process ends.
Open& open() {
  static auto& all = *new Open;
  return all;
}

void finish_all() {
  std::lock_guard lock(open().mutex);
  for (Context* context : open().contexts) context->finish();
}

/// Goes with the thread it stands in: with the first thread of the process when main returns or calls exit(), which
/// destroys what belongs to its thread before it calls any function that was given to atexit().
struct EndOfMain {
  ~EndOfMain() { finish_all(); }
};

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

/// What pools of devices in the host's memory keep and nobody uses.
void trim_all() {
  std::lock_guard lock(open().mutex);
  for (Context* context : open().contexts)
    if (context->traits().in_host_memory) context->pool().trim();
}

}  // namespace

OpenContext::OpenContext(Context& context) : context_(context) {
  on_host_shortage(trim_all);
  {
    std::lock_guard lock(open().mutex);
    open().contexts.insert(&context);
  }
  wait_before_teardown();
}

OpenContext::~OpenContext() {
  std::lock_guard lock(open().mutex);
  open().contexts.erase(&context_);
}

void wait_before_teardown() {
  // For an exit() in another thread, the best there is: static objects that are made later are gone by then.
  std::atexit(finish_all);
  if (!is_main_thread()) return;
  thread_local EndOfMain end;
  (void)end;
}

bool while_all_rest(const std::function<void()>& body) {
  std::lock_guard lock(open().mutex);
  std::vector<std::unique_lock<std::mutex>> held;
  for (Context* context : open().contexts) {
    held.push_back(context->try_lock_at_rest());
    if (!held.back()) return false;
  }
  body();
  return true;
}

}  // namespace tandem::opencl
