#include "tandem/backend/opencl/open_contexts.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "tandem/backend/opencl/context.h"

namespace tandem::opencl {
namespace {

struct Open {
  std::mutex mutex;
  std::set<Context*> contexts;
  std::set<std::atomic<bool>*> told;  // of forks
};
std::atomic<bool> forked{false};

/// Not destroyed: it is needed while the process ends.
Open& open() {
  static auto& all = *new Open;
  return all;
}

void finish_all() {
  std::lock_guard lock(open().mutex);
  for (Context* context : open().contexts) context->finish();
}

void before_fork() { open().mutex.lock(); }
void after_fork() { open().mutex.unlock(); }
void after_fork_in_child() {
  forked = true;
  for (std::atomic<bool>* lost : open().told) *lost = true;
  open().mutex.unlock();
}

/// Goes with the thread it stands in: with the first thread of the process when main returns or calls exit(), which destroys
/// what belongs to its thread before it calls any function that was given to atexit().
struct EndOfMain {
  ~EndOfMain() { finish_all(); }
};

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

}  // namespace

OpenContext::OpenContext(Context& context) : context_(context) {
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

void begin_to_use_drivers() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, after_fork_in_child); });
}

bool left_behind() { return forked.load(std::memory_order_relaxed); }

ToldOfForks::ToldOfForks(std::atomic<bool>& lost) : lost_(lost) {
  std::lock_guard lock(open().mutex);
  open().told.insert(&lost);
}

ToldOfForks::~ToldOfForks() {
  std::lock_guard lock(open().mutex);
  open().told.erase(&lost_);
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
