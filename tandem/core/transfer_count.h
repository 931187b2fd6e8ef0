// Counting what crosses between the host and devices: where copies are made, and nowhere else do bytes move.
#pragma once
#include "tandem/core/storage.h"

namespace tandem {

void count_transfer(Transfer direction, std::size_t bytes);

/// While it lives, copies that the calling thread starts are not counted: they are made to measure, not for the
/// program.
class UncountedTransfers {
 public:
  UncountedTransfers();
  ~UncountedTransfers();
  UncountedTransfers(const UncountedTransfers&) = delete;
  UncountedTransfers& operator=(const UncountedTransfers&) = delete;

  /// Whether the calling thread's are.
  static bool now();
};

}  // namespace tandem
