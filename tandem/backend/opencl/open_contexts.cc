#include "tandem/backend/opencl/open_contexts.h"

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

void wait_before_teardown() { std::atexit(finish_all); }

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
