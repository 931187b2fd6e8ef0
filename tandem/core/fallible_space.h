// Memory of a device that may fail after it was given work: what it should have written there is then lost.
#pragma once
#include <cstdint>

namespace tandem {

class FallibleSpace {
 public:
  virtual ~FallibleSpace() = default;
  /// Waits for what writes the bytes; false when that has failed.
  virtual bool is_whole(const void* address) = 0;
};

/// Something was lost on a device; how often that was.
void note_device_loss() noexcept;
std::uint64_t device_losses();

/// Called when the program has been told of a failure, so that it finds its variables well again; set once.
void on_loss_told(void (*mend)());
void loss_was_told();

}  // namespace tandem
