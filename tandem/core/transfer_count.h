// Counting what crosses between the host and devices: where copies are made, and nowhere else do bytes move.
#pragma once
#include "tandem/core/storage.h"

namespace tandem {

void count_transfer(Transfer direction, std::size_t bytes);

}  // namespace tandem
