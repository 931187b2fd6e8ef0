// Devices that work together on a graph: when one fails, another does its part.
#pragma once
#include <cstdint>

#include "tandem/base/error.h"
#include "tandem/core/device.h"

namespace tandem {

/// Any thread may ask.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Whether one of the others may do what a device has failed in.
  virtual bool may_leave() const = 0;
  /// Takes the device that an error names out of the group, and tells people so. False where it may not leave.
  virtual bool leave(const Error& error) = 0;
  /// Takes those out that were lost unnoticed, while nothing of theirs was needed; to be asked before work is planned.
  virtual void part_from_lost() = 0;
  /// How many have left: what was planned before one of them did holds no longer.
  virtual std::uint64_t departures() const = 0;
  /// Who computes what `device` was asked for; itself as long as it has not left.
  virtual DeviceName stand_in(const DeviceName& device) const = 0;
};

}  // namespace tandem
