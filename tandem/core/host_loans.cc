#include "tandem/core/host_loans.h"

#include <atomic>

namespace tandem {
namespace {
std::atomic<void (*)()> shortage{nullptr};
}

void on_host_shortage(void (*give_back)()) { shortage = give_back; }
void call_in_loans() {
  if (const auto give_back = shortage.load()) give_back();
}

}  // namespace tandem
