#include "tandem/exec/meanwhile.h"

#include <utility>

namespace tandem {
namespace {

thread_local Meanwhile* innermost = nullptr;

}  // namespace

Meanwhile::Meanwhile(Task task) : task_(std::move(task)), outer_(std::exchange(innermost, this)) {}
Meanwhile::~Meanwhile() { innermost = outer_; }

void Meanwhile::call(const Plan& running) {
  if (!innermost || !innermost->task_) return;
  std::exchange(innermost->task_, nullptr)(running);
}

}  // namespace tandem
