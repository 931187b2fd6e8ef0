// The order in which one thread starts what the placer has put on several devices.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

struct StartItem {
  double start = 0;     // as the placer predicts
  bool blocks = false;  // keeps the thread at work; the others are only handed to a device
  std::vector<std::int32_t> inputs = {};  // items that come before it
};

/// By start as far as inputs allow; at the same time what does not block comes first. All items, as their numbers.
std::vector<std::int32_t> start_order(std::span<const StartItem> items);

}  // namespace tandem
