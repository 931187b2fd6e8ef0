#include "tandem/core/fallible_space.h"

#include <atomic>

namespace tandem {
namespace {
std::atomic<std::uint64_t> losses{0};
std::atomic<void (*)()> mending{nullptr};
}  // namespace

void note_device_loss() noexcept { losses.fetch_add(1, std::memory_order_release); }
std::uint64_t device_losses() { return losses.load(std::memory_order_acquire); }

void on_loss_told(void (*mend)()) { mending = mend; }
void loss_was_told() {
  if (const auto mend = mending.load()) mend();
}

}  // namespace tandem
