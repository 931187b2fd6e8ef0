// A look at a device that a program leaves idle: is it free, or slowed by others?
#pragma once
#include <optional>

#include "tandem/core/device.h"

namespace tandem {

struct ProbeRun {
  std::uint64_t number = 0;  // of the device's timing; 0: it cannot be timed now
  int products = 0;
};
/// Gives the device work of some milliseconds, which it does while the program goes on elsewhere.
ProbeRun start_probe(Device& device);
/// Null until it has ended; then how many times longer it took than on a free device, 0 when that was lost.
std::optional<double> take_probe(Device& device, const ProbeRun& run);

}  // namespace tandem
