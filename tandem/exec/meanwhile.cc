#include "tandem/exec/meanwhile.h"

#include <utility>

namespace tandem {
namespace {

thread_local Meanwhile* innermost = nullptr;

}  // namespace

Meanwhile::Meanwhile(Task task) : task_(std::move(task)), outer_(std::exchange(innermost, this)) {}
Meanwhile::~Meanwhile() { innermost = outer_; }

bool Meanwhile::has_task() { return innermost && innermost->task_; }

void Meanwhile::call(const Plan& running) {
  if (has_task()) std::exchange(innermost->task_, nullptr)(running);
}

}  // namespace tandem
