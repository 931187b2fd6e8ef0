// The order in which one thread starts what the placer has put on several devices.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

struct StartItem {
  double start = 0;       // as the placer predicts
  const void* queue = nullptr;  // the device it is only handed to; null: it keeps the thread at work
  std::vector<std::int32_t> inputs = {};  // items that come before it
};

/// What is handed to a device comes as early as its inputs allow, because the thread cannot hand anything over while it
/// is at work itself; for one device in the order of their starts, because its queue works them off in order; devices
/// take turns, and one that has got nothing yet comes first. What keeps the thread at work comes by start; last what
/// reads something of a device and is read by none, whenever it is to start: the thread would wait for it while it has
/// other work. All items, as their numbers.
std::vector<std::int32_t> start_order(std::span<const StartItem> items);

}  // namespace tandem
